import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ConnectionError } from '../../client/errors.ts';
import { ServiceClient } from '../../client/http.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { serviceFolder } from '../support/serviceProcess.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-killed-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function start(): Promise<{ url: string; child: ChildProcess }> {
  const script = new URL('../support/ingestProcess.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout as NonNullable<ChildProcess['stdout']> }), 'line')) as [
    string,
  ];
  return { url: `http://127.0.0.1:${JSON.parse(line).port}`, child };
}

test('every acknowledged trace is there, whole and once, after the process was killed amid writes', {
  timeout: 60_000,
}, async () => {
  const [projectId, runId] = [newId(), newId()];
  const acknowledged: string[] = [];
  for (let kill = 0; kill < 3; kill++) {
    const { url, child } = await start();
    let stopped = false;
    const client = async () => {
      while (!stopped) {
        const id = newId();
        const body = {
          log_stream_id: runId,
          traces: [
            { id, input: 'q', metrics: { score: 1 }, spans: Array.from({ length: 5 }, () => ({ type: 'tool', input: 'x' })) },
          ],
        };
        try {
          const answer = await fetch(`${url}/projects/${projectId}/traces`, { method: 'POST', body: JSON.stringify(body) });
          if (answer.status === 200) acknowledged.push(id);
        } catch {
          return; // the kill cut this one off: it was not acknowledged
        }
      }
    };
    const clients = Array.from({ length: 12 }, client);
    const goal = acknowledged.length + 150;
    while (acknowledged.length < goal) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGKILL');
    await once(child, 'exit');
    stopped = true;
    await Promise.all(clients);
  }

  const { url, child } = await start();
  const search = async (what: string) => {
    const found: { id: string; trace_id: string; metrics: { score?: number } }[] = [];
    for (let token: number | null = 0; token !== null; ) {
      const answer = await fetch(`${url}/projects/${projectId}/${what}/search`, {
        method: 'POST',
        body: JSON.stringify({ log_stream_id: runId, starting_token: token, limit: 5000 }),
      });
      const page = (await answer.json()) as { records: typeof found; next_starting_token: number | null };
      found.push(...page.records);
      token = page.next_starting_token;
    }
    return found;
  };
  const traces = await search('traces');
  const spans = Map.groupBy(await search('spans'), ({ trace_id }) => trace_id);
  child.kill('SIGKILL');
  await once(child, 'exit');

  const stored = new Set(traces.map(({ id }) => id));
  expect(stored.size).toBe(traces.length);
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  // Also of what was cut off: a trace is there with all its spans and scores, or not at all.
  expect([...stored].filter((id) => spans.get(id)?.length !== 5)).toEqual([]);
  expect(traces.filter(({ metrics }) => metrics.score !== 1)).toEqual([]);
});

test('through the whole service too: what it has acknowledged outlives it, by every way of sending', {
  timeout: 120_000,
}, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-acknowledged-'));
  const where = await serviceFolder(dataDir);
  let service = await where.start();
  onTestFinished(async () => {
    await service.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });
  const { url, apiKey } = service;
  const client = new ServiceClient({ apiUrl: url, apiKey, retries: 0 });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'acknowledged' } });
  const { id: runId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'stream' } });
  const acknowledged = { traces: [] as string[], spans: [] as string[], updates: [] as string[], early: [] as string[] };
  const perKill = 100;
  for (let kill = 1; kill <= 2; kill++) {
    const lane = async () => {
      for (;;) {
        const [id, spanId] = [newId(), newId()];
        try {
          // Every second time `reliable: false`, which is as safe.
          const reliable = acknowledged.traces.length % 2 === 0;
          const traces = [{ id, input: 'question', is_complete: false }];
          await client.send(`/projects/${projectId}/traces`, { body: { log_stream_id: runId, reliable, traces } });
          acknowledged.traces.push(id);
          const spans = [{ type: 'tool', id: spanId, input: 'x' }];
          await client.send(`/projects/${projectId}/spans`, {
            body: { log_stream_id: runId, trace_id: id, parent_id: id, spans },
          });
          acknowledged.spans.push(spanId);
          const update = { log_stream_id: runId, trace_id: id, output: 'answer' };
          await client.send(`/projects/${projectId}/traces/${id}`, { method: 'PATCH', body: update });
          acknowledged.updates.push(id);
          const early = newId();
          await client.send(`/projects/${projectId}/traces/${early}`, { method: 'PATCH', body: { ...update, trace_id: early } });
          acknowledged.early.push(early);
          // Of every second one the record comes only after the kills.
          if (acknowledged.early.length % 2 === 0)
            await client.send(`/projects/${projectId}/traces`, {
              body: { log_stream_id: runId, traces: [{ id: early, input: 'q' }] },
            });
        } catch (err) {
          if (err instanceof ConnectionError) return; // the kill cut this one off: it was not acknowledged
          throw err;
        }
      }
    };
    const lanes = Promise.all(Array.from({ length: 8 }, lane));
    await Promise.race([lanes, expect.poll(() => acknowledged.updates.length).toBeGreaterThan(kill * perKill)]);
    await service.kill('SIGKILL');
    await lanes;
    service = await where.start();
  }
  for (const id of acknowledged.early)
    await client.send(`/projects/${projectId}/traces`, { body: { log_stream_id: runId, traces: [{ id, input: 'q' }] } });
  const all = async (what: string) => {
    const found = new Map<string, { output: unknown }>();
    for (let token: number | null = 0; token !== null; ) {
      const page: { records: { id: string; output: unknown }[]; next_starting_token: number | null } = await client.send(
        `/projects/${projectId}/${what}/search`,
        { body: { log_stream_id: runId, starting_token: token, limit: 1_000 } },
      );
      for (const record of page.records) found.set(record.id, record);
      token = page.next_starting_token;
    }
    return found;
  };
  const [traces, spans] = [await all('traces'), await all('spans')];
  expect(acknowledged.traces.filter((id) => !traces.has(id))).toEqual([]);
  expect(acknowledged.spans.filter((id) => !spans.has(id))).toEqual([]);
  expect(acknowledged.updates.filter((id) => traces.get(id)?.output !== 'answer')).toEqual([]);
  expect(acknowledged.early.filter((id) => traces.get(id)?.output !== 'answer')).toEqual([]);
});
