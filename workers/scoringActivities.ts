import { Context } from '@temporalio/activity';
import { RequestInvalid, ServiceError } from '../shared/errors/errors.ts';
import { type ExperimentRun, hasEnded } from '../shared/experiments/experiment.ts';
import { mayPass } from '../shared/experiments/untilStored.ts';
import { judgedExperiment } from '../shared/scoring/judgedRun.ts';
import { type IdleLook, idleSessionValues, type Marked, markRequested, newValues } from '../shared/scoring/markRecords.ts';
import type { ScoredRunMetrics } from '../shared/scoring/runMetrics.ts';
import { type ScoreMarkedDeps, scoreMarked } from '../shared/scoring/scoreMarked.ts';
import { type ScoredRun, type ScoringRequest, type ScoringStore, versionNow } from '../shared/scoring/scoring.ts';
import { type SettleScoringsDeps, settleScorings } from '../shared/scoring/settleScorings.ts';
import type { Prepared, ScoredOutcome, ScorePass } from '../shared/scoring/workflow.ts';
import { beating } from './activities.ts';
import { type CurrentRunDeps, currentRun } from './currentRun.ts';
import { type ValueScoringDeps, valueScoring } from './valueScoring.ts';

export interface ScoringActivityDeps
  extends Pick<SettleScoringsDeps, 'aggregate'>,
    Omit<ValueScoringDeps, 'ledger' | 'workflows'> {
  ledger: ValueScoringDeps['ledger'] & CurrentRunDeps['ledger'];
  workflows: ValueScoringDeps['workflows'] & CurrentRunDeps['workflows'];
  scorings: ScoringStore;
  metrics: ScoredRunMetrics;
  /** Milliseconds without a record after which a session of live traffic is scored. */
  sessionIdleMs: number;
  /** Has the aggregates of an experiment computed anew soon. */
  renewAggregates(experiment: ScoredRun): Promise<void>;
}

/** Before every record. */
const EARLIEST = '1900-01-01T00:00:00.000000Z';
/** Executions after which a request whose records cannot be found at the store's limits of time and memory ends as failed. */
const EXPENSIVE_ATTEMPTS = 5;
/** Milliseconds between two notes of how far requests are: at first this, later a twentieth of the time gone, as counting reads every mark. */
const NOTE_MS = 5_000;
/** Values computed at once, unless they are an experiment's. */
const LANES = 20;
/**
 * Microseconds that a look beside the rows goes back before the last one: records may be stored a little after they were stamped. What it misses, by a
 * clock that is further off, is found when the rows have ended and all of them are looked at.
 */
const OVERLAP = 3_000_000;

/**
 * Creates the activities of the workflows that score a run. Each is safe to run twice. On a cancel and at the end of this worker no further value
 * starts; values in flight get some seconds to end, and answers of judges are stored.
 * Histories have the names of these methods, their inputs and their answers: see docs/deploys.md.
 * @param ending aborts when the worker ends
 */
export function createScoringActivities(deps: ScoringActivityDeps, ending: AbortSignal) {
  const { scorings, marking } = deps;
  const { values, inLanes, computeOrMark, lacking } = valueScoring(deps, ending);
  const settling = { store: scorings, marks: marking.marks, aggregate: deps.aggregate };

  const markRequest = async (run: ScoredRun, request: ScoringRequest): Promise<Marked | undefined> => {
    try {
      const metrics = await deps.metrics.freeze(run, await deps.metrics.byScorer(run, request.scorerIds));
      const above = await marking.marks.newestValue(run);
      const marked = await markRequested(marking, request, metrics, above);
      const markedTo = Math.max(versionNow() + 1_000, above + 1); // within this millisecond more than one write may have been made
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

  /** The experiment's run that asks; undefined when it has ended or a newer one has begun. */
  const runOf = async (experimentId: string, number: number): Promise<ExperimentRun | undefined> => {
    const run = await currentRun(deps, { experimentId, number });
    return 'none' in run ? undefined : run;
  };

  const prepareExperiment = async (run: ScoredRun, experiment: ExperimentRun, ended: boolean): Promise<Prepared> => {
    const frozen = await deps.metrics.frozen(experiment);
    const began = versionNow();
    const since = ended ? 0 : Math.max(0, Math.min(frozen.lookedTo, began) - OVERLAP);
    const { marked, scored, more } = await computeOrMark(
      run,
      experiment,
      judgedExperiment(experiment),
      lacking(experiment, frozen, { since }),
      frozen.metrics,
    );
    if (more || !marked) return { oldest: EARLIEST, scored, more: true };
    await deps.metrics.looked(experiment, began);
    return { oldest: Context.current().info.attempt > 1 ? EARLIEST : marked.oldest, scored };
  };

  /** True while the experiment's own workflow computes the marked values; no other may then. */
  const isTaken = async (run: ScoredRun): Promise<boolean> => {
    const experiment = run.kind === 'experiment' ? await deps.ledger.find(run.runId) : undefined;
    return experiment !== undefined && experiment.state !== 'idle' && !hasEnded(experiment.state);
  };

  /** The aggregates of an experiment that a client fills follow its values. What an execution that died has stored, the next one does not count. */
  const renew = async (run: ScoredRun, scored: number): Promise<void> => {
    if (run.kind === 'experiment' && (scored > 0 || Context.current().info.attempt > 1)) await deps.renewAggregates(run);
  };

  /**
   * Marks what the settings of a run filled by logging compute: values of new records, and of sessions that have become idle. `due` is the version at
   * which to look again at a session that is not idle yet.
   */
  const prepareLive = async (
    run: ScoredRun,
  ): Promise<{ marked: Marked | undefined; scored: number; more: boolean; due: number | null }> => {
    const { runId } = run;
    const [unseen, sessions] = [await scorings.unseen(runId), await scorings.idleSessions(runId)];
    const now = versionNow();
    const isDue = sessions !== undefined && sessions.due !== null && sessions.due <= now;
    if (!unseen && !isDue) return { marked: { count: 0, oldest: null }, scored: 0, more: false, due: sessions?.due ?? null };
    const { metrics: enabled, segments } = await deps.metrics.enabled(run);
    const metrics = await deps.metrics.freeze(run, enabled);
    const idle = deps.sessionIdleMs * 1_000;
    let due: number | null = null;
    const look: IdleLook = {
      since: sessions?.since ?? now,
      now,
      until: now - idle,
      margin: Math.min(idle, OVERLAP),
      onActive: (version) => {
        due = Math.min(due ?? Number.POSITIVE_INFINITY, version + idle + 1);
      },
    };
    const found = async function* () {
      if (unseen) yield* newValues(marking, run, metrics, segments, unseen.since);
      yield* idleSessionValues(marking, run, metrics, segments, look);
    };
    const fresh = await computeOrMark(run, undefined, await deps.metrics.judged(run), found(), metrics);
    await renew(run, fresh.scored);
    if (fresh.more) return { ...fresh, due };
    if (unseen) await scorings.seen(runId, unseen.began);
    // Where no metric looks at sessions, those of now are none of a metric that is switched on later.
    const looksAtSessions = metrics.some(({ kinds }) => kinds.includes('session'));
    await scorings.sessionsSeen(runId, looksAtSessions ? look.until : now, due);
    return { ...fresh, due };
  };

  return {
    /** Computes what is plain code, and marks what is for judges: what is asked for, and what is new. Null when there is no such run any more. */
    prepareScoring: (pass: ScorePass): Promise<Prepared | null> =>
      beating(async () => {
        const { runId } = pass;
        const run = await scorings.findRun(runId);
        if (!run) return null;
        if (pass.number !== undefined) {
          const experiment = await runOf(runId, pass.number);
          return experiment ? prepareExperiment(run, experiment, pass.ended === true) : null;
        }
        const requests = await scorings.requested(runId);
        if (requests.length > 0 && (await isTaken(run))) return { oldest: EARLIEST };
        const marked: (Marked | undefined)[] = [];
        for (const request of requests) marked.push(await markRequest(run, request));
        const fresh = await prepareLive(run);
        marked.push(fresh.marked);
        const { scored, due } = fresh;
        if (fresh.more) return { oldest: EARLIEST, scored, more: true };
        const sessions = due === null ? {} : { sessionsDueMs: Math.max(1, Math.ceil((due - versionNow()) / 1_000)) };
        // Marks of an earlier execution, or of one that failed half-way, are not made again, and their age is unknown.
        if (Context.current().info.attempt > 1 || marked.includes(undefined)) return { oldest: EARLIEST, scored, ...sessions };
        const times = marked.flatMap((one) => one?.oldest ?? []).sort();
        return { oldest: times[0] ?? null, scored, ...sessions };
      }),

    /** Computes marked values, for some seconds. */
    scoreMarked: (pass: ScorePass): Promise<ScoredOutcome> =>
      beating(async () => {
        const { runId, from, number } = pass;
        const run = await scorings.findRun(runId);
        if (!run) return { scored: 0, more: false };
        const experiment = number === undefined ? undefined : await runOf(runId, number);
        if (number !== undefined && !experiment) return { scored: 0, more: false };
        if (!experiment && (await isTaken(run))) return { scored: 0, more: true, isTaken: true };
        const start = Date.now();
        let noted = start;
        const note = () => {
          const now = Date.now();
          if (now - noted < Math.max(NOTE_MS, (now - start) / 20)) return;
          noted = now;
          settleScorings(settling, run).catch((err: unknown) => deps.log.debug({ err, runId }, 'progress was not noted'));
        };
        const given: ScoreMarkedDeps = {
          ...values(await deps.metrics.judged(run)),
          marks: marking.marks,
          metricOf: deps.metrics.byMark,
          onProgress: note,
        };
        const lanes = experiment?.settings.concurrency ?? LANES;
        const maxProviderFailures = experiment?.settings.pauseAfterProviderFailures ?? 0;
        const outcome = await inLanes(lanes, experiment, (options) =>
          scoreMarked(given, run, from, { ...options, maxProviderFailures }),
        );
        if (!experiment) await renew(run, outcome.scored);
        return outcome;
      }),

    /** Ends the requests of which nothing is left to compute. */
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
