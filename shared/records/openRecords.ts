import { setTimeout as sleep } from 'node:timers/promises';
import { HOUR_MS, MINUTE_MS, type RecurringJob } from '../maintenance/recurringJob.ts';
import type { Expiries, RetentionStore } from '../projects/retention.ts';
import type { DeleteRecords, RunRef } from '../projects/runs.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { findColumnFor, type MetricDefinitions } from './columnCatalog.ts';
import { type DeleteDeps, type DeletionRequests, finishDeletions, type RecordEraser } from './delete.ts';
import { UNATTENDED_MS } from './deletionAttendance.ts';
import { EmptySessions } from './emptySessions.ts';
import { type ErasureNotes, type OnRecordsDeleted, recordErasure } from './eraseRecords.ts';
import type { ForgetHeldUpdates, HeldUpdates, HeldUpdateUsage } from './heldUpdates.ts';
import { type LateRows, removeLateRows } from './lateRows.ts';
import type { MetricValueStore } from './metricValues.ts';
import type { UpdateJournal } from './notedUpdates.ts';
import type { ReadDeps, RecordReader } from './read.ts';
import type { RecordStore, WithLocks } from './recordStore.ts';
import { RecordWriter } from './recordWriter.ts';
import type { RecordReads } from './searchRecords.ts';
import { StubTraces, type WaitingTraceStore } from './stubTraces.ts';
import { openSweepClock, type SweepClock, type SweepStateStore } from './sweepClock.ts';
import { type ExpiredReads, sweepProject } from './sweepExpired.ts';
import { unexpiredReader } from './unexpiredReader.ts';
import type { CallPrices } from './withCost.ts';
import { type DeletedRecordDeps, withoutDeletedRecords } from './withoutDeletedRecords.ts';

/** The store of updates whose records have not come. */
export interface HeldUpdateStore extends HeldUpdates {
  forget: ForgetHeldUpdates;
  forgetRecords: OnRecordsDeleted;
  usage(projectId: string): Promise<HeldUpdateUsage>;
  /** Removes those that have waited for a day. @returns the projects that they were of, each once for every update */
  removeExpired(): Promise<string[]>;
}

export interface RecordsDeps {
  store: RecordStore;
  reads: RecordReads;
  reader: RecordReader;
  values: MetricValueStore;
  eraser: RecordEraser & DeletedRecordDeps['store'];
  expired: ExpiredReads;
  late: LateRows;
  erasures: ErasureNotes;
  deletions: DeletionRequests;
  heldUpdates: HeldUpdateStore;
  /** Where updates are noted before they are answered; absent: they are answered when they are in their records. */
  journal: UpdateJournal | undefined;
  /** Gets why an update that was answered is in no record. */
  onUpdateLost(err: unknown): void;
  /** Absent where this process is the only one that writes. */
  withLocks: WithLocks | undefined;
  prices: CallPrices;
  metrics: MetricDefinitions;
  retention: Pick<RetentionStore, 'get' | 'projects'>;
  expiries: Expiries;
  /** Delete the data that goes with the records of a whole project or run. */
  deleteAll: readonly DeleteRecords[];
  /** Delete the data that belongs to single records. */
  onRecordsDeleted: readonly OnRecordsDeleted[];
  telemetry: Pick<Telemetry, 'record' | 'observe'>;
  /** Milliseconds after which spans open their trace whose root has not come. */
  rootWaitMs: number;
  waitingTraces: WaitingTraceStore;
  onStubTracesKept(err: unknown): void;
  /** Gets the number of updates that were dropped because their records did not come. */
  onUpdatesExpired(updates: number): void;
  /** Keeps the clock from sweep to sweep. */
  sweepState: SweepStateStore;
  /** Gets why a sweep deletes nothing. */
  onSweepHeld(reason: string): void;
  /** Gets why sessions that their traces have left could not be removed. */
  onEmptySessionsKept(err: unknown): void;
}

export interface Records {
  reads: RecordReads;
  /** Reads of single records, without what has expired. */
  reading: ReadDeps;
  writer: RecordWriter;
  emptySessions: EmptySessions;
  stubTraces: StubTraces;
  deletion: DeleteDeps;
  values: MetricValueStore;
  heldUpdates: Pick<HeldUpdateStore, 'usage'>;
  /** Deletes every record of a project, or of one run of it, with all that belongs to them. */
  deleteAll: DeleteRecords;
  /** From now on `changed` hears of every experiment whose aggregates a write or a deletion by clients has made outdated. */
  whenOutdated(changed: (experiment: RunRef) => void): void;
  /** Projects with a retention, and the removal of what has expired in one. */
  sweeps: {
    projects: RetentionStore['projects'];
    /** @returns how many records went */
    sweep(projectId: string, signal: AbortSignal): Promise<number>;
    /** Why nothing is removed at the moment; undefined where it is. */
    held: SweepClock['held'];
  };
  /** For the start of the only process: what its predecessor was at work on is free again. */
  takeOver(): Promise<void>;
  /** Writes what was answered. */
  stop(): Promise<void>;
  jobs: RecurringJob[];
}

/** Milliseconds between two removals of empty sessions in a run: each waits for its writes, and takes turns with them. */
const EMPTY_SESSIONS_PAUSE_MS = 10_000;
/** Milliseconds for which an end of the process waits for updates that were answered. */
const STOP_MS = 5_000;

/** Records: written, read, deleted and swept. */
export function openRecords(deps: RecordsDeps): Records {
  const { reads, eraser, heldUpdates, erasures, deletions, metrics, expiries } = deps;
  let outdated: (run: RunRef) => void = () => {};
  const onRecordsDeleted = [...deps.onRecordsDeleted, heldUpdates.forgetRecords];
  const erasure = recordErasure({ eraser, notes: erasures, onRecordsDeleted });
  const sweepClock = openSweepClock(deps.sweepState, deps.onSweepHeld);
  const writer = new RecordWriter({
    store: deps.store,
    guard: erasure.guard,
    noteOutdated: erasure.noteOutdated,
    noteLate: erasures.noteLate,
    erasures: erasure.underWay,
    held: heldUpdates,
    prices: deps.prices,
    ...(deps.withLocks ? { withLocks: deps.withLocks } : {}),
    ...(deps.journal ? { notes: { journal: deps.journal, onLost: deps.onUpdateLost } } : {}),
    onGroup(changes, bytes) {
      deps.telemetry.record('assay_ingest_group_records', changes, {});
      deps.telemetry.record('assay_ingest_group_bytes', bytes, {});
    },
  });
  writer.whenOutdated((run) => outdated(run));
  deps.telemetry.observe('assay_ingest_queue_bytes', () => [{ value: writer.waitingBytes, labels: {} }]);
  const deletion: DeleteDeps = {
    reads,
    eraser,
    erasure,
    requests: deletions,
    forgetHeldUpdates: heldUpdates.forget,
    writer,
    onDeleted: (run) => outdated(run),
    now: () => new Date(),
  };
  const stubTraces = new StubTraces({
    writer,
    store: deps.waitingTraces,
    waitMs: deps.rootWaitMs,
    onError: deps.onStubTracesKept,
  });
  return {
    reads,
    reading: { reader: unexpiredReader(deps.reader, expiries), reads },
    writer,
    emptySessions: new EmptySessions({
      reads,
      eraser,
      erasure,
      writer,
      pauseMs: EMPTY_SESSIONS_PAUSE_MS,
      onError: deps.onEmptySessionsKept,
    }),
    stubTraces,
    deletion,
    values: withoutDeletedRecords(deps.values, { store: eraser, notes: erasures, writer }),
    heldUpdates,
    async deleteAll(projectId, runId) {
      // The marker is there: writes that began before it end now, and later ones are refused.
      await writer.untilWritten(projectId, runId);
      for (const remove of deps.deleteAll) await remove(projectId, runId);
      for (const forget of onRecordsDeleted) await forget({ projectId, ...(runId === undefined ? {} : { runId }) });
    },
    whenOutdated(changed) {
      outdated = changed;
    },
    sweeps: {
      async projects(after, limit) {
        if (after === undefined && !(await sweepClock.begin())) return [];
        return deps.retention.projects(after, limit);
      },
      async sweep(projectId, signal) {
        if (!(await sweepClock.mayGoOn())) return 0;
        return sweepProject({ ...deletion, retention: deps.retention, expired: deps.expired }, projectId, signal);
      },
      held: sweepClock.held,
    },
    async takeOver() {
      // Reads wait for them: should the store not take them now, it is tried again.
      await writer.unsettled.settle(() => true).catch(() => {});
      await deletions.freeAll();
    },
    async stop() {
      const settled = writer.unsettled.settle(() => true).catch(() => {});
      await Promise.race([settled, sleep(STOP_MS, undefined, { ref: false })]); // the next start goes on
    },
    jobs: [
      {
        name: 'finish-record-erasures',
        every: 5 * MINUTE_MS,
        atStart: true,
        // A writer that gets a run to itself finishes its unfinished erasures first, so there is nothing else to do.
        async run() {
          for (const run of await erasures.unfinished()) await writer.exclusively(run, async () => {});
          await removeLateRows({ late: deps.late, store: deps.store, writer });
        },
      },
      {
        // A process may have ended while its traces waited.
        name: 'open-waiting-traces',
        every: MINUTE_MS,
        atStart: true,
        run: () => stubTraces.openDue(),
      },
      {
        name: 'finish-record-deletions',
        every: MINUTE_MS,
        atStart: true,
        run: (signal) =>
          finishDeletions(
            { ...deletion, findColumn: (run, filter) => findColumnFor(reads, metrics, run, { filter }) },
            UNATTENDED_MS,
            signal,
          ),
      },
      {
        name: 'drop-expired-updates',
        every: HOUR_MS,
        async run() {
          const expired = await heldUpdates.removeExpired();
          for (const projectId of expired) writer.counters.drop(projectId, 1);
          if (expired.length > 0) deps.onUpdatesExpired(expired.length);
        },
      },
    ],
  };
}
