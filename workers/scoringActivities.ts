import { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { RequestInvalid, ServiceError } from '../shared/errors.ts';
import { mayPass, untilStored } from '../shared/experiments/untilStored.ts';
import type { EnabledMetric } from '../shared/scorers/resolveMetrics.ts';
import { type MarkDeps, type Marked, markNew, markRequested } from '../shared/scoring/markRecords.ts';
import { type ScoreMarkedDeps, scoreMarked } from '../shared/scoring/scoreMarked.ts';
import { type ScoredRun, type ScoringRequest, type ScoringStore, versionNow } from '../shared/scoring/scoring.ts';
import { type SettleDeps, settleScorings } from '../shared/scoring/settleScorings.ts';
import type { Prepared, ScoredOutcome, ScorePass } from '../shared/scoring/workflow.ts';
import type { SegmentFilter } from '../shared/wire/scorers.ts';
import { beating } from './activities.ts';
import type { JudgedRun } from './judgeContext.ts';

export interface ScoringActivityDeps extends Pick<SettleDeps, 'aggregate'> {
  scorings: ScoringStore;
  marking: MarkDeps;
  records: ScoreMarkedDeps['records'];
  write: ScoreMarkedDeps['write'];
  rollUpReads: ScoreMarkedDeps['rollUpReads'];
  /** Metrics by the ids of their scorers. @throws RequestInvalid when one cannot be computed. */
  metricsOf(run: ScoredRun, scorerIds: readonly string[]): Promise<EnabledMetric[]>;
  /** What is switched on for the run; metrics that cannot be computed any more are left out. */
  enabled(run: ScoredRun): Promise<{ metrics: EnabledMetric[]; segments: readonly SegmentFilter[] }>;
  judged(run: ScoredRun): Promise<JudgedRun>;
  contextFor(run: JudgedRun, ...rest: Parameters<ScoreMarkedDeps['contextFor']>): ReturnType<ScoreMarkedDeps['contextFor']>;
  log: Logger;
}

/** Before every record. */
const EARLIEST = '1900-01-01T00:00:00.000000Z';
/** Executions after which a request whose records cannot be found at the store's limits of time and memory ends as failed. */
const EXPENSIVE_ATTEMPTS = 5;
/** Milliseconds between two notes of how far the wishes are: at first this, later a twentieth of the time gone, as counting reads every mark. */
const NOTE_MS = 5_000;

/** What the workflow that scores a run may ask for. Each is safe to run twice. */
export function createScoringActivities(deps: ScoringActivityDeps) {
  const { scorings, marking } = deps;
  const settling = { store: scorings, marks: marking.marks, aggregate: deps.aggregate };

  const markRequest = async (run: ScoredRun, request: ScoringRequest): Promise<Marked | undefined> => {
    try {
      const marked = await markRequested(marking, request, await deps.metricsOf(run, request.scorerIds));
      const markedTo = versionNow() + 1_000; // within this millisecond more than one write may have been made
      // A repeat finds those of a former execution marked, which a filter on their values no longer takes.
      const total = Math.max(marked.count, await marking.marks.countMarked(run, request.scorerIds, markedTo));
      await scorings.setMarked(request.id, total, markedTo);
      return marked;
    } catch (err) {
      if (!cannotPass(err)) throw err;
      await scorings.end(request.id, 'failed', (err as Error).message.replaceAll('\u0000', ''));
      return undefined;
    }
  };

  return {
    /** Marks what is asked for, and what is new. Null when the run was deleted. */
    prepareScoring: ({ runId }: ScorePass): Promise<Prepared | null> =>
      beating(async () => {
        const run = await scorings.findRun(runId);
        if (!run) return null;
        const marked: (Marked | undefined)[] = [];
        for (const request of await scorings.requested(runId)) marked.push(await markRequest(run, request));
        const unseen = await scorings.unseen(runId);
        if (unseen) {
          const { metrics, segments } = await deps.enabled(run);
          marked.push(await markNew(marking, run, metrics, segments, unseen.since));
          await scorings.seen(runId, unseen.began);
        }
        // What a former execution, or one that failed half way, has marked is not marked again, and nobody knows how old it is.
        if (Context.current().info.attempt > 1 || marked.includes(undefined)) return { oldest: EARLIEST };
        const times = marked.flatMap((one) => one?.oldest ?? []).sort();
        return { oldest: times[0] ?? null };
      }),

    /** Computes marked values, for some seconds. */
    scoreMarked: ({ runId, from }: ScorePass): Promise<ScoredOutcome> =>
      beating(async () => {
        const run = await scorings.findRun(runId);
        if (!run) return { scored: 0, more: false };
        const judged = await deps.judged(run);
        const start = Date.now();
        let noted = start;
        const note = () => {
          const now = Date.now();
          if (now - noted < Math.max(NOTE_MS, (now - start) / 20)) return;
          noted = now;
          settleScorings(settling, run).catch((err: unknown) => deps.log.debug({ err, runId }, 'progress was not noted'));
        };
        const given: ScoreMarkedDeps = {
          marks: marking.marks,
          records: deps.records,
          write: deps.write,
          rollUpReads: deps.rollUpReads,
          metricOf: async (of, scorerId) => (await deps.metricsOf(of, [scorerId]))[0] as EnabledMetric,
          contextFor: (metric, signal) => deps.contextFor(judged, metric, signal),
          untilStored: (operation, signal) =>
            untilStored(operation, signal, (err) => deps.log.error({ err }, 'a store operation failed; it is tried again')),
          onProgress: note,
        };
        return scoreMarked(given, run, from, Context.current().cancellationSignal);
      }),

    /** Ends the wishes of which nothing is left to compute. */
    settleScoring: ({ runId }: ScorePass): Promise<void> =>
      beating(async () => {
        const run = await scorings.findRun(runId);
        if (run) await settleScorings(settling, run);
      }),
  };
}

export type ScoringActivities = ReturnType<typeof createScoringActivities>;

/** True when a request cannot be done: by its own fault, or again and again by the store's limits. */
function cannotPass(err: unknown): boolean {
  if (err instanceof RequestInvalid) return true;
  if (!(err instanceof ServiceError)) return false;
  return !mayPass(err) || (err.code === 'QueryTooExpensive' && Context.current().info.attempt >= EXPENSIVE_ATTEMPTS);
}
