import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ExperimentRun } from '../../shared/experiments/experiment.ts';
import { attemptNumber, type RowLog } from '../../shared/experiments/rowLog.ts';
import { withoutDeletedRows } from '../../shared/experiments/withoutDeletedRows.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { finishProjectDeletions as finishRunDeletions } from '../../shared/projects/deletions.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { deleteRecords, eraseTraces, finishDeletions } from '../../shared/records/delete.ts';
import { type Deleted, type ErasedKey, type ErasureNotes, goneWith, recordErasure } from '../../shared/records/eraseRecords.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import { type ExperimentTrace, logTraces } from '../../shared/records/ingest.ts';
import type { LoggedRecord } from '../../shared/records/recordChange.ts';
import type { RecordStore } from '../../shared/records/recordStore.ts';
import { findKeys } from '../../shared/records/searchRecords.ts';
import { noLocks } from '../../shared/records/writeLocks.ts';
import { inChunks } from '../../shared/stores/clickhouse/inChunks.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { tables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { recordedRows } from '../../shared/stores/clickhouse/writes/experimentRecords.ts';
import { postgresDeletedRows } from '../../shared/stores/postgres/recordDeletions.ts';
import { recordKinds } from '../../shared/wire/recordKinds.ts';
import { type Eraser, gate, openDeletionStores } from '../support/deletionStores.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from '../support/postgresServer.ts';

type Stores = Awaited<ReturnType<typeof openDeletionStores>>;
let stores: Stores;
beforeAll(async () => {
  stores = await openDeletionStores();
});
afterAll(() => stores.close());

const nothing = { records: 0, record_keys: 0, trace_members: 0, metric_values: 0 };
const traceWithSpan = (over: object = {}) => ({
  id: newId(),
  name: 'trace',
  input: 'q',
  metrics: { score: 1 },
  spans: [{ type: 'tool', id: newId(), name: 'span', input: 'x' }],
  ...over,
});

/** Holds up one insert of records: the first, or the one after `before` others. */
function heldInsert(before = 0) {
  const held = gate();
  let inserts = 0;
  const store = (real: RecordStore): RecordStore => ({
    ...real,
    block(rows) {
      if (inserts++ !== before) return real.block(rows);
      const keysAndValues = real.block({ ...rows, records: [] });
      const records = real.block({ keys: [], values: [], records: rows.records });
      return {
        async send() {
          await keysAndValues.send();
          await held.pass();
          await records.send();
        },
      };
    },
  });
  return { held, store };
}

/** Fails for good after the records went and before their values and keys do, as the death of the process would leave it. */
function cutOff() {
  const cut = (real: Eraser): Eraser => ({
    ...real,
    async erase(run, keys) {
      const times = "{times:Array(DateTime64(6, 'UTC'))}";
      await stores.clickhouse.command({
        name: 'half a deletion',
        sql: `DELETE FROM records WHERE project_id = {project:UUID} AND run_id = {run:UUID} AND created_at IN ${times} AND id IN {ids:Array(UUID)}`,
        params: {
          project: run.projectId,
          run: run.runId,
          ids: keys.map(({ id }) => id),
          times: keys.map(({ created_at }) => created_at.replace('T', ' ').replace('Z', '')),
        },
      });
      throw new Error('the process is killed here');
    },
  });
  return cut;
}

/** Without them the store carries out no deletion. */
async function merges(verb: 'STOP' | 'START'): Promise<void> {
  for (const { name } of tables) await stores.clickhouse.command({ name: 'merges', sql: `SYSTEM ${verb} MERGES ${name}` });
}

/** Carries out every deletion that was left behind. */
const finishAll = ({ deps }: ReturnType<Stores['processOf']>): Promise<void> =>
  finishDeletions({ ...deps, findColumn: async () => columnFinder([]) }, 0, new AbortController().signal);

describe('a deleted run', () => {
  test.for(['run', 'project'] as const)('takes a write along that is under way when the %s is deleted', async (what) => {
    const { held, store } = heldInsert();
    const process = stores.processOf({ store });
    const run = await stores.run();
    const written = process.log(run, [traceWithSpan()]);
    await held.arrived;
    const deleted = what === 'run' ? process.deleteRun(run) : process.deleteProject(run.projectId);
    await expect.poll(() => process.lookup.find(run.projectId, { log_stream_id: run.runId }).catch(() => 'gone')).toBe('gone');
    held.open();
    await written;
    expect(await deleted).toBe(true);
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('refuses who was let in before and writes after, the repeat of an old request, and an update', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    const trace = traceWithSpan();
    await process.log(run, [trace]);
    await process.deleteRun(run);
    const update = { action: 'update', id: trace.id, of: 'trace', update: { output: 'late' } } as const;
    for (const write of [process.log(run, [trace]), process.log(run, [traceWithSpan()]), process.writer.write(run, [update])])
      await expect(write).rejects.toMatchObject({ code: 'RunNotFound', status: 404 });
    // Another process of the service, and another run of the same request group.
    const [other, stands] = [stores.processOf(), await stores.run()];
    const [refused, stored] = await Promise.allSettled([other.log(run, [trace]), other.log(stands, [traceWithSpan()])]);
    expect([refused.status, stored.status]).toEqual(['rejected', 'fulfilled']);
    expect(await stores.rows(run)).toEqual(nothing);
    expect(await stores.rows(stands)).toMatchObject({ records: 2 });
  });

  test('is refused for ever, also under a deleted project and after the deletion is long done', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    await process.log(run, [traceWithSpan()]);
    await process.deleteProject(run.projectId);
    await finishRunDeletions(process.deletion, 0);
    await expect(stores.processOf().log(run, [traceWithSpan()])).rejects.toMatchObject({ code: 'RunNotFound' });
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('of metrics testing is not opened anew by the next ingest with its id', async () => {
    const process = stores.processOf();
    const { projectId } = await stores.run();
    const ids = { metrics_testing_id: newId() };
    const run = await process.ingestLookup(projectId, ids, stores.userId);
    await process.deleteRun(run);
    await expect(process.ingestLookup(projectId, ids, stores.userId)).rejects.toMatchObject({ code: 'RunNotFound' });
  });

  test('takes the scores along that are computed while it goes', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    const { id } = traceWithSpan();
    await process.log(run, [{ id, input: 'q', created_at: '2026-05-05T00:00:00Z' }]);
    await process.deleteRun(run);
    await process.values.write(run, [scoreOf(id)]);
    expect(await stores.rows(run)).toEqual(nothing);
  });
});

const scoreOf = (recordId: string) => ({
  metric: 'late',
  recordId,
  recordCreatedAt: '2026-05-05T00:00:00.000000Z',
  recordType: 'trace' as const,
  traceId: recordId,
  status: 'success' as const,
  value: 1,
});

describe('deleted records', () => {
  test('go with every version, key and score, and with what was moved below them', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    const trace = traceWithSpan();
    for (const output of ['one', 'two', 'three'])
      await process.log(run, [{ ...trace, output, metrics: { score: output.length } }]);
    const other = traceWithSpan();
    await process.log(run, [other]);
    const moved = { ...other.spans[0], trace_id: trace.id, parent_id: trace.id } as unknown as LoggedRecord;
    await process.writer.write(run, [{ action: 'log', record: moved }]);
    expect((await stores.rows(run)).records).toBeGreaterThan(4); // stale versions are there
    expect(await process.deleteTraces(run, [trace.id])).toBe(3);
    expect(process.told.flatMap(({ ids }) => ids ?? []).sort()).toEqual([trace.id, trace.spans[0]?.id, moved.id].sort());
    expect(await process.deleteTraces(run, [other.id])).toBe(1);
    for (const { name } of tables) await stores.clickhouse.command({ name: 'merge', sql: `OPTIMIZE TABLE ${name} FINAL` });
    expect(await stores.rows(run)).toEqual(nothing);
    expect(await process.notes.unfinished()).toEqual([]);
  });

  test('take a span along whose write was under way, and one that came while they were looked for', async () => {
    const { held, store } = heldInsert(1);
    const looked = gate();
    const process = stores.processOf({
      store,
      eraser: (real) => ({
        ...real,
        async members(...asked) {
          await looked.pass();
          return real.members(...asked);
        },
      }),
    });
    const run = await stores.run();
    const trace = traceWithSpan();
    await process.log(run, [trace]);
    const writeSpan = () => {
      const record = { id: newId(), type: 'tool', trace_id: trace.id, parent_id: trace.id, input: 'late' } as const;
      return process.writer.write(run, [{ action: 'log', record: record as unknown as LoggedRecord }]);
    };
    const written = writeSpan();
    await held.arrived;
    const deleted = process.deleteTraces(run, [trace.id]);
    held.open();
    await written;
    await looked.arrived;
    const late = writeSpan();
    looked.open();
    expect(await deleted).toBe(3);
    await late; // it had to wait: a span that is ingested after its trace went
    expect(await stores.rows(run)).toMatchObject({ records: 1, record_keys: 1, metric_values: 0 });
  });

  test('leave those that no longer match when they are about to go, and those logged anew', async () => {
    const run = await stores.run();
    const process = stores.processOf();
    const [changed, again] = [traceWithSpan({ name: 'old' }), traceWithSpan({ name: 'old' })];
    await process.log(run, [changed, again]);
    const page = gate();
    let first = true;
    const deps = {
      ...process.deps,
      requests: {
        ...process.deps.requests,
        // Noted after the first look and before the records are taken.
        async add(request: Parameters<typeof process.deps.requests.add>[0]) {
          const id = await process.deps.requests.add(request);
          if (first) await page.pass();
          first = false;
          return id;
        },
      },
    };
    const named = { type: 'text', column_id: 'name', operator: 'eq', value: 'old', case_sensitive: true } as const;
    const deleted = deleteRecords(deps, { run, kinds: ['trace'], filter: { filter: named }, findColumn: columnFinder([]) });
    await page.arrived;
    await process.log(run, [{ ...changed, name: 'new' }]);
    await process.deleteTraces(run, [again.id]);
    await process.log(run, [{ ...again, name: 'anew' }]);
    page.open();
    expect(await deleted).toBe(0);
    const { keys } = await findKeys(process.deps.reads, {
      run,
      kinds: ['trace'],
      filter: { and: [] },
      findColumn: columnFinder([]),
      offset: 0,
      limit: 10,
    });
    expect(keys.map(({ id }) => id).sort()).toEqual([changed.id, again.id].sort());
  });

  test('hold up only what is written to them while the store merges', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    const [old, other] = [traceWithSpan({ output: 'of old', created_at: '2026-01-01T00:00:00Z' }), traceWithSpan()];
    await process.log(run, [old, other]);
    await merges('STOP');
    onTestFinished(() => merges('START'));
    const deleted = process.deleteTraces(run, [old.id]);
    await expect.poll(() => process.erasure.underWay.endOfAll(run) !== undefined).toBe(true);

    const scored = process.values.write(run, [scoreOf(old.id)]);
    const anew = process.log(run, [{ id: old.id, input: 'anew', created_at: '2026-01-01T00:00:00Z' }]);
    const updated = process.writer.write(run, [{ action: 'update', id: old.id, of: 'trace', update: { output: 'later' } }]);
    const late = { id: newId(), type: 'tool', trace_id: old.id, parent_id: old.id, input: 'late' } as unknown as LoggedRecord;
    const below = process.writer.write(run, [{ action: 'log', record: late }]);
    await process.log(run, [traceWithSpan()]);
    await process.log(run, [{ ...other, output: 'changed' }]);
    expect(await stores.rows(run)).toMatchObject({ record_keys: 6 }); // those of the deleted, too

    await merges('START');
    expect(await deleted).toBe(2);
    await Promise.all([scored, anew, updated, below]);
    const found = await clickHouseRecordReads(stores.clickhouse).records(run, [
      { id: old.id, type: 'trace', createdAt: '2026-01-01T00:00:00.000000Z', traceId: old.id },
    ]);
    expect(found).toMatchObject([{ id: old.id, input: 'anew', output: 'later' }]);
    expect(found[0]?.metrics).not.toHaveProperty('score');
    expect(await stores.rows(run)).toMatchObject({ record_keys: 6 });
  });

  test('are not brought back by their trace, which finds a session meanwhile', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    const trace = traceWithSpan();
    await process.log(run, [trace]);
    const gone = { run, kinds: ['tool'] as const, filter: { and: [] }, findColumn: columnFinder([]) };
    await merges('STOP');
    onTestFinished(() => merges('START'));
    const deleted = deleteRecords(process.deps, gone);
    await expect.poll(() => process.erasure.underWay.endOfAll(run) !== undefined).toBe(true);
    const inSession = { id: trace.id, type: 'trace', trace_id: trace.id, session_id: newId() } as unknown as LoggedRecord;
    await process.writer.write(run, [{ action: 'log', record: inSession }]);
    await merges('START');
    expect(await deleted).toBe(1);
    expect((await findKeys(process.deps.reads, { ...gone, offset: 0, limit: 10 })).keys).toEqual([]);
  });

  test('leave what is logged while all that was there goes, whatever its kind', async () => {
    const run = await stores.run();
    const second = gate();
    let erasures = 0;
    const process = stores.processOf({
      eraser: (real) => ({
        ...real,
        async erase(of, keys) {
          if (++erasures === 2) await second.pass();
          return real.erase(of, keys);
        },
      }),
    });
    const stray = { id: newId(), type: 'tool', name: 'stray', trace_id: newId(), parent_id: newId() } as unknown as LoggedRecord;
    await process.log(
      run,
      Array.from({ length: 501 }, () => traceWithSpan()),
    );
    await process.writer.write(run, [{ action: 'log', record: stray }]);
    const all = { run, kinds: recordKinds, filter: { and: [] }, findColumn: columnFinder([]) };
    const deleted = deleteRecords(process.deps, all);
    await second.arrived;
    const logged = process.log(run, [traceWithSpan()]);
    second.open();
    await logged;
    expect(await deleted).toBe(1_003);
    expect(await stores.rows(run)).toMatchObject({ records: 2, record_keys: 2, metric_values: 1 });
  });

  test('that are found by two deletions at once count in one of them', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    const traces = [traceWithSpan(), traceWithSpan()];
    await process.log(run, traces);
    const ids = traces.map(({ id }) => id);
    const counts = await Promise.all([process.deleteTraces(run, ids), process.deleteTraces(run, ids)]);
    expect(counts.sort()).toEqual([0, 4]);
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('do not keep a score that was computed while they went, whichever step of the deletion it meets', async () => {
    const run = await stores.run();
    const id = newId();
    const between = gate();
    const process = stores.processOf({
      eraser: (real) => ({
        ...real,
        async erase(of, keys) {
          const erased = await real.erase(of, keys);
          await between.pass();
          return erased;
        },
      }),
    });
    const scoring = stores.processOf();
    await process.log(run, [{ id, input: 'q', created_at: '2026-05-05T00:00:00Z' }]);
    await scoring.values.write(run, [scoreOf(id)]);
    const deleted = process.deleteTraces(run, [id]);
    await between.arrived;
    await scoring.values.write(run, [scoreOf(id)]);
    between.open();
    expect(await deleted).toBe(1);
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('half deleted by a process that died, are finished before anything is written to their run; what is then logged is new', async () => {
    const dying = stores.processOf({ eraser: cutOff() });
    const run = await stores.run();
    const trace = traceWithSpan({ output: 'of old', created_at: '2026-01-01T00:00:00Z' });
    await dying.log(run, [trace]);
    await expect(dying.deleteTraces(run, [trace.id])).rejects.toThrow('killed');
    expect(await stores.rows(run)).toMatchObject({ records: 0, metric_values: 1 });

    const process = stores.processOf();
    await process.log(run, [{ id: trace.id, input: 'anew', created_at: '2026-02-02T00:00:00Z' }]);
    const [record] = await clickHouseRecordReads(stores.clickhouse).records(run, [
      { id: trace.id, type: 'trace', createdAt: '2026-02-02T00:00:00.000000Z', traceId: trace.id },
    ]);
    expect(record).toMatchObject({ input: 'anew' });
    expect(record?.output ?? null).toBeNull();
    expect(await stores.rows(run)).toEqual({ records: 1, record_keys: 1, trace_members: 1, metric_values: 0 });
    expect(await process.notes.unfinished()).toEqual([]);
    expect(process.told).toMatchObject([{ runId: run.runId }]);

    // The deletion itself is taken up again as well, and takes nothing that was written since.
    await finishAll(process);
    expect(await stores.rows(run)).toMatchObject({ records: 1 });
  });

  test('that a dead process had not come to, go when the deletion is taken up again', async () => {
    const dying = stores.processOf({ eraser: cutOff() });
    const run = await stores.run();
    const toDelete = Array.from({ length: 600 }, () => traceWithSpan()); // more than are taken at a time
    await dying.log(run, toDelete);
    await expect(
      dying.deleteTraces(
        run,
        toDelete.map(({ id }) => id),
      ),
    ).rejects.toThrow('killed');
    const process = stores.processOf();
    const kept = traceWithSpan();
    await process.log(run, [kept]);
    await finishAll(process);
    expect(await stores.rows(run)).toEqual({ records: 2, record_keys: 2, trace_members: 2, metric_values: 1 });
    await finishAll(process); // nothing is left to do
  });

  test('of a whole run go with the sessions, and with spans whose trace never came, when a process died after the first', async () => {
    const dying = stores.processOf({ eraser: cutOff() });
    const run = await stores.run();
    const session = { id: newId(), type: 'session', name: 'session', trace_id: null, parent_id: null } as unknown as LoggedRecord;
    const stray = { id: newId(), type: 'tool', name: 'stray', trace_id: newId(), parent_id: newId() } as unknown as LoggedRecord;
    await dying.writer.write(
      run,
      [session, stray].map((record) => ({ action: 'log', record })),
    );
    await dying.log(run, [traceWithSpan(), traceWithSpan()]);
    const all = { run, kinds: recordKinds, filter: { and: [] }, findColumn: columnFinder([]) };
    await expect(deleteRecords(dying.deps, all)).rejects.toThrow('killed');
    const process = stores.processOf();
    await finishAll(process);
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('go in pieces where what is below them is much, each with all that is below it', async () => {
    const erased: number[] = [];
    const process = stores.processOf({
      eraser: (real) => ({
        ...real,
        countMembers: async (run, of, ids) => (await real.countMembers(run, of, ids)) * 5_000,
        async erase(run, keys) {
          erased.push(keys.length);
          return real.erase(run, keys);
        },
      }),
    });
    const run = await stores.run();
    const toDelete = Array.from({ length: 5 }, () => traceWithSpan());
    await process.log(run, toDelete);
    const ids = toDelete.map(({ id }) => id);
    expect(await process.deleteTraces(run, ids)).toBe(10);
    expect(erased).toEqual([4, 2, 4]);
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('of any number are read and taken', async () => {
    const many = 200_000;
    expect(await inChunks([0], async () => Array<number>(many).fill(0))).toHaveLength(many);
    const notes: number[] = [];
    const erasure = recordErasure({
      eraser: { erase: async () => goneWith([]) },
      notes: {
        add: async (run: RunRef, keys: readonly ErasedKey[]) => ({ id: String(notes.push(keys.length)), run, keys }),
        remove: async () => undefined,
      } as unknown as ErasureNotes,
      onRecordsDeleted: [],
    });
    const key = { id: newId(), created_at: '2026-01-01T00:00:00.000000Z' };
    await erasure.erase(await stores.run(), Array(many).fill(key), noLocks.confirm);
    expect(notes.length).toBeGreaterThan(1);
    expect(notes.reduce((sum, keys) => sum + keys)).toBe(many);
  });

  test('stay where their process stood still and another has taken the deletion over, which takes them', async () => {
    const held = gate();
    const slow = stores.processOf({
      eraser: (real) => ({
        ...real,
        async members(...asked) {
          const found = await real.members(...asked);
          await held.pass();
          return found;
        },
      }),
    });
    const run = await stores.run();
    const trace = traceWithSpan();
    await slow.log(run, [trace]);
    const deleted = slow.deleteTraces(run, [trace.id]);
    deleted.catch(() => undefined);
    await held.arrived;
    const { requests } = stores.processOf().deps;
    const saysThatItLives = async () => {
      const sql = "SELECT 1 FROM record_deletions WHERE run_id = $1 AND attended_at > requested_at + interval '5 seconds'";
      return (await stores.database.query(sql, [run.runId])).length;
    };
    await expect.poll(saysThatItLives).toBe(1);
    expect(await requests.takeUnattended(5_000)).toEqual([]);
    expect((await requests.takeUnattended(0)).map((request) => request.run)).toEqual([run]);
    await new Promise((resolve) => setTimeout(resolve, 6_000)); // it goes on for 5 s after it has last said so
    held.open();
    await expect(deleted).rejects.toMatchObject({ code: 'Unavailable' });
    expect(await stores.rows(run)).toMatchObject({ records: 2 });
    await finishAll(stores.processOf());
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('whose deletion fails for now are deleted later, and do not hold up others', async () => {
    const dying = stores.processOf({ eraser: cutOff() });
    const [slow, other] = [await stores.run(), await stores.run()];
    for (const run of [slow, other]) {
      const trace = traceWithSpan();
      await dying.log(run, [trace]);
      await expect(dying.deleteTraces(run, [trace.id])).rejects.toThrow('killed');
      await dying.log(run, [traceWithSpan()]).catch(() => undefined);
    }
    const process = stores.processOf();
    const tooSlow = new ServiceError('QueryTooExpensive', 'it took too long');
    const deps = {
      ...process.deps,
      findColumn: async (run: RunRef) => {
        if (run.runId === slow.runId) throw tooSlow;
        return columnFinder([]);
      },
    };
    await expect(finishDeletions(deps, 0, new AbortController().signal)).rejects.toBe(tooSlow);
    const left = await process.deps.requests.takeUnattended(0);
    expect(left.map(({ run }) => run.runId)).toEqual([slow.runId]);
    await finishAll(process);
    expect(await process.deps.requests.takeUnattended(0)).toEqual([]);
  });

  test('what belongs to them elsewhere is told again when it could not be taken', async () => {
    const run = await stores.run();
    const told: Deleted[] = [];
    const failing = stores.processOf({
      onRecordsDeleted: [
        async () => {
          throw new Error('the annotations are away');
        },
      ],
    });
    const trace = traceWithSpan();
    await failing.log(run, [trace]);
    await expect(failing.deleteTraces(run, [trace.id])).rejects.toThrow('away');
    const process = stores.processOf({ onRecordsDeleted: [async (deleted) => void told.push(deleted)] });
    await process.writer.exclusively(run, async () => {});
    expect(told).toMatchObject([{ projectId: run.projectId, runId: run.runId, ids: expect.arrayContaining([trace.id]) }]);
    await process.writer.exclusively(run, async () => {});
    expect(told).toHaveLength(1);
  });

  test('a filter that cannot be applied is refused and leaves no deletion behind', async () => {
    const process = stores.processOf();
    const run = await stores.run();
    await process.log(run, [traceWithSpan()]);
    const wrong = { filter: { type: 'number', column_id: 'name', operator: 'eq', value: 1 } } as const;
    const deleted = deleteRecords(process.deps, { run, kinds: ['trace'], filter: wrong, findColumn: columnFinder([]) });
    await expect(deleted).rejects.toMatchObject({ code: 'ColumnNotFilterable' });
    const left = await process.deps.requests.takeUnattended(0);
    expect(left.filter((request) => request.run.runId === run.runId)).toEqual([]);
  });
});

test('a deletion amid which the process is killed is finished by the next one, whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-deletion-killed-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const script = new URL('../support/deletionProcess.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const run = JSON.parse(line) as RunRef;
  child.kill('SIGKILL');
  await once(child, 'exit');

  // chDB takes one folder per process, so the next process is one of its own as well.
  const next = spawn(process.execPath, [new URL('../support/deletionFinisher.ts', import.meta.url).pathname, folder, line], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [answer] = (await once(createInterface({ input: next.stdout }), 'line')) as [string];
  await once(next, 'exit');
  expect(run.runId).toMatch(/-/);
  expect(JSON.parse(answer)).toEqual({
    before: { records: 900, record_keys: 900, trace_members: 900, metric_values: 200 },
    after: { records: 200, record_keys: 200, trace_members: 200, metric_values: 100 },
    unfinished: [],
  });
});

describe('rows of a running experiment', () => {
  /** An experiment whose workflow of this number goes on, with its log over the real stores. */
  async function running() {
    const process = stores.processOf();
    const { projectId } = await stores.run();
    const experimentId = newId();
    const { database, clickhouse, userId } = stores;
    await database.query("INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'experiment', 'e', $3)", [
      experimentId,
      projectId,
      userId,
    ]);
    const groupId = newId();
    await database.query('INSERT INTO experiment_groups (id, project_id, name, created_by) VALUES ($1, $2, $3, $4)', [
      groupId,
      projectId,
      'g',
      userId,
    ]);
    await database.query(
      "INSERT INTO experiments (run_id, project_id, group_id, state, workflow_number) VALUES ($1, $2, $3, 'running', 1)",
      [experimentId, projectId, groupId],
    );
    const run = { projectId, runId: experimentId };
    const log = withoutDeletedRows(
      {
        recorded: (of, ids) => recordedRows(clickhouse, of, ids),
        write: (_of, traces, attempt) => logTraces(process.writer, run, traces, { attempt }),
      },
      { deleted: postgresDeletedRows(database), erase: (_of, ids) => eraseTraces(process.deps, run, ids) },
    );
    const at = (workflowNumber: number) => ({ projectId, experimentId, workflowNumber }) as ExperimentRun;
    const row = { type: 'trace', id: newId(), input: 'q', spans: [{ type: 'tool', id: newId(), input: 'x' }] } as const;
    return { process, run, log, at, rows: [row] as unknown as Parameters<RowLog['write']>[1], id: row.id };
  }

  test('that were deleted are not run again by a retry, nor brought back by a worker that was taken for dead', async () => {
    const { process, run, log, at, rows, id } = await running();
    await log.write(at(1), rows, attemptNumber(1, 0, 1));
    expect(await process.deleteTraces(run, [id])).toBe(2);
    expect([...(await log.recorded(at(1), [id])).keys()]).toEqual([id]); // as if it were there: the chunk leaves it out
    await log.write(at(1), rows, attemptNumber(1, 0, 2));
    expect(await stores.rows(run)).toEqual(nothing);
  });

  test('are run and recorded by a new run of the experiment', async () => {
    const { process, run, log, at, rows, id } = await running();
    await log.write(at(1), rows, attemptNumber(1, 0, 1));
    await process.deleteTraces(run, [id]);
    expect((await log.recorded(at(2), [id])).size).toBe(0);
    await log.write(at(2), rows, attemptNumber(2, 0, 1));
    expect(await stores.rows(run)).toMatchObject({ records: 2 });
  });
});

describeWithServer('several processes over Postgres', postgresProgram, (program) => {
  let server: PostgresServer;
  let over: Stores;
  beforeAll(async () => {
    server = await startPostgresServer(program);
    over = await openDeletionStores(undefined, { clickhouse: stores.clickhouse, postgresUrl: server.url });
  });
  afterAll(async () => {
    await over?.close();
    await server?.remove();
  });

  test.for(['run', 'project'] as const)(
    'a deletion of a %s waits for a write of another process, and takes it along',
    async (what) => {
      const { held, store } = heldInsert();
      const [writing, deleting] = [over.processOf({ store }), over.processOf()];
      const [run, other] = [await over.run(), await over.run()];
      const written = writing.log(run, [traceWithSpan()]);
      await held.arrived;
      let isDone = false;
      const deleted = (what === 'run' ? deleting.deleteRun(run) : deleting.deleteProject(run.projectId)).then(() => {
        isDone = true;
      });
      await expect.poll(() => deleting.lookup.find(run.projectId, { log_stream_id: run.runId }).catch(() => 'gone')).toBe('gone');
      await over.processOf().log(other, [traceWithSpan()]); // writes to other runs do not wait
      expect(isDone).toBe(false);
      held.open();
      await Promise.all([written, deleted]);
      expect(await over.rows(run)).toEqual(nothing);
      await expect(writing.log(run, [traceWithSpan()])).rejects.toMatchObject({ code: 'RunNotFound' });
    },
  );

  test('a deletion of a trace waits for an update of another process; of two at once, each is whole', async () => {
    const { held, store } = heldInsert();
    const [writing, deleting] = [over.processOf({ store }), over.processOf()];
    const run = await over.run();
    const [trace, stays] = [traceWithSpan(), traceWithSpan()];
    await deleting.log(run, [trace, stays]);
    const update = { action: 'update', id: trace.id, of: 'trace', update: { output: 'late' } } as const;
    const written = writing.writer.write(run, [update]);
    await held.arrived;
    const deleted = [deleting, over.processOf()].map((one) => one.deleteTraces(run, [trace.id]));
    held.open();
    await written;
    expect((await Promise.all(deleted)).sort()).toEqual([0, 2]);
    expect(await over.rows(run)).toEqual({ records: 2, record_keys: 2, trace_members: 2, metric_values: 1 });
  });

  /** A row of an experiment: a trace with a span, the same for each attempt. */
  const rowOf = (ordinal: number, output: string, id = newId(), spanId = newId()) =>
    ({
      type: 'trace',
      id,
      ordinal,
      input: 'q',
      output,
      spans: [{ type: 'tool', id: spanId, input: 'x', output }],
    }) as ExperimentTrace;

  test('a worker records its rows while another writes others of the same run, and a deletion waits for both and takes all', async () => {
    const [one, two] = [heldInsert(), heldInsert()];
    const [first, second, deleting] = [
      over.processOf({ store: one.store }),
      over.processOf({ store: two.store }),
      over.processOf(),
    ];
    const run = await over.run();
    const rowsFrom = (from: number) => Array.from({ length: 50 }, (_, index) => rowOf(from + index, 'first'));
    const written = [
      logTraces(first.writer, run, rowsFrom(0), { attempt: 1 }),
      logTraces(second.writer, run, rowsFrom(1_000), { attempt: 1 }),
    ];
    await Promise.all([one.held.arrived, two.held.arrived]); // both at the same time
    let isDone = false;
    const deleted = deleting.deleteRun(run).then(() => {
      isDone = true;
    });
    await expect.poll(() => deleting.lookup.find(run.projectId, { log_stream_id: run.runId }).catch(() => 'gone')).toBe('gone');
    one.held.open();
    await written[0];
    expect(isDone).toBe(false);
    two.held.open();
    await Promise.all([...written, deleted]);
    expect(await over.rows(run)).toEqual(nothing);
    await expect(logTraces(first.writer, run, rowsFrom(0), { attempt: 2 })).rejects.toMatchObject({ code: 'RunNotFound' });
  });

  test('rows that two workers record at once are there once each, and of the same row the later attempt stays', async () => {
    const run = await over.run();
    const workers = [over.processOf(), over.processOf()] as const;
    const ids = Array.from({ length: 600 }, () => [newId(), newId()] as const);
    const rows = (from: number, to: number, output: string) =>
      ids.slice(from, to).map(([id, spanId], index) => rowOf(from + index, output, id, spanId));
    const groups = Array.from({ length: 12 }, (_, index) => index * 50);
    // The second takes the rows of the middle from the first, which is late with them.
    await Promise.all([
      ...groups.slice(0, 8).map((from) => logTraces(workers[0].writer, run, rows(from, from + 50, 'first'), { attempt: 1 })),
      ...groups.slice(4).map((from) => logTraces(workers[1].writer, run, rows(from, from + 50, 'second'), { attempt: 2 })),
    ]);
    const found = await over.clickhouse.query({
      name: 'rows by output',
      sql: 'SELECT output, toUInt32(count()) AS records FROM records FINAL WHERE run_id = {run:UUID} GROUP BY output ORDER BY output',
      params: { run: run.runId },
      row: (row) => row as { output: string; records: number },
    });
    expect(found).toEqual([
      { output: 'first', records: 400 },
      { output: 'second', records: 800 },
    ]);
  });
});
