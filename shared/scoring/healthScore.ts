import { parsedOrNothing } from '../json/parseJson.ts';
import { isExact } from '../wire/exactNumber.ts';
import type { HealthScoreType } from '../wire/metricsTesting.ts';
import type { OutputType } from '../wire/scorers.ts';

/** How well the values of a metric agree with what people say they should be. */
export interface HealthScore {
  type: HealthScoreType | null;
  /** F1 in [0, 1], higher is better; errors are lower when better. Null without a pair, and for free text. */
  value: number | null;
  secondary: Record<string, number | null>;
  /** Pairs that were compared. */
  compared: number;
  /** Pairs of which one cannot be read as the output type. */
  unreadable: number;
}

/** A value of the metric and its ground truth, as they are stored: any JSON, or the text of it. */
export type Pair = readonly [score: unknown, truth: unknown];

/** Compares by what the metric gives: classes, labels or numbers. */
export function healthScore(outputType: OutputType, pairs: readonly Pair[]): HealthScore {
  switch (outputType) {
    case 'boolean':
      return compare(pairs, asBoolean, macroF1);
    case 'categorical':
      return compare(pairs, asCategory, macroF1);
    case 'multilabel':
    case 'boolean_multilabel':
      return compare(pairs, asLabels, microF1);
    case 'retrieved_chunk_list_boolean':
      return compare(pairs, asFlags, (read) => microF1(read.map(onlyTrue)), sameLength);
    case 'percentage':
      return compare(pairs, asFraction, (read) => errors(read, 'mse'));
    case 'count':
    case 'discrete':
      return compare(pairs, asNumber, (read) => errors(read, 'mae'));
    case 'freeform':
      return compare(pairs, asCategory, () => ({ type: null, value: null, secondary: {} }));
    default:
      return outputType satisfies never;
  }
}

type Score = Pick<HealthScore, 'type' | 'value' | 'secondary'>;

/** `read` gives undefined for what is no value of the type. */
function compare<T>(
  pairs: readonly Pair[],
  read: (value: unknown) => T | undefined,
  score: (read: readonly (readonly [score: T, truth: T])[]) => Score,
  comparable: (score: T, truth: T) => boolean = () => true,
): HealthScore {
  const readable = pairs.flatMap((pair): [T, T][] => {
    const [score, truth] = pair.map(read);
    return score !== undefined && truth !== undefined && comparable(score, truth) ? [[score, truth]] : [];
  });
  const { type, value, secondary } = score(readable);
  const none = readable.length === 0;
  return {
    type,
    value: none ? null : value,
    secondary: none ? Object.fromEntries(Object.keys(secondary).map((name) => [name, null])) : secondary,
    compared: readable.length,
    unreadable: pairs.length - readable.length,
  };
}

/** The mean over the classes that come among scores or truths, each counting the same however rare it is. */
function macroF1(pairs: readonly (readonly [string, string])[]): Score {
  const ofClass = [...new Set(pairs.flat())].map((one) =>
    agreement(pairs.map(([score, truth]) => ({ said: score === one, is: truth === one }))),
  );
  return {
    type: 'macro_f1',
    value: mean(ofClass.map(({ f1 }) => f1)),
    secondary: {
      accuracy: mean(pairs.map(([score, truth]) => Number(score === truth))),
      macro_precision: mean(ofClass.map(({ precision }) => precision)),
      macro_recall: mean(ofClass.map(({ recall }) => recall)),
    },
  };
}

/** Over all labels of all rows together, each label of a row counting the same. */
function microF1(pairs: readonly (readonly [ReadonlySet<string>, ReadonlySet<string>])[]): Score {
  const cells = pairs.flatMap(([score, truth]) =>
    [...new Set([...score, ...truth])].map((label) => ({ said: score.has(label), is: truth.has(label) })),
  );
  const { f1, precision, recall } = agreement(cells);
  return {
    type: 'micro_f1',
    value: f1,
    secondary: {
      exact_match: mean(
        pairs.map(([score, truth]) => Number(score.size === truth.size && [...score].every((one) => truth.has(one)))),
      ),
      micro_precision: precision,
      micro_recall: recall,
    },
  };
}

/** Where nothing is said and nothing is so, both agree: 1. */
function agreement(cells: readonly { said: boolean; is: boolean }[]): { f1: number; precision: number; recall: number } {
  const both = cells.filter(({ said, is }) => said && is).length;
  const said = cells.filter((cell) => cell.said).length;
  const is = cells.filter((cell) => cell.is).length;
  const share = (part: number, of: number, otherwise: number) => (of === 0 ? otherwise : part / of);
  return {
    f1: share(2 * both, said + is, 1),
    precision: share(both, said, is === 0 ? 1 : 0),
    recall: share(both, is, said === 0 ? 1 : 0),
  };
}

function errors(pairs: readonly (readonly [number, number])[], type: 'mse' | 'mae'): Score {
  const mse = mean(pairs.map(([score, truth]) => (score - truth) ** 2));
  const mae = mean(pairs.map(([score, truth]) => Math.abs(score - truth)));
  const other = type === 'mse' ? { mae } : { mse };
  return { type, value: type === 'mse' ? mse : mae, secondary: { ...other, rmse: Math.sqrt(mse) } };
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

const truths: ReadonlyMap<string, string> = new Map([
  ...['true', '1', 'yes'].map((text) => [text, 'true'] as const),
  ...['false', '0', 'no'].map((text) => [text, 'false'] as const),
]);
const asBoolean = (value: unknown): string | undefined =>
  typeof value === 'object' && !isExact(value) ? undefined : truths.get(String(value).trim().toLowerCase());

const asCategory = (value: unknown): string | undefined =>
  typeof value === 'object' && !isExact(value) ? undefined : String(value).trim() || undefined;

function asNumber(value: unknown): number | undefined {
  if (typeof value === 'boolean') return Number(value);
  const number = isExact(value) || (typeof value === 'string' && value.trim() !== '') ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** `85%` is 0.85. */
function asFraction(value: unknown): number | undefined {
  const percent = typeof value === 'string' ? /^(.*)%\s*$/.exec(value)?.[1] : undefined;
  const number = asNumber(percent ?? value);
  return percent === undefined || number === undefined ? number : number / 100;
}

/** A list, as JSON text as well, or labels between commas. */
function asLabels(value: unknown): Set<string> | undefined {
  const list = asList(value) ?? (typeof value === 'string' && !/^\s*[[{]/.test(value) ? value.split(',') : undefined);
  const labels = list?.map(asCategory);
  return labels?.every((label) => label !== undefined) ? new Set(labels) : undefined;
}

function asFlags(value: unknown): string[] | undefined {
  const flags = asList(value)?.map(asBoolean);
  return flags?.every((flag) => flag !== undefined) ? flags : undefined;
}

function asList(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string' || !/^\s*\[/.test(value)) return undefined;
  return parsedOrNothing(value) as unknown[] | undefined;
}

const sameLength = (score: readonly string[], truth: readonly string[]): boolean => score.length === truth.length;

/** Places at which the chunk list says true. */
const onlyTrue = ([score, truth]: readonly [readonly string[], readonly string[]]) => [placesOf(score), placesOf(truth)] as const;
const placesOf = (flags: readonly string[]): Set<string> =>
  new Set(flags.flatMap((flag, index) => (flag === 'true' ? [String(index)] : [])));
