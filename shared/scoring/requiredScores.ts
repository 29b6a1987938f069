import type { Score, ScoreValue } from '../metrics/metric.ts';
import type { RunRef } from '../projects/runs.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { valueKey } from './metricValue.ts';
import type { RecordToScore } from './recordToScore.ts';
import type { HeldValue } from './rollUps.ts';
import type { Scoring, ValueWriter, WriterDeps } from './valueWriter.ts';

/** Scores that a pass keeps for those who may ask for them. */
const MAX_KEPT = 5_000;

/**
 * Computes each value of a metric that others require once in a pass. A stored value of the same version of the metric that is not older than the
 * record is not computed again.
 */
export class RequiredScores {
  readonly #deps: Pick<WriterDeps, 'rollUpReads' | 'untilStored'>;
  readonly #run: RunRef;
  readonly #names = new Set<string>();
  readonly #kept = new Map<string, Promise<Score>>();
  readonly #standing = new Map<string, HeldValue>();

  constructor(deps: Pick<WriterDeps, 'rollUpReads' | 'untilStored'>, run: RunRef) {
    this.#deps = deps;
    this.#run = run;
  }

  /** Looks up what stands of what these require. */
  async look(work: readonly Scoring[], signal: AbortSignal): Promise<void> {
    const wanting = work.filter(({ metric }) => metric.requires);
    if (wanting.length === 0) return;
    const names = new Set(wanting.flatMap(({ metric }) => namesOf(metric)));
    for (const name of names) this.#names.add(name);
    const ids = [...new Set(wanting.map(({ target }) => target.id))];
    const found = await this.#deps.untilStored(() => this.#deps.rollUpReads.ownValues(this.#run, ids, [...names]), signal);
    for (const one of found) keep(this.#standing, valueKey(one.recordId, one.metric), one);
  }

  /** The score of a metric that is to be computed for its own sake. */
  own(target: RecordToScore, metric: EnabledMetric, compute: () => Promise<Score>): Promise<Score> {
    return this.#names.has(metric.name) ? this.#once(target, metric, compute) : compute();
  }

  /** The score of a metric that `work` requires. It is stored as the value of that metric. */
  async required(
    { target, version }: Scoring,
    metric: EnabledMetric,
    compute: () => Promise<Score>,
    writer: Pick<ValueWriter, 'add'>,
  ): Promise<Score> {
    const standing = this.#standing.get(valueKey(target.id, metric.name));
    const isOfMetric = metric.version === undefined || standing?.scorerVersion === metric.version;
    if (standing?.value != null && isOfMetric && standing.version >= target.version) return { value: standing.value };
    return this.#once(target, metric, async () => {
      const score = await compute();
      if (!('notComputed' in score)) await writer.add({ target, metric, version }, score);
      return score;
    });
  }

  #once(target: RecordToScore, metric: EnabledMetric, compute: () => Promise<Score>): Promise<Score> {
    const key = `${target.version}/${metric.version ?? ''}/${valueKey(target.id, metric.name)}`;
    const known = this.#kept.get(key);
    if (known) return known;
    const score = compute();
    keep(this.#kept, key, score);
    // A score that failed is computed again on the next request.
    score.catch(() => this.#kept.delete(key));
    return score;
  }
}

/** Keeps the newest. */
function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
}

const namesOf = ({ requires = [] }: Pick<EnabledMetric, 'requires'>): string[] =>
  requires.flatMap(({ metric }) => [metric.name, ...namesOf(metric)]);

/**
 * The values that a metric requires, by the names that it has for them; null where one does not apply. Where one could not be computed there is none
 * of this metric either, for the same reason.
 */
export async function requiredScores(
  requires: NonNullable<EnabledMetric['requires']>,
  scoreOf: (metric: EnabledMetric) => Promise<Score>,
): Promise<{ scores: Record<string, ScoreValue | null> } | { lacking: Score }> {
  const scores: [string, ScoreValue | null][] = [];
  for (const { name, metric } of requires) {
    const score = await scoreOf(metric);
    const of = (reason: string) => `it requires ${JSON.stringify(name)}, which has no value: ${reason}`;
    if ('error' in score) return { lacking: { error: of(score.error) } };
    if ('gaveUp' in score) {
      const { usage: _, ...failed } = score;
      return { lacking: { ...failed, gaveUp: of(score.gaveUp) } };
    }
    scores.push([name, 'value' in score ? score.value : null]);
  }
  return { scores: Object.fromEntries(scores) };
}
