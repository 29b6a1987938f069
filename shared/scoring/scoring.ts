import type { ValueState } from '../experiments/experiment.ts';
import type { RunKind, RunRef } from '../projects/runs.ts';
import type { RecordQuery } from '../records/searchRecords.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { ScorerConfig, SegmentFilter } from '../wire/scorers.ts';

/** A run whose records are scored. */
export interface ScoredRun extends RunRef {
  kind: RunKind;
  name: string;
  projectName: string;
  createdBy: string;
}

/** The records that a request is about: those that match, or one page of them. */
export interface Selection {
  filter: RecordQuery['filter'];
  sort?: { columnId: string; ascending: boolean };
  page?: { offset: number; limit: number; after?: string };
  /** Only records of these kinds; absent: of all that the metrics take. */
  kinds?: readonly RecordKind[];
  /** Which share of the records is scored, as those of a run's settings say it of new ones. */
  segments?: readonly SegmentFilter[];
}

/** A request to score records of a run again. */
export interface ScoringRequest extends RunRef {
  id: string;
  scorerIds: string[];
  selection: Selection;
  createdBy: string;
}

export type ScoringState = 'requested' | 'running' | 'completed' | 'failed';

/** How such a request stands; counts are of values, one for each record and metric. */
export interface ScoringStatus {
  state: ScoringState;
  total: number;
  done: number;
  error: string | null;
  startedAt: Date | null;
  endedAt: Date | null;
}

/** A request whose records are marked. */
export interface MarkedScoring {
  id: string;
  scorerIds: string[];
  total: number;
  markedTo: number;
}

/** A job that clients follow a scoring by: one for each scorer. */
export interface ScorerJob {
  id: string;
  config: ScorerConfig;
}

/** Requests to score, and how far new records are scored: in the metadata store, so that they outlive every process. */
export interface ScoringStore {
  /** @throws ServiceError `NotFound` when the run was deleted meanwhile. */
  request(scoring: ScoringRequest, jobs: readonly ScorerJob[]): Promise<void>;
  find(scoringId: string): Promise<ScoringStatus | undefined>;
  findRun(runId: string): Promise<ScoredRun | undefined>;
  /** Not marked yet, oldest first. */
  requested(runId: string): Promise<ScoringRequest[]>;
  /** Marked and not ended. */
  marked(runId: string): Promise<MarkedScoring[]>;
  setMarked(scoringId: string, total: number, markedTo: number): Promise<void>;
  setDone(scoringId: string, done: number): Promise<void>;
  end(scoringId: string, state: 'completed' | 'failed', error: string | null): Promise<void>;
  /**
   * Notes that records were written; gives those of the runs that are scored as they are filled: log streams, and experiments that never ran, with
   * metrics switched on.
   */
  noteWritten(runIds: readonly string[]): Promise<string[]>;
  /** Where a look for new records starts, when some were written since the last look began; versions are microseconds. */
  unseen(runId: string): Promise<{ since: number; began: Date } | undefined>;
  /** The look that began then has ended. */
  seen(runId: string, began: Date): Promise<void>;
  /** Where a look for idle sessions starts, and when the next one will be idle (null: none is known of). Undefined where no metric is switched on. */
  idleSessions(runId: string): Promise<{ since: number; due: number | null } | undefined>;
  /** Sessions that were idle by that version were looked at. */
  sessionsSeen(runId: string, to: number, due: number | null): Promise<void>;
  /** Runs with a request that has not ended, with records that were not looked at, or with sessions that have become idle. */
  waiting(): Promise<string[]>;
  /** Such runs with metrics switched on, and the version that they were last looked at. */
  liveRuns(): Promise<{ run: RunRef; lookedAt: number }[]>;
}

/** A value that is to be computed. Where it is marked, its row in the record store says `pending` or `computing`. */
export interface MarkedValue {
  recordId: string;
  createdAt: string;
  kind: RecordKind;
  traceId: string | null;
  metric: string;
  scorerId: string;
  /** Version of the frozen metric that is to compute it; empty in marks of former releases. */
  scorerVersion: string;
  /** Microseconds: the value's own version will be above this one. */
  version: number;
}

/** The parts of a metric that marks name. */
export type MarkedMetric = Pick<MarkedValue, 'scorerId' | 'scorerVersion'>;

/** A trace, and the metrics of which it has no value that counts. */
export interface LackingTrace {
  id: string;
  createdAt: string;
  /** That of its newest record where the metrics look at spans. */
  version: number;
  metrics: string[];
}

/** A look for values that are lacking. Values count that have the frozen version, are as new as their record, and did not fail before this run. */
export interface LackingQuery {
  metrics: readonly { name: string; version: string }[];
  withSpans: boolean;
  /** Metrics whose value of a trace is made of those of its spans: a trace lacks it while one of these has failed before. */
  ofSpans: readonly string[];
  /** Microseconds: a value that failed before is computed again. */
  failedBefore: number;
  /** True when a value without the version of its scorer counts as computed; former releases stored none. */
  unknownCounts: boolean;
  /** Only those that lack a value in one of these ways; absent: in any. */
  states?: readonly ValueState[];
  /**
   * Only rows that were recorded by attempt `from` or a later one. Of rows recorded by `leftFrom` or a later one a value that is older than its row
   * counts as lacking: it was computed from the row's former output.
   */
  attempts?: { from: number; leftFrom: number };
  /** Microseconds: only traces that were written after. */
  since?: number;
  /** Only these traces. */
  traceIds?: readonly string[];
}

/** A record as the look for new records sees it. */
export interface FreshRecord {
  id: string;
  createdAt: string;
  kind: RecordKind;
  /** Null of a session. */
  traceId: string | null;
  name: string;
  metadata: Record<string, string>;
  modalities: readonly string[];
  /** Version of the record. A trace or session has that of the newest record below it, where the caller asked for it. */
  version: number;
  /** That of the record alone. */
  ownVersion: number;
}

/** Reads marks, and records that were written of late. */
export interface MarkStore {
  /** Returns what is marked of these metrics as it stands now, newest record first, all values of a record together. @param from leaves older records out */
  marked(run: RunRef, from: string | undefined, metrics: readonly MarkedMetric[]): AsyncGenerator<MarkedValue>;
  /** The metrics of everything that is marked. */
  markedMetrics(run: RunRef, from: string | undefined): Promise<MarkedMetric[]>;
  /** Traces without a value that counts, oldest first; what is marked counts. */
  lacking(run: RunRef, query: LackingQuery): AsyncGenerator<LackingTrace>;
  /** Takes back what is marked, except for these scorers: the values of before are there again, where they are kept still. */
  unmark(run: RunRef, exceptScorers: readonly string[]): Promise<void>;
  /** Values of these scorers that are still to be computed and were marked up to this version. */
  countMarked(run: RunRef, scorerIds: readonly string[], markedTo: number): Promise<number>;
  /** Traces with a record written after that version. */
  touchedTraces(run: RunRef, since: number): AsyncGenerator<string>;
  /** Returns the records of these kinds in those of these traces that are complete. With `withSpans` a trace has the version of its newest record. */
  freshRecords(
    run: RunRef,
    traceIds: readonly string[],
    kinds: readonly RecordKind[],
    withSpans: boolean,
  ): Promise<FreshRecord[]>;
  /** Sessions with traces or spans written after that version, with the version of the newest. */
  touchedSessions(run: RunRef, since: number): AsyncGenerator<{ id: string; version: number }>;
  /** These records. */
  scoringTargets(run: RunRef, ids: readonly string[]): Promise<FreshRecord[]>;
  /** The records of these sessions. */
  freshSessions(run: RunRef, sessionIds: readonly string[]): Promise<FreshRecord[]>;
  /** Version of the newest value or state by `valueKey`. */
  valueVersions(run: RunRef, recordIds: readonly string[], metrics: readonly string[]): Promise<Map<string, number>>;
  /** Version of the newest value or state of the run; 0 where it has none. */
  newestValue(run: RunRef): Promise<number>;
  /** Version of the newest record of each of these runs; one without records is absent. */
  newestVersions(runs: readonly RunRef[]): Promise<Map<string, number>>;
}

/** The durable execution of scoring: one workflow a run. */
export interface ScoringWorkflows {
  /** Starts the run's workflow, or signals the one that is there that there is more. */
  score(run: ScoredRun): Promise<void>;
}

/** Versions are microseconds since 1970. */
export const versionNow = (): number => Date.now() * 1000;
