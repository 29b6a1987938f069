import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { finishProjectDeletions } from '../../shared/projects/deletions.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { type ExperimentTrace, logTraces } from '../../shared/records/ingest.ts';
import { LATE_ROWS_SECONDS, removeLateRows } from '../../shared/records/lateRows.ts';
import { updateRecord } from '../../shared/records/update.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseLateRows } from '../../shared/stores/clickhouse/writes/misplacedRows.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { type ClickHouseServer, startClickHouseServer } from '../support/clickhouseServer.ts';
import { openDeletionStores } from '../support/deletionStores.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holdingProxy.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from '../support/postgresServer.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';

type Stores = Awaited<ReturnType<typeof openDeletionStores>>;

/** The job may wait so long for a run's lock between its statements. */
const WAIT_FOR_LOCK_SECONDS = 10;
const nothing = { records: 0, record_keys: 0, trace_members: 0, metric_values: 0 };
/** A trace with a score, a model call below it and, where it is logged again, a tool. */
const traceOf = (id: string, callId: string, output: string, more: object[] = []) => ({
  type: 'trace',
  id,
  input: 'q',
  output,
  metrics: { score: 1 },
  spans: [{ type: 'llm', id: callId, input: 'x', output, metrics: { num_input_tokens: 3, num_output_tokens: 2 } }, ...more],
});

describeWithServer('an insert that comes to the record store after what it is of was deleted', postgresProgram, (program) => {
  let folder: string;
  let postgres: PostgresServer;
  let server: ClickHouseServer;
  let proxy: HoldingProxy;
  let stores: Stores;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-late-'));
    [postgres, server] = await Promise.all([
      startPostgresServer(program),
      startClickHouseServer({ dataDir: join(folder, 'data') }),
    ]);
    proxy = await startHoldingProxy(server.url);
    const clickhouse = openClickHouse({ url: server.url });
    await migrateTables(clickhouse);
    stores = await openDeletionStores(folder, { clickhouse, postgresUrl: postgres.url });
  });
  afterAll(async () => {
    await stores?.close();
    await stores?.clickhouse.close();
    await proxy?.close();
    await server?.stop();
    await postgres?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** A process whose inserts go through the proxy, and that can lose Postgres for good, as one that dies. */
  const lateProcess = async () => {
    const link = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(postgres.url).port) });
    const url = new URL(postgres.url);
    url.port = String(link.port);
    const clickhouse = openClickHouse({ url: proxy.url });
    const own = await openDeletionStores(folder, { clickhouse, postgresUrl: url.href });
    return {
      ...own.processOf(),
      die: () => link.set('reset'),
      async close() {
        await own.close();
        await clickhouse.close();
        await link.close();
      },
    };
  };
  /** As Postgres does when it hears nothing of the process: its transactions end. */
  const endLocks = () =>
    stores.database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()",
    );
  /**
   * Does the work of the recurring jobs for deletions since `began`, a time in ms: those of the tests before take their time. The window ends when each
   * statement runs, not when the job begins, so it is wider than what has passed.
   */
  const sweep = async (process: ReturnType<Stores['processOf']>, began: number) => {
    await finishProjectDeletions(process.deletion, 0);
    const store = clickhouseRecordStore(stores.clickhouse);
    await removeLateRows(
      { late: clickhouseLateRows(stores.clickhouse), store, writer: process.writer },
      Math.ceil((Date.now() - began) / 1000) + WAIT_FOR_LOCK_SECONDS,
    );
  };
  const idsIn = async (table: string, run: RunRef, id = 'id'): Promise<string[]> =>
    stores.clickhouse.query({
      name: 'ids',
      sql: `SELECT DISTINCT toString(${id}) AS id FROM ${table} WHERE run_id = {run:UUID} ORDER BY id`,
      params: { run: run.runId },
      row: (row) => (row as { id: string }).id,
    });
  /** Each row belongs to a record, and each record has its rows. */
  const isWhole = async (run: RunRef): Promise<boolean> => {
    const [records, keys, members, scored] = await Promise.all([
      idsIn('records', run),
      idsIn('record_keys', run),
      idsIn('trace_members', run),
      idsIn('metric_values', run, 'record_id'),
    ]);
    return isDeepStrictEqual(records, keys) && isDeepStrictEqual(records, members) && scored.every((id) => records.includes(id));
  };

  type Late = Awaited<ReturnType<typeof lateProcess>>;
  const fresh = () => ({ id: newId(), callId: newId() });
  type Ids = ReturnType<typeof fresh>;
  /** Requests of the late process, of a trace and its model call that are stored. */
  const writes = {
    'a trace that is logged again': (late: Late, run: RunRef, { id, callId }: Ids) =>
      late.log(run, [traceOf(id, callId, 'late', [{ type: 'tool', id: newId(), input: 'new' }])]),
    'an update of a span': (late: Late, run: RunRef, { callId }: Ids) =>
      updateRecord(late.writer, run, 'span', callId, { output: 'late', metrics: { num_output_tokens: 7 } }),
    'a row of an experiment': (late: Late, run: RunRef, { id, callId }: Ids) =>
      logTraces(late.writer, run, [{ ...traceOf(id, callId, 'late'), ordinal: 0 } as unknown as ExperimentTrace], { attempt: 2 }),
  };
  const cases: [keyof typeof writes, string, 'trace' | 'run' | 'project', 'comes back' | 'has died'][] = [
    ['a trace that is logged again', 'record_keys', 'trace', 'comes back'],
    ['a trace that is logged again', 'record_keys', 'trace', 'has died'],
    ['a trace that is logged again', 'trace_members', 'trace', 'has died'],
    ['a trace that is logged again', 'metric_values', 'trace', 'has died'],
    ['a trace that is logged again', 'records', 'trace', 'comes back'],
    ['a trace that is logged again', 'records', 'trace', 'has died'],
    ['a trace that is logged again', 'record_keys', 'run', 'has died'],
    ['a trace that is logged again', 'records', 'run', 'comes back'],
    ['a trace that is logged again', 'records', 'project', 'has died'],
    ['an update of a span', 'trace_members', 'trace', 'comes back'],
    ['an update of a span', 'trace_members', 'trace', 'has died'],
    ['an update of a span', 'records', 'trace', 'has died'],
    ['a row of an experiment', 'trace_members', 'trace', 'has died'],
    ['a row of an experiment', 'records', 'project', 'has died'],
  ];

  test.for(cases)(
    'of %s, into %s, after its %s was deleted: leaves nothing when its process %s',
    async ([written, table, deleted, fate]) => {
      const began = Date.now();
      const [late, other] = [await lateProcess(), stores.processOf()];
      onTestFinished(() => late.close());
      const run = await stores.run();
      const [ids, kept] = [fresh(), fresh()];
      await other.log(run, [traceOf(ids.id, ids.callId, 'first'), traceOf(kept.id, kept.callId, 'kept')]);
      const held = proxy.hold(table);
      const answer = writes[written](late, run, ids).then(
        () => 'stored',
        () => 'refused',
      );
      await held.arrived;
      await endLocks();
      if (fate === 'has died') late.die();
      if (deleted === 'trace') await other.deleteTraces(run, [ids.id]);
      else if (deleted === 'run') await other.deleteRun(run);
      else await other.deleteProject(run.projectId);
      await sweep(other, began);
      await held.deliver();
      const answered = await answer;
      if (fate === 'has died') expect(await isWhole(run)).toBe(false);
      await sweep(other, began);
      if (deleted !== 'trace') expect(await stores.rows(run)).toEqual(nothing);
      expect(await isWhole(run)).toBe(true);
      const left = await idsIn('records', run);
      // A process that comes back logs the trace anew, whole.
      expect(left.includes(ids.id)).toBe(answered === 'stored');
      expect([kept.id, kept.callId].every((id) => left.includes(id))).toBe(deleted === 'trace');
    },
  );

  test('leaves what was logged again under the ids, and what was deleted long ago', async () => {
    const began = Date.now();
    const process = stores.processOf();
    const run = await stores.run();
    const ids = fresh();
    await process.log(run, [traceOf(ids.id, ids.callId, 'first')]);
    await process.deleteTraces(run, [ids.id]);
    await process.log(run, [traceOf(ids.id, ids.callId, 'anew')]);
    const before = await stores.rows(run);
    const late = clickhouseLateRows(stores.clickhouse);
    expect((await late.runs(LATE_ROWS_SECONDS)).map(({ runId }) => runId)).toContain(run.runId);
    expect(await late.ids(run, LATE_ROWS_SECONDS)).toEqual([]);
    await sweep(process, began);
    expect(await stores.rows(run)).toEqual(before);
    expect(await late.runs(0)).toEqual([]);
  });

  test('is removed however late its process comes back to a deleted run', async () => {
    const began = Date.now();
    const [late, other] = [await lateProcess(), stores.processOf()];
    onTestFinished(() => late.close());
    const run = await stores.run();
    const ids = fresh();
    const held = proxy.hold('records');
    const written = late.log(run, [traceOf(ids.id, ids.callId, 'late')]);
    written.catch(() => undefined);
    await held.arrived;
    await endLocks();
    await other.deleteRun(run);
    await sweep(other, began);
    await stores.database.query("UPDATE deletion_markers SET deleted_at = now() - interval '40 days' WHERE run_id = $1", [
      run.runId,
    ]);
    await held.deliver();
    await expect(written).rejects.toMatchObject({ code: 'RunNotFound' });
    expect(await stores.rows(run)).not.toEqual(nothing);
    await sweep(other, began);
    expect(await stores.rows(run)).toEqual(nothing);
  });
});
