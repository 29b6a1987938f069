import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import type { RecordChange } from '../../shared/records/recordChange.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { skipUnknownIds } from '../../shared/stores/clickhouse/embedded/skipUnknownIds.ts';
import { readRecords } from '../../shared/stores/clickhouse/reads/recordsByKey.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';

let dataDir: string;
let clickhouse: ClickHouse;
let writer: RecordWriter;
/** Names of the statements that were asked. */
let asked: string[] = [];

async function open(): Promise<void> {
  clickhouse = openClickHouse({ dataDir });
  const query = clickhouse.query.bind(clickhouse);
  clickhouse.query = (read) => {
    asked.push(read.name);
    return query(read);
  };
  await migrateTables(clickhouse);
  writer = new RecordWriter({ store: clickhouseRecordStore(clickhouse) });
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'assay-ids-'));
  await open();
});
afterAll(async () => {
  await clickhouse.close();
  await rm(dataDir, { recursive: true, force: true });
});

let run: RunRef;
beforeEach(() => {
  run = { projectId: newId(), runId: newId() };
});

const createdAt = '2026-01-01T00:00:00.000000Z';
const trace = (id: string, fields: object = {}): RecordChange => ({
  action: 'log',
  record: { id, type: 'trace', trace_id: id, created_at: createdAt, ...fields },
});
const span = (id: string, traceId: string, fields: object = {}): RecordChange => ({
  action: 'log',
  record: { id, type: 'tool', trace_id: traceId, parent_id: traceId, created_at: createdAt, ...fields },
});
const session = (id: string): RecordChange => ({
  action: 'open',
  record: { id, type: 'session', session_id: id, trace_id: null, created_at: createdAt, name: 'conversation' },
});
const stored = (...ids: string[]) =>
  readRecords(
    clickhouse,
    run,
    ids.map((id) => ({ id, created_at: createdAt })),
  );

/** Returns which look-ups a write makes. */
async function lookUps(...changes: RecordChange[]): Promise<string[]> {
  asked = [];
  await writer.write(run, changes);
  return asked.filter((name) => ['record keys', 'records by key', 'span keys of traces'].includes(name));
}

/** The ids of the run are read at its first write, beside it. */
const untilKnown = () => expect.poll(() => lookUps(trace(newId(), { session_id: newId() }))).toEqual([]);

test('new records of a run are written without a look-up; those that are there are looked up, and changed', async () => {
  await untilKnown();
  const [traceId, spanId, conversation] = [newId(), newId(), newId()];
  expect(await lookUps(span(spanId, traceId, { input: 'q' }))).toEqual([]);
  expect(await lookUps(trace(traceId, { session_id: conversation }))).toContain('span keys of traces');
  expect(await lookUps(span(spanId, traceId, { output: 'a' }))).toEqual(['record keys', 'records by key']);
  expect(await stored(spanId)).toEqual([expect.objectContaining({ input: 'q', output: 'a', session_id: conversation })]);
});

test('what was stored before the start is known after it', async () => {
  const [traceId, spanId] = [newId(), newId()];
  await writer.write(run, [span(spanId, traceId, { input: 'q' })]);
  await clickhouse.close();
  await open();
  await untilKnown();
  const conversation = newId();
  expect(await lookUps(trace(traceId, { session_id: conversation }))).toContain('span keys of traces');
  expect(await lookUps(span(spanId, traceId, { output: 'a' }))).toEqual(['record keys', 'records by key']);
  expect(await stored(spanId)).toEqual([expect.objectContaining({ input: 'q', output: 'a', session_id: conversation })]);
});

test('all ids of a large run are known after a start, whatever their last digits are', async () => {
  const [traceId, many] = [newId(), 20_000];
  const ids = Array.from(
    { length: many },
    (_, index) => `${newId().slice(0, -4)}${(index % 256).toString(16).padStart(2, '0')}00`,
  );
  await writer.write(
    run,
    ids.map((id) => span(id, traceId)),
  );
  await clickhouse.close();
  await open();
  await untilKnown();
  const asked: string[] = [];
  const store = clickhouseRecordStore(clickhouse);
  for (let at = 0; at < many; at += 1_000) asked.push(...(await store.keys(run, ids.slice(at, at + 1_000))).map(({ id }) => id));
  expect(asked.toSorted()).toEqual(ids.toSorted());
});

test('a write right after the start changes what was stored before it', async () => {
  const spanId = newId();
  await writer.write(run, [span(spanId, newId(), { input: 'q' })]);
  await clickhouse.close();
  await open();
  await writer.write(run, [span(spanId, newId(), { output: 'a' })]);
  expect(await stored(spanId)).toEqual([expect.objectContaining({ input: 'q', output: 'a' })]);
});

test('a run whose ids cannot be read is asked for them', async () => {
  await writer.write(run, [trace(newId())]);
  await clickhouse.close();
  await open();
  const { query } = clickhouse;
  clickhouse.query = (read) => (read.name === 'ids of a run' ? Promise.reject(new Error('away')) : query(read));
  const id = newId();
  await writer.write(run, [trace(id, { input: 'q' })]);
  expect(await lookUps(trace(id, { output: 'a' }))).toEqual(['record keys', 'records by key']);
  expect(await lookUps(trace(newId()))).toEqual(['record keys']);
  expect(await stored(id)).toEqual([expect.objectContaining({ input: 'q', output: 'a' })]);
  clickhouse.query = query;
});

test('ids that are being sent while the ids of their run are read are known', async () => {
  await writer.write(run, [trace(newId())]);
  await clickhouse.close();
  await open();
  const { insertInOrder } = clickhouse;
  const [begun, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let inserts = 0;
  clickhouse.insertInOrder = async (steps) => {
    if (inserts++ === 0) {
      begun.resolve();
      await sent.promise;
    }
    return insertInOrder.call(clickhouse, steps);
  };
  // Two stores on one engine, as the writer's and that of another module; the first is still sending when the ids have been read.
  const id = newId();
  const writing = writer.write(run, [span(id, newId(), { input: 'q' })]);
  await begun.promise;
  const other = clickhouseRecordStore(clickhouse);
  await expect.poll(async () => other.keys(run, [newId()]).then(() => asked.includes('ids of a run'))).toBe(true);
  sent.resolve();
  await writing;
  await untilKnown();
  expect(await lookUps(span(id, newId(), { output: 'a' }))).toEqual(['record keys', 'records by key']);
  expect(await stored(id)).toEqual([expect.objectContaining({ input: 'q', output: 'a' })]);
});

test('a filter that had to make room while it was loaded is not used: it lacks what was written since', async () => {
  const other = { projectId: newId(), runId: newId() };
  await writer.write(run, [trace(newId())]);
  const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
  let loads = 0;
  let loaded = 0;
  const engine: Pick<ClickHouse, 'query'> = {
    async query(read) {
      const answer = await clickhouse.query(read);
      if (read.name !== 'ids of a run') return answer;
      if (loads++ === 0) await isHeld; // it has read what was stored by then
      loaded++;
      return answer;
    },
  };
  // Room for the filter of one run.
  const store = skipUnknownIds(clickhouseRecordStore(clickhouse), engine, 8_000);
  const small = new RecordWriter({ store });
  await small.write(run, [trace(newId())]);
  await expect.poll(() => loads).toBe(1);
  await small.write(other, [trace(newId())]);
  const id = newId();
  await small.write(run, [span(id, newId())]);
  release();
  await expect.poll(() => loaded).toBeGreaterThan(1);
  expect((await store.keys(run, [id])).map((key) => key.id)).toEqual([id]);
});

test('a session is stored once however often it is opened, and anew after it was deleted', async () => {
  await untilKnown();
  const conversation = newId();
  await writer.write(run, [session(conversation)]);
  await writer.write(run, [session(conversation)]);
  expect(await stored(conversation)).toHaveLength(1);
  await writer.exclusively(run, () =>
    clickhouse.command({
      name: 'delete',
      sql: `DELETE FROM records WHERE id = {id:UUID}`,
      params: { id: conversation },
    }),
  );
  expect(await stored(conversation)).toEqual([]);
  await writer.write(run, [session(conversation)]);
  expect(await stored(conversation)).toHaveLength(1);
});
