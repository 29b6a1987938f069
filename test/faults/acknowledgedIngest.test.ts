import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ConnectionError } from '../../client/errors.ts';
import { ServiceClient } from '../../client/http.ts';
import { ServiceError } from '../../shared/errors.ts';
import { newId } from '../../shared/ids.ts';
import type { Block, NewKey, RecordStore } from '../../shared/records/recordStore.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/recordStore.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables.ts';
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
}, 120_000);

test('through the whole service too: what it has acknowledged outlives it, by every way of sending', async () => {
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
  const acknowledged = { traces: [] as string[], spans: [] as string[], updates: [] as string[] };
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
        } catch (err) {
          if (err instanceof ConnectionError) return; // the kill cut this one off: it was not acknowledged
          throw err;
        }
      }
    };
    const lanes = Promise.all(Array.from({ length: 8 }, lane));
    await Promise.race([
      lanes,
      expect.poll(() => acknowledged.updates.length, { timeout: 60_000 }).toBeGreaterThan(kill * perKill),
    ]);
    await service.kill('SIGKILL');
    await lanes;
    service = await where.start();
  }
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
}, 180_000);

/** A store in memory whose blocks fail as the test says. */
function failingStore(fail: (table: string, rows: readonly { id?: string }[], attempt: number) => Error | undefined) {
  const stored: string[] = [];
  const block = (table: string, rows: readonly { id?: string }[]): Block => {
    let attempt = 0;
    return {
      async send() {
        const err = fail(table, rows, attempt++);
        if (err) throw err;
        if (table === 'records') stored.push(...rows.map(({ id }) => id as string));
      },
    };
  };
  const store: RecordStore = {
    keys: async () => [],
    spanKeys: async () => [],
    records: async () => [],
    keyBlock: (rows) =>
      block(
        'keys',
        rows.map(({ record }) => record),
      ),
    recordBlock: (rows) =>
      block(
        'records',
        rows.map(({ record }) => record),
      ),
    valueBlock: () => block('values', []),
  };
  return { store, stored };
}

const run = { projectId: newId(), runId: newId() };
const log = (id: string, input = 'q') => [
  { action: 'log' as const, record: { id, type: 'trace' as const, trace_id: id, input } },
];

test('a store that is away for a moment costs nothing: the same block is sent again', async () => {
  const { store, stored } = failingStore((table, _rows, attempt) =>
    table === 'records' && attempt < 2 ? new ServiceError('Unavailable', 'away') : undefined,
  );
  const writer = new RecordWriter({ store });
  const ids = [newId(), newId()];
  await Promise.all(ids.map((id) => writer.write(run, log(id))));
  expect(stored.sort()).toEqual(ids.sort());
});

test('of keys that were stored in one of their two tables only the rest is sent again, whatever is written meanwhile', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-half-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const clickhouse = openClickHouse({ dataDir });
  onTestFinished(() => clickhouse.close());
  await migrateTables(clickhouse);
  const other = Promise.withResolvers<void>();
  const sent: string[] = [];
  let failures = 1;
  const insert = clickhouse.insert.bind(clickhouse);
  clickhouse.insert = async (one) => {
    sent.push(one.table);
    if (one.table === 'trace_members' && failures-- > 0) {
      await other.promise;
      throw new ServiceError('Unavailable', 'away');
    }
    await insert(one);
  };
  const store = clickhouseRecordStore(clickhouse);
  const key = (id: string): NewKey => {
    const place = {
      id,
      type: 'trace',
      trace_id: id,
      parent_id: null,
      session_id: id,
      created_at: '2026-01-01T00:00:00.000000Z',
    } as const;
    return { record: { ...place, project_id: run.projectId, run_id: run.runId, version: 1 }, leaves: undefined };
  };
  const [first, second] = [1, 2].map(() => Array.from({ length: 500 }, newId)) as [string[], string[]];
  const block = store.keyBlock(first.map(key));
  const failed = block.send();
  await expect.poll(() => sent).toEqual(['record_keys', 'trace_members']);
  other.resolve();
  await expect(failed).rejects.toMatchObject({ code: 'Unavailable' });
  // Has the memory of what is stored already.
  await store.keyBlock(second.map(key)).send();
  await block.send();
  expect(sent.filter((table) => table === 'record_keys')).toHaveLength(2);
  for (const table of ['record_keys', 'trace_members']) {
    const rows = await clickhouse.query({
      name: 'ids',
      sql: `SELECT toString(id) AS id FROM ${table}`,
      row: z.object({ id: z.string() }),
    });
    expect(rows.map(({ id }) => id).sort()).toEqual([...first, ...second].sort());
  }
});

test('a store that stays away is told to every caller of the group as 503 with Retry-After', async () => {
  const { store } = failingStore(() => new ServiceError('Unavailable', 'away', { retryAfterSeconds: 2 }));
  const writer = new RecordWriter({ store });
  const answers = await Promise.allSettled([writer.write(run, log(newId())), writer.write(run, log(newId()))]);
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'Unavailable', retryAfterSeconds: 2 } });
});

test('a record that the store refuses fails its own request alone', async () => {
  const guilty = newId();
  const { store, stored } = failingStore((table, rows) =>
    table === 'records' && rows.some(({ id }) => id === guilty) ? new Error('cannot parse') : undefined,
  );
  const writer = new RecordWriter({ store });
  const innocent = [newId(), newId(), newId()];
  const answers = await Promise.allSettled([guilty, ...innocent].map((id) => writer.write(run, log(id))));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(stored.sort()).toEqual(innocent.sort());
});

test('a group is made ready while the one before it is sent, unless both are about the same record or trace', async () => {
  const { store } = failingStore(() => undefined);
  const [first, other, span] = [newId(), newId(), newId()];
  const made: string[][] = [];
  const sending = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const slow: RecordStore = {
    ...store,
    recordBlock(rows) {
      made.push(rows.map(({ record }) => record.id));
      return {
        async send() {
          sending.resolve();
          await gate.promise;
        },
      };
    },
  };
  const writer = new RecordWriter({ store: slow, groupBytes: 1_000 });
  const writes = [writer.write(run, log(first))];
  await sending.promise;
  writes.push(writer.write(run, log(other)));
  await expect.poll(() => made).toEqual([[first], [other]]);
  const below = { id: span, type: 'llm' as const, trace_id: other, parent_id: other, input: [] };
  writes.push(writer.write(run, [{ action: 'log', record: below }]));
  gate.resolve();
  await Promise.all(writes);
  expect(made).toEqual([[first], [other], [span]]);

  const again = Promise.withResolvers<void>();
  let sent = 0;
  const steps: string[] = [];
  const watched: RecordStore = {
    ...store,
    records: async () => [],
    keys: async (_run, ids) => {
      steps.push(`looks for ${ids.includes(first) ? 'the first' : 'another'}`);
      return [];
    },
    recordBlock: () => ({
      async send() {
        const number = ++sent;
        if (number === 1) await again.promise;
        steps.push(`sent ${number}`);
      },
    }),
  };
  const careful = new RecordWriter({ store: watched, groupBytes: 1_000 });
  const both = [careful.write(run, log(first))];
  await expect.poll(() => sent).toBe(1);
  both.push(careful.write(run, log(first, 'again')));
  setTimeout(again.resolve, 50); // that something is not begun cannot be awaited
  await Promise.all(both);
  expect(steps).toEqual(['looks for the first', 'sent 1', 'looks for the first', 'sent 2']);
});

test('a group that is stored request by request lets nobody settle a change on top of a record that is not stored yet', async () => {
  const [guilty, first, second] = [newId(), newId(), newId()];
  const refusing = failingStore((table, rows) =>
    table === 'records' && rows.some(({ id }) => id === guilty) ? new Error('cannot parse') : undefined,
  );
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const looks: string[] = [];
  const store: RecordStore = {
    ...refusing.store,
    keys: async (_run, ids) => {
      if (ids.length === 1 && ids[0] === second) looks.push(`after ${refusing.stored.filter((id) => id === second).length}`);
      return [];
    },
    recordBlock(rows) {
      const block = refusing.store.recordBlock(rows);
      const isFirstAlone = rows.length === 1 && rows[0]?.record.id === first;
      return {
        async send() {
          if (isFirstAlone) {
            reached.resolve();
            await gate.promise;
          }
          await block.send();
        },
      };
    },
  };
  const writer = new RecordWriter({ store, groupBytes: 2_000 });
  const group = [first, guilty, second].map((id) => writer.write(run, log(id)));
  await reached.promise;
  const later = writer.write(run, log(second, 'x'.repeat(1_000)));
  setTimeout(gate.resolve, 50); // that something is not begun cannot be awaited
  expect((await Promise.allSettled(group)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  await later;
  // Once when the group's own request was stored alone, and again for the later one, when that had been stored.
  expect(looks).toEqual(['after 0', 'after 1']);
});

test('more than can wait is refused with 429 and Retry-After, and taken again later', async () => {
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { store, stored } = failingStore(() => undefined);
  const slow: RecordStore = { ...store, keys: () => gate.then(() => []) };
  const writer = new RecordWriter({ store: slow, queueBytes: 10_000 });
  const big = 'x'.repeat(4000);
  const first = [writer.write(run, log(newId(), big)), writer.write(run, log(newId(), big))];
  await expect(writer.write(run, log(newId(), big))).rejects.toMatchObject({ code: 'TooManyRequests', retryAfterSeconds: 1 });
  open();
  await Promise.all(first);
  await writer.write(run, log(newId(), big.repeat(10)));
  expect(stored).toHaveLength(3);
});
