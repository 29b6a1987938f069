import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConnectionError } from '../../client/errors.ts';
import { ServiceClient } from '../../client/http.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { serviceFolder } from '../support/serviceProcess.ts';

test('what the service has acknowledged outlives it, by every way of sending', {
  timeout: 600_000,
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
  const acknowledged = {
    traces: [] as string[],
    spans: [] as string[],
    updates: [] as string[],
    last: [] as string[],
    early: [] as string[],
  };
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
          const last = { ...update, output: 'last answer', is_complete: true };
          await client.send(`/projects/${projectId}/traces/${id}`, { method: 'PATCH', body: last });
          acknowledged.last.push(id);
          const early = newId();
          await client.send(`/projects/${projectId}/traces/${early}`, { method: 'PATCH', body: { ...update, trace_id: early } });
          acknowledged.early.push(early);
          // The record of every second one comes only after the kills.
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
  expect(acknowledged.updates.filter((id) => !['answer', 'last answer'].includes(String(traces.get(id)?.output)))).toEqual([]);
  expect(acknowledged.last.filter((id) => traces.get(id)?.output !== 'last answer')).toEqual([]);
  expect(acknowledged.early.filter((id) => traces.get(id)?.output !== 'answer')).toEqual([]);
});
