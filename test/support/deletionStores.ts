import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../shared/identifiers/ids.ts';
import { deleteWithRecords } from '../../shared/projects/deletions.ts';
import { createIngestLookup } from '../../shared/projects/openRun.ts';
import { createRunLookup, type DeleteRecords, type RunRef } from '../../shared/projects/runs.ts';
import { LogTracesIngestRequest } from '../../shared/recordSchemas/ingest.ts';
import { type DeleteDeps, deleteRecords, type RecordEraser } from '../../shared/records/delete.ts';
import { type Deleted, type ErasureDeps, recordErasure } from '../../shared/records/eraseRecords.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { HeldUpdates } from '../../shared/records/heldUpdates.ts';
import { ingestTraces } from '../../shared/records/ingest.ts';
import type { RecordStore } from '../../shared/records/recordStore.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { type DeletedRecordDeps, withoutDeletedRecords } from '../../shared/records/withoutDeletedRecords.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { migrateTables, tablesOfRecords } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseMetricValues } from '../../shared/stores/clickhouse/writes/metricValues.ts';
import {
  clickhouseDeleteRecords,
  clickhouseRecordEraser,
  clickhouseStillStored,
} from '../../shared/stores/clickhouse/writes/recordDeletion.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import { postgresHeldUpdates } from '../../shared/stores/postgres/heldUpdates.ts';
import { advisoryLocks } from '../../shared/stores/postgres/locks.ts';
import { postgresLogStreams } from '../../shared/stores/postgres/logStreams.ts';
import { postgresMetricsTestingRuns } from '../../shared/stores/postgres/metricsTestingRuns.ts';
import { postgresProjects } from '../../shared/stores/postgres/projects.ts';
import { postgresDeletionRequests, postgresErasures } from '../../shared/stores/postgres/recordDeletions.ts';
import { openSeededDatabase } from './seedPostgres.ts';

export type Eraser = RecordEraser & DeletedRecordDeps['store'];

/** Where a test holds up what goes on: everything else is the real thing. */
export interface Gates {
  store?(real: RecordStore): RecordStore;
  eraser?(real: Eraser): Eraser;
  held?(real: HeldUpdates): HeldUpdates;
  onRecordsDeleted?: ErasureDeps['onRecordsDeleted'];
}

/** A gate that somebody comes to, and waits at until it is opened. */
export function gate() {
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    arrived: arrived.promise,
    open: () => opened.resolve(),
    async pass(): Promise<void> {
      arrived.resolve();
      await opened.promise;
    },
  };
}

/**
 * ClickHouse and Postgres in one folder (embedded), with a user; `processOf` acts as a process of the service on top of them.
 * @param shared a ClickHouse that is open, and a Postgres server: then there may be several such processes, which hold each other off by locks
 */
export async function openDeletionStores(folder?: string, shared?: { clickhouse: ClickHouse; postgresUrl: string }) {
  const directory = folder ?? (await mkdtemp(join(tmpdir(), 'assay-deletion-')));
  const clickhouse = shared?.clickhouse ?? openClickHouse({ dataDir: join(directory, 'clickhouse') });
  if (!shared) await migrateTables(clickhouse);
  const database = await (shared ? openDatabase({ url: shared.postgresUrl }) : openSeededDatabase(join(directory, 'postgres')));
  const userId = newId();
  await database.query("INSERT INTO users (id, email, role) VALUES ($1, $2, 'admin')", [userId, `${userId}@example.com`]);
  const projects = postgresProjects(database);
  const logStreams = postgresLogStreams(database);

  const processOf = (gates: Gates = {}) => {
    const told: Deleted[] = [];
    const real = clickhouseRecordEraser(clickhouse);
    const eraser = gates.eraser?.(real) ?? real;
    const store = clickhouseRecordStore(clickhouse);
    const notes = postgresErasures(database);
    const held = postgresHeldUpdates(database, { updates: 100, bytes: 1_000_000 });
    const onRecordsDeleted = [
      ...(gates.onRecordsDeleted ?? [async (deleted: Deleted) => void told.push(deleted)]),
      held.forgetRecords,
    ];
    const erasure = recordErasure({ eraser, notes, onRecordsDeleted });
    const writer = new RecordWriter({
      store: gates.store?.(store) ?? store,
      guard: erasure.guard,
      noteOutdated: erasure.noteOutdated,
      noteLate: notes.noteLate,
      erasures: erasure.underWay,
      held: gates.held?.(held) ?? held,
      ...(shared ? { withLocks: advisoryLocks(database) } : {}),
    });
    const reads = clickHouseRecordReads(clickhouse);
    const deps: DeleteDeps = {
      reads,
      eraser,
      erasure,
      writer,
      requests: postgresDeletionRequests(database),
      forgetHeldUpdates: held.forget,
      onDeleted: () => {},
      now: () => new Date(),
    };
    const lookup = createRunLookup(logStreams);
    const everyRecord = clickhouseDeleteRecords(clickhouse);
    const stillStored = clickhouseStillStored(clickhouse);
    const deleteAll: DeleteRecords = async (projectId, runId) => {
      await writer.untilWritten(projectId, runId);
      await everyRecord(projectId, runId);
    };
    const deletion = { deletions: projects, deleteRecords: deleteAll, stillStored, newId, forget: () => lookup.forget() };
    return {
      told,
      held,
      notes,
      deps,
      writer,
      erasure,
      deletion,
      lookup,
      ingestLookup: createIngestLookup(lookup.find, postgresMetricsTestingRuns(database)),
      values: withoutDeletedRecords(clickhouseMetricValues(clickhouse), { store: eraser, notes, writer }),
      log: (run: RunRef, traces: object[]) => {
        const { traces: flat } = LogTracesIngestRequest.parse({ log_stream_id: run.runId, traces });
        return ingestTraces(writer, run, { traces: flat, isComplete: true });
      },
      deleteTraces: (run: RunRef, ids: string[]) =>
        deleteRecords(deps, {
          run,
          kinds: ['trace'],
          filter: { filter: { type: 'id', column_id: 'id', operator: 'one_of', value: ids } },
          findColumn: columnFinder([]),
        }),
      deleteNamed: (run: RunRef, name: string) =>
        deleteRecords(deps, {
          run,
          kinds: ['trace'],
          filter: { filter: { type: 'text', column_id: 'name', operator: 'eq', value: name, case_sensitive: true } },
          findColumn: columnFinder([]),
        }),
      deleteRun: (run: RunRef) => deleteWithRecords(deletion, run.projectId, run.runId),
      deleteProject: (projectId: string) => deleteWithRecords(deletion, projectId),
    };
  };

  return {
    directory,
    clickhouse,
    database,
    userId,
    processOf,
    async run(): Promise<RunRef> {
      const project = await projects.insert(
        { id: newId(), name: newId(), type: 'gen_ai' },
        { userId, seesAll: true, onlyProjectId: undefined },
      );
      const stream = await logStreams.insert({ id: newId(), projectId: project.id, name: 's', createdBy: userId });
      return { projectId: project.id, runId: stream.id };
    },
    /** Rows that a reader finds, stale versions included, in each table of records. */
    async rows({ projectId, runId }: RunRef): Promise<Record<string, number>> {
      const counts = await clickhouse.query({
        name: 'rows of a run',
        sql: tablesOfRecords
          .map(
            ({ name }) =>
              `SELECT '${name}' AS name, count() AS held FROM ${name} WHERE project_id = {project:UUID} AND run_id = {run:UUID}`,
          )
          .join(' UNION ALL '),
        params: { project: projectId, run: runId },
        row: (row) => row as { name: string; held: string },
      });
      return Object.fromEntries(counts.map(({ name, held }) => [name, Number(held)]));
    },
    async close() {
      if (!shared) await clickhouse.close();
      await database.close();
      if (folder === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}
