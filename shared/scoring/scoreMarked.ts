import { RequestInvalid, ServiceError } from '../errors.ts';
import type { ScoreContext } from '../metrics/metric.ts';
import type { MetricValue } from '../records/recordStore.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { toMetricValue } from './metricValue.ts';
import { type RollUpReads, rollUps } from './rollUps.ts';
import { type RecordToScore, type Scoring, scoreValues } from './scoreValues.ts';
import { type MarkedValue, type MarkStore, type ScoredRun, versionNow } from './scoring.ts';
import type { ScoredOutcome } from './workflow.ts';

export interface ScoreMarkedDeps {
  marks: Pick<MarkStore, 'marked'>;
  records(run: ScoredRun, ids: readonly string[], withSpans: boolean): Promise<RecordToScore[]>;
  /** The metric of a scorer as the run computes it. @throws RequestInvalid when it cannot be computed any more. */
  metricOf(run: ScoredRun, scorerId: string): Promise<EnabledMetric>;
  contextFor(metric: EnabledMetric, signal: AbortSignal): ScoreContext;
  /** Stores values of records as they were at that version, so that those of a record changed since count as outdated. Of a record that is gone
   * none stays, its marks neither. */
  write(run: ScoredRun, values: readonly MetricValue[], version: number): Promise<void>;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
  rollUpReads: RollUpReads;
  onProgress(scored: number): void;
}

/** Values of one page: their records are held in memory, and inputs may have megabytes. */
const PAGE_VALUES = 250;
/** Values computed at once. */
const LANES = 20;
/** Milliseconds after which a pass gives way, so that newer records come first again. */
const PASS_MS = 20_000;

/**
 * Computes what is marked in a run, newest records first, and stores each value in the place of its mark. A failing metric fails only its own
 * value. Killed anywhere, the next one goes on with the marks that are left.
 */
export async function scoreMarked(
  deps: ScoreMarkedDeps,
  run: ScoredRun,
  from: string | undefined,
  signal: AbortSignal,
): Promise<ScoredOutcome> {
  const metrics = new Map<string, Promise<EnabledMetric | { problem: string }>>();
  const metricOf = (scorerId: string) => {
    const metric = metrics.get(scorerId) ?? deps.metricOf(run, scorerId).catch(problemOf);
    metrics.set(scorerId, metric);
    return metric;
  };
  const until = performance.now() + PASS_MS;
  let scored = 0;
  let page: MarkedValue[] = [];
  const scorePage = async () => {
    await scorePart(deps, run, page, metricOf, signal);
    scored += page.length;
    page = [];
    deps.onProgress(scored);
  };
  for await (const mark of deps.marks.marked(run, from)) {
    signal.throwIfAborted();
    page.push(mark);
    if (page.length < PAGE_VALUES) continue;
    await scorePage();
    if (performance.now() > until) return { scored, more: true };
  }
  if (page.length > 0) await scorePage();
  return { scored, more: false };
}

type MetricOf = (scorerId: string) => Promise<EnabledMetric | { problem: string }>;

/** Scores these marks; where their records are too large to be read together, half of them after the other. */
async function scorePart(
  deps: ScoreMarkedDeps,
  run: ScoredRun,
  marks: readonly MarkedValue[],
  metricOf: MetricOf,
  signal: AbortSignal,
): Promise<void> {
  const resolved = await Promise.all(marks.map(async (mark) => ({ mark, metric: await metricOf(mark.scorerId) })));
  const withSpans = resolved.some(({ metric }) => !('problem' in metric) && metric.readsSpans);
  const ids = [...new Set(marks.map(({ recordId }) => recordId))];
  const records = await deps.records(run, ids, withSpans).catch((err: unknown) => {
    if (err instanceof ServiceError && err.code === 'QueryTooExpensive' && marks.length > 1) return undefined;
    throw err;
  });
  if (!records) {
    const half = Math.ceil(marks.length / 2);
    await scorePart(deps, run, marks.slice(0, half), metricOf, signal);
    return scorePart(deps, run, marks.slice(half), metricOf, signal);
  }
  // Above every mark, whose clock may be another machine's.
  const asOf = Math.max(versionNow(), ...marks.map(({ version }) => version)) + 1;
  const byId = new Map(records.map((record) => [record.id, record]));
  const work: Scoring[] = [];
  const failed: MetricValue[] = [];
  for (const { mark, metric } of resolved) {
    const target = byId.get(mark.recordId);
    if (target && !('problem' in metric)) work.push({ target, metric: { ...metric, name: mark.metric } });
    else failed.push(failedMark(mark, 'problem' in metric ? metric.problem : 'the record was deleted'));
  }
  const write = async (values: readonly MetricValue[], version: number) => {
    if (values.length > 0) await deps.untilStored(() => deps.write(run, values, version), signal);
  };
  await write(failed, asOf);
  await write(work.filter(({ metric }) => metric.needs === 'judge').map(computing), asOf);
  const metrics = new Map(work.map(({ metric }) => [metric.name, metric]));
  let writing: Promise<void> = Promise.resolve();
  // One after the other: what is rolled up must see the values that were written before. Both are one block, so that no crash comes between.
  const writeWithRollUps = (values: readonly MetricValue[]): Promise<void> => {
    const turn = writing.then(async () => {
      const rolledUp = await rollUps(deps.rollUpReads, run, values, metrics, (id) => byId.get(id)?.sessionId);
      await deps.write(run, [...values, ...rolledUp], asOf + 1);
    });
    writing = turn.catch(() => undefined);
    return turn;
  };
  await scoreValues({ ...deps, write: writeWithRollUps }, work, LANES, signal);
}

const failedMark = (mark: MarkedValue, reason: string): MetricValue =>
  toMetricValue(
    { id: mark.recordId, createdAt: mark.createdAt, kind: mark.kind, traceId: mark.traceId },
    { name: mark.metric, scorerId: mark.scorerId },
    { gaveUp: reason },
  );

/** The state of a value while its judge is asked. */
const computing = ({ target, metric }: Scoring): MetricValue => ({
  ...toMetricValue(target, metric, { gaveUp: '' }),
  status: 'computing',
  details: { ...(metric.alias === undefined ? {} : { metric_key_alias: metric.alias }), message: 'a judge is asked' },
});

function problemOf(err: unknown): { problem: string } {
  if (err instanceof RequestInvalid) return { problem: err.items.map(({ msg }) => msg).join('; ') };
  throw err;
}
