import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';

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

test('every acknowledged trace is there, whole and once, after the process was killed amid writes', async () => {
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
