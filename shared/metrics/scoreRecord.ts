import { inOnePiece } from '../concurrency/pieces.ts';
import {
  type JudgeUsage,
  type Metric,
  NotNow,
  type Score,
  type ScoreContext,
  type ScoredRecord,
  type ScoreValue,
} from './metric.ts';

/**
 * Scores one record with one metric. Whatever a metric does, only this value is touched: what it throws becomes `{ error }`, and a value that
 * cannot be stored (not finite) does too. Only an abort of `context.signal`, and a `NotNow`, are thrown on. Metrics of code share the event loop's time.
 */
export async function scoreRecord(metric: Metric, record: ScoredRecord, context: ScoreContext): Promise<Score> {
  context.signal.throwIfAborted();
  try {
    const begin = () => metric.score(record, context);
    const score = await (metric.needs === 'code' ? inOnePiece(begin, context.signal) : begin());
    if ('value' in score && typeof score.value === 'number' && !Number.isFinite(score.value))
      return { error: `the metric gave ${score.value}, which is no number` };
    return score;
  } catch (err) {
    context.signal.throwIfAborted();
    if (err instanceof NotNow) throw err;
    return { error: `the metric failed: ${err instanceof Error ? err.message : String(err)}` };
  }
}

/**
 * The same metric asked of `judges` judges at once, with one score made of their values: the average of numbers, the majority of anything else
 * (a tie of a yes/no question is no), which each label or document that is judged by itself has its own of. Judges that fail are left out; when all fail, the first reason is given.
 */
export function withJudges(metric: Metric, judges: number): Metric {
  if (metric.needs === 'code' || judges <= 1) return metric;
  return {
    ...metric,
    score: async (record, context) =>
      combine(
        await Promise.all(
          Array.from({ length: judges }, (_, judge) =>
            metric.score(record, { ...context, complete: (request) => context.complete({ ...request, judge }) }),
          ),
        ),
        metric.outputType,
      ),
  };
}

/** @param outputType says which lists are judged member by member */
export function combine(scores: readonly Score[], outputType?: Metric['outputType']): Score {
  const usage = totalUsage(scores.flatMap((score) => ('usage' in score && score.usage ? [score.usage] : [])));
  const values = scores.filter((score) => 'value' in score);
  const [first] = values;
  if (!first) {
    const other = scores[0] ?? { gaveUp: 'no judge was asked' };
    return ('error' in other || 'gaveUp' in other) && usage ? { ...other, usage } : other;
  }
  const numbers = values.flatMap(({ value }) => (typeof value === 'number' || typeof value === 'boolean' ? [Number(value)] : []));
  const average = numbers.length === values.length ? numbers.reduce((sum, one) => sum + one, 0) / numbers.length : null;
  const value =
    typeof first.value === 'number' && average !== null
      ? average
      : typeof first.value === 'boolean' && average !== null
        ? average > 0.5
        : majority(
            values.map((score) => score.value),
            outputType,
          );
  // The explanation of a judge that agrees with the outcome, or of the one nearest to it.
  const speaker = [...values].sort((a, b) => distance(a.value, value) - distance(b.value, value))[0] ?? first;
  return {
    value,
    ...(speaker.explanation === undefined ? {} : { explanation: speaker.explanation }),
    metadata: {
      ...speaker.metadata,
      judges: values.map((score) => score.value),
      ...judgeModels(values),
      failed_judges: scores.length - values.length,
      ...(average === null ? {} : { average }),
    },
    ...(usage ? { usage } : {}),
  };
}

/** The model that gave each value, where they differ. */
function judgeModels(values: readonly (Score & { usage?: JudgeUsage })[]): { judge_models: (string | null)[] } | undefined {
  const models = values.map(({ usage }) => usage?.model ?? null);
  return new Set(models).size > 1 ? { judge_models: models } : undefined;
}

const distance = (a: ScoreValue, b: ScoreValue): number =>
  typeof a === 'number' && typeof b === 'number' ? Math.abs(a - b) : JSON.stringify(a) === JSON.stringify(b) ? 0 : 1;

/** The most frequent value, the first one given among equals; of lists whose members are judged by themselves that of each member. */
function majority(values: readonly ScoreValue[], outputType: Metric['outputType'] | undefined): ScoreValue {
  const isMost = (times: number): boolean => times > values.length / 2;
  if (outputType === 'retrieved_chunk_list_boolean') {
    const [first = [], ...others] = values as readonly boolean[][];
    if (others.every(({ length }) => length === first.length))
      return first.map((_, at) => isMost((values as readonly boolean[][]).filter((flags) => flags[at]).length));
  }
  if (outputType === 'boolean_multilabel') {
    const lists = values as readonly string[][];
    return [...new Set(lists.flat())].filter((label) => isMost(lists.filter((list) => list.includes(label)).length)).sort();
  }
  const votes = Map.groupBy(values, (value) => JSON.stringify(value));
  const [most] = [...votes.values()].sort((a, b) => b.length - a.length);
  return (most as ScoreValue[])[0] as ScoreValue;
}

export function totalUsage(usages: readonly JudgeUsage[]): JudgeUsage | undefined {
  const [first] = usages;
  if (!first) return undefined;
  const adjustments = [...new Set(usages.flatMap((one) => one.adjustments ?? []))];
  return {
    calls: usages.reduce((sum, one) => sum + one.calls, 0),
    model: [...new Set(usages.map(({ model }) => model))].join(', '),
    inputTokens: sumOf(usages.map((one) => one.inputTokens)),
    outputTokens: sumOf(usages.map((one) => one.outputTokens)),
    costUsd: sumOf(usages.map((one) => one.costUsd)),
    ...(adjustments.length > 0 && { adjustments }),
  };
}

/** Unknown where a part of it is. */
const sumOf = (values: readonly (number | null)[]): number | null =>
  values.reduce((sum: number | null, value) => (sum === null || value === null ? null : sum + value), 0);
