import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RecordChange } from '../../shared/records/recordChange.ts';
import type { NewKey } from '../../shared/records/recordStore.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { noLocks } from '../../shared/records/writeLocks.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { recordsInMemory } from '../support/recordsInMemory.ts';

const run = { projectId: newId(), runId: newId() };
const log = (id: string, input = 'q'): RecordChange[] => [{ action: 'log', record: { id, type: 'trace', trace_id: id, input } }];

test('a store that is away for a moment costs nothing: the same block is sent again', async () => {
  let failures = 2;
  const { store, records } = recordsInMemory({
    onSend: async (table) => {
      if (table === 'records' && failures-- > 0) throw new ServiceError('Unavailable', 'away');
    },
  });
  const writer = new RecordWriter({ store });
  const ids = [newId(), newId()];
  await Promise.all(ids.map((id) => writer.write(run, log(id))));
  expect([...records.keys()].sort()).toEqual(ids.sort());
});

test('a write of which a part was stored is sent again whole and stored once, whatever is written meanwhile', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-half-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const clickhouse = openClickHouse({ dataDir });
  onTestFinished(() => clickhouse.close());
  await migrateTables(clickhouse);
  let failures = 1;
  const insertInOrder = clickhouse.insertInOrder.bind(clickhouse);
  clickhouse.insertInOrder = async (steps) => {
    if (failures-- <= 0) return insertInOrder(steps);
    await insertInOrder([steps.flat().slice(0, 1)]);
    throw new ServiceError('Unavailable', 'away');
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
  const block = store.block({ keys: first.map(key), values: [], records: [] });
  await expect(block.send()).rejects.toMatchObject({ code: 'Unavailable' });
  await store.block({ keys: second.map(key), values: [], records: [] }).send();
  await block.send();
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
  const { store } = recordsInMemory({
    onSend: async () => {
      throw new ServiceError('Unavailable', 'away', { retryAfterSeconds: 2 });
    },
  });
  const writer = new RecordWriter({ store });
  const answers = await Promise.allSettled([writer.write(run, log(newId())), writer.write(run, log(newId()))]);
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'Unavailable', retryAfterSeconds: 2 } });
});

test.each([
  ['the locks of its runs cannot be had', 'withLocks'],
  ['it cannot be read which runs are there', 'guard'],
] as const)('while %s every request of a group is refused and nothing is stored; then it is', async (_, fails) => {
  const away = new ServiceError('Unavailable', 'the database is away', { retryAfterSeconds: 2 });
  let isAway = true;
  const { store, records } = recordsInMemory({});
  const writer = new RecordWriter({
    store,
    withLocks: async (_locks, _runs, work) => {
      if (isAway && fails === 'withLocks') throw away;
      return work(noLocks);
    },
    guard: async () => {
      if (isAway) throw away;
      return { missing: [], withHeldUpdates: [] };
    },
  });
  const ids = [newId(), newId()];
  const logAll = () => Promise.allSettled(ids.map((id) => writer.write(run, log(id))));
  for (const answer of await logAll()) expect(answer).toMatchObject({ status: 'rejected', reason: away });
  expect([...records.keys()]).toEqual([]);
  isAway = false;
  for (const answer of await logAll()) expect(answer).toMatchObject({ status: 'fulfilled' });
  expect([...records.keys()].sort()).toEqual(ids.sort());
});

test('a store that is short of memory or time is answered as 503, since whoever logs can do nothing about it', async () => {
  const { store } = recordsInMemory({
    onSend: async () => {
      throw new ServiceError('QueryTooExpensive', 'reduce the range of the query');
    },
  });
  await expect(new RecordWriter({ store }).write(run, log(newId()))).rejects.toMatchObject({
    ...{ code: 'Unavailable', retryAfterSeconds: 2 },
    message: expect.stringContaining('send this request again later'),
  });
});

test('a record that the store refuses fails its own request alone', async () => {
  const guilty = newId();
  const { store, records } = recordsInMemory({
    onSend: async (table, ids) => {
      if (table === 'records' && ids.includes(guilty)) throw new Error('cannot parse');
    },
  });
  const writer = new RecordWriter({ store });
  const innocent = [newId(), newId(), newId()];
  const answers = await Promise.allSettled([guilty, ...innocent].map((id) => writer.write(run, log(id))));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect([...records.keys()].sort()).toEqual(innocent.sort());
});

test('more than can wait is refused with 429 and Retry-After, and taken again later', async () => {
  const gate = Promise.withResolvers<void>();
  const { store, records } = recordsInMemory({ onKeys: () => gate.promise });
  const writer = new RecordWriter({ store, queueBytes: 20_000 });
  const big = 'x'.repeat(4000);
  const first = [writer.write(run, log(newId(), big)), writer.write(run, log(newId(), big))];
  await expect(writer.write(run, log(newId(), big))).rejects.toMatchObject({ code: 'TooManyRequests', retryAfterSeconds: 1 });
  gate.resolve();
  await Promise.all(first);
  await writer.write(run, log(newId(), big.repeat(10)));
  expect(records.size).toBe(3);
});
