import { ExactNumber, isExact } from './exactNumber.ts';
import { isHeld, jsonWithBigInts, parseNumbers } from './longNumbers.ts';
import { systemMetrics } from './systemCounts.ts';

/** One value of a metric. */
export type ScoreValue = number | boolean | string | (number | boolean | string | null)[];

/** One score of a metric: its value, or why there is none. */
export interface ReadScore {
  /** Null where the metric does not apply, and where it failed. */
  value: ScoreValue | null;
  explanation?: string;
  metadata?: Record<string, unknown>;
  /** Why the metric failed. */
  error?: string;
}

/** A part of a result: a score under its name, or what is wrong with a part that has no name to stand under. */
export type ScorePart = ({ name: string } & ReadScore) | { problem: string };

/** The numbers that a metric may have, both ends included. */
export interface ScoreRange {
  min: number;
  max: number;
}

/** Names that one result may give: each is a column. */
const MAX_NAMES = 100;
const MAX_NAME_CHARACTERS = 255;
/** Characters of a value that a message shows. */
const MAX_SHOWN = 80;

/** The columns that the service fills itself. */
const measured: ReadonlySet<string> = new Set([...systemMetrics, 'num_spans_without_cost']);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CONTROL = /\p{Cc}/u;

/** Why a metric cannot have this name; undefined where it can. */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return `the name of a metric is a text, not ${textOfValue(name)}`;
  const said = `${JSON.stringify(name.slice(0, MAX_SHOWN))} is no name for a metric: `;
  if (name.trim() !== name || name === '') return `${said}it is empty or has blanks at an end`;
  if (name.length > MAX_NAME_CHARACTERS) return `${said}it has more than ${MAX_NAME_CHARACTERS} characters`;
  if (CONTROL.test(name) || !name.isWellFormed()) return `${said}it has control characters or half a character`;
  if (name === '__proto__') return `${said}it is reserved`;
  if (measured.has(name)) return `${said}the service measures that itself`;
  if (UUID.test(name)) return `${said}it is an id`;
  return undefined;
}

/** The keys that say a score; the first of them that has a value is taken, the others go to the metadata. */
const valueKeys = ['score', 'value', 'label', 'pass'] as const;
const nameKeys = ['name', 'key'] as const;
const explanationKeys = ['explanation', 'comment', 'reason', 'reasoning', 'rationale', 'justification'] as const;
/** Keys that evaluation libraries put beside a score; they go to the metadata. */
const otherKeys = [
  ...['evaluator_info', 'evaluatorInfo', 'feedback_config', 'feedbackConfig', 'source_run_id', 'sourceRunId'],
  ...['target_run_id', 'targetRunId', 'correction', 'info', 'kind', 'direction', 'source', 'success', 'threshold'],
  ...['annotator_kind', 'annotatorKind', 'data_type', 'dataType', 'type'],
];
const knownKeys: ReadonlySet<string> = new Set<string>([
  ...valueKeys,
  ...nameKeys,
  ...explanationKeys,
  ...otherKeys,
  'metadata',
  'error',
]);

type Fields = Record<string, unknown>;

/**
 * The scores that the result of a metric holds: a value, a score with an explanation, a pair of a score and its metadata or explanation, a map of these
 * by name, or a list of scores with names. A part that cannot be read is a problem and costs no other part.
 * @param metric the name of what has none of its own
 */
export function readScores(metric: string, given: unknown): ScorePart[] {
  const result = unwrapped(given);
  if (Array.isArray(result)) return readList(metric, result);
  return isFields(result) ? readFields(metric, result) : [scoreOf(metric, result)];
}

/**
 * Reads what was logged under the name of a metric, where it says a score beyond doubt: it has a key `score`, or is a list of such or a pair of a value and its
 * metadata. Undefined for any other value, which is the value of the metric as it is.
 * @param takesMaps whether a map of values is read as one metric for each key
 */
export function loggedScores(metric: string, given: unknown, takesMaps = false): ({ name: string } & ReadScore)[] | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  if (takesMaps ? !areScores(given) : !saysScore(given)) return undefined;
  const parts = readScores(metric, given);
  const scores = parts.filter((part) => 'name' in part);
  return scores.length < parts.length || hasTwice(scores) ? undefined : scores;
}

/** Returns true when a map or list is one of scores, and no other object that somebody has logged. */
function areScores(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return true;
  if (Array.isArray(given)) return isPair(given) || given.every(areScores);
  return (
    'score' in given ||
    Object.values(given).every((one) => typeof one !== 'object' || one === null || (isFields(one) && 'score' in one))
  );
}

const saysScore = (given: object): boolean =>
  Array.isArray(given) ? isClearPair(given) || (given.length > 0 && given.every(isScore)) : isScore(given);

const isScore = (given: unknown): boolean =>
  isFields(given) && 'score' in given && Object.keys(given).every((key) => knownKeys.has(key));

/** A number and an object whose keys are words: other pairs are lists of what is in them. */
const isClearPair = (list: readonly unknown[]): boolean => {
  const keys = isPair(list) && isNumeric(list[0]) ? Object.keys(list[1] as Fields) : [];
  return keys.length > 0 && keys.every((key) => /^[a-z_][\w.-]+$/i.test(key));
};

const hasTwice = (scores: readonly { name: string }[]): boolean => new Set(scores.map(({ name }) => name)).size < scores.length;

/** A score as it is logged under its name: the value alone where there is nothing beside it. */
export function scoreToWire({ value, explanation, metadata, error }: ReadScore): unknown {
  if (value !== null && explanation === undefined && metadata === undefined && error === undefined) return value;
  return { score: value, explanation, metadata, error };
}

/**
 * The metrics of a row, span or trace, each under its name with what explains it: maps, lists and pairs of scores become the scores that they hold.
 * Other objects, and what the service measures itself, stay as they are.
 */
export function flatMetrics(
  metrics: Readonly<Record<string, unknown>>,
  rangeOf: (name: string) => ScoreRange | undefined = () => undefined,
): Record<string, unknown> {
  const byName = new ScoresByName({ rangeOf, isTaken: (name) => Object.hasOwn(metrics, name) });
  const others: [string, unknown][] = [];
  for (const [name, value] of Object.entries(metrics)) {
    const isOther = measured.has(name) || value === null || value === undefined;
    const scores = isOther
      ? undefined
      : (loggedScores(name, value, true) ?? (isFields(value) || Array.isArray(value) ? undefined : [scoreOf(name, value)]));
    if (scores) byName.add(name, scores);
    else others.push([name, value]);
  }
  return Object.fromEntries([...others, ...[...byName.scores].map(([name, score]) => [name, scoreToWire(score)] as const)]);
}

/** The scores of a record by their names, as metrics give them one after the other. A name belongs to the metric that gave it first. */
export class ScoresByName {
  readonly scores = new Map<string, ReadScore>();
  private readonly rules: { rangeOf(name: string): ScoreRange | undefined; isTaken?(name: string): boolean };

  /** @param rules `isTaken`: names that are those of other metrics */
  constructor(rules: { rangeOf(name: string): ScoreRange | undefined; isTaken?(name: string): boolean }) {
    this.rules = rules;
  }

  /** Adds what a metric gave; what of it has no place is an error of the metric. @returns the errors, for people to read */
  add(metric: string, parts: readonly ScorePart[]): string[] {
    const own = new Set<string>();
    const problems: string[] = [];
    for (const part of parts) {
      const problem = 'problem' in part ? part.problem : this.problemOf(metric, part.name, own);
      if (problem !== undefined) problems.push(problem);
      if (problem !== undefined || 'problem' in part) continue;
      const { name, ...score } = part;
      own.add(name);
      this.scores.set(name, this.inRange(name, score));
    }
    if (problems.length > 0) this.scores.set(metric, { ...this.scores.get(metric), value: null, error: problems.join('; ') });
    return [...own]
      .flatMap((name) => {
        const error = this.scores.get(name)?.error;
        return error === undefined || name === metric ? [] : [`${JSON.stringify(name)}: ${error}`];
      })
      .concat(this.scores.get(metric)?.error ?? []);
  }

  private problemOf(metric: string, name: string, own: ReadonlySet<string>): string | undefined {
    if (own.has(name)) return `it gave ${JSON.stringify(name)} twice`;
    if (own.size >= MAX_NAMES) return `it gave more than ${MAX_NAMES} names`;
    if (name === metric) return undefined;
    const problem = nameProblem(name);
    if (problem !== undefined) return problem;
    return this.scores.has(name) || this.rules.isTaken?.(name)
      ? `it gave a value of ${JSON.stringify(name)}, which is the name of another metric`
      : undefined;
  }

  private inRange(name: string, score: ReadScore): ReadScore {
    const range = this.rules.rangeOf(name);
    const wrong = range && [score.value].flat().find((one) => typeof one === 'number' && !(one >= range.min && one <= range.max));
    if (wrong === undefined || !range) return score;
    return { ...score, value: null, error: `${wrong} is outside of its range, ${range.min} to ${range.max}` };
  }
}

function readList(metric: string, list: readonly unknown[]): ScorePart[] {
  if (isPair(list)) return [{ ...scoreOf(metric, list[0]), metadata: plain(list[1]) as Fields }];
  const texts = list.slice(1);
  // As some libraries have it: score and explanation, or score, label and explanation.
  if (isNumeric(list[0]) && texts.length > 0 && texts.length < 3 && texts.some(isText) && texts.every(isTextOrNull)) {
    const [label, explanation] = texts.length === 2 ? texts : [null, texts[0]];
    const beside = { ...(label != null && { metadata: { label } }), ...(isText(explanation) && { explanation }) };
    return [{ ...scoreOf(metric, list[0]), ...beside }];
  }
  const parts = list.map(unwrapped);
  if (!parts.some((part) => typeof part === 'object' && part !== null)) return [scoreOf(metric, parts)];
  return parts.flatMap((part): ScorePart[] => {
    if (isFields(part)) return readFields(metric, part);
    if (Array.isArray(part) && isPair(part)) return readList(metric, part);
    return [{ problem: `a list of scores holds ${textOfValue(part)}, which has no name` }];
  });
}

function readFields(metric: string, fields: Fields): ScorePart[] {
  const keys = Object.keys(fields);
  if (keys.length === 0) return [{ problem: `it gave ${textOfValue(fields)}, in which there is nothing to read` }];
  if (keys.length === 1 && Array.isArray(fields.results)) return readList(metric, fields.results);
  const isKnown = keys.every((key) => knownKeys.has(key));
  if ('score' in fields || (isKnown && [...valueKeys, 'error'].some((key) => key in fields))) return [namedScore(metric, fields)];
  if (nameKeys.some((key) => isText(fields[key])))
    return [{ problem: `${textOfValue(fields)} has a name and no score: the value is the key "score"` }];
  return keys.map((key): ScorePart => {
    const member = unwrapped(fields[key]);
    if (isFields(member) && 'score' in member) {
      const score = namedScore(key, member);
      return 'name' in score && score.name !== key
        ? { problem: `${JSON.stringify(key)} holds the score of ${JSON.stringify(score.name)}` }
        : score;
    }
    return typeof member === 'object' && member !== null && !isPlainList(member)
      ? { name: key, value: null, error: unreadable(member) }
      : scoreOf(key, member);
  });
}

function namedScore(metric: string, fields: Fields): ScorePart {
  const unknown = Object.keys(fields).filter((key) => !knownKeys.has(key));
  const [name = metric, other = name] = nameKeys.flatMap((key) => fields[key] ?? []);
  if (typeof name !== 'string' || name !== other)
    return {
      problem: `the name of a score is one text, not ${textOfValue(fields.name ?? fields.key)}${name === other ? '' : ` and ${textOfValue(other)}`}`,
    };
  const given = valueKeys.filter((key) => fields[key] !== undefined && fields[key] !== null);
  const [taken, ...left] = given;
  const score = scoreOf(name, taken === undefined ? null : fields[taken]);
  if (unknown.length > 0) {
    const listed = unknown.map((key) => JSON.stringify(key)).join(' and ');
    const error = `${listed} beside the score of ${textOfValue(fields)} is not known: there may be name or key, ${explanationKeys.join(', ')}, label, metadata and error`;
    return { name, value: null, error };
  }
  const explanations = explanationKeys.flatMap((key) => (fields[key] == null ? [] : [asText(fields[key])]));
  const { metadata = null } = fields;
  const rationale = isFields(metadata) && isText(metadata.rationale) ? [metadata.rationale] : [];
  const explanation = [...explanations, ...(explanations.length === 0 ? rationale : [])].join('\n');
  const beside = Object.fromEntries([...left, ...otherKeys].flatMap((key) => (fields[key] == null ? [] : [[key, fields[key]]])));
  const all = { ...(isFields(metadata) ? metadata : metadata === null ? {} : { metadata }), ...beside };
  return {
    ...score,
    ...(explanation !== '' && { explanation }),
    ...(Object.keys(all).length > 0 && { metadata: plain(all) as Fields }),
    ...(fields.error != null && fields.error !== '' && { value: null, error: asText(fields.error) }),
  };
}

/** The score that a single value is. */
function scoreOf(name: string, given: unknown): { name: string } & ReadScore {
  const value = unwrapped(given);
  if (value === undefined || value === null) return { name, value: null };
  if (typeof value === 'number' && !Number.isFinite(value))
    return { name, value: null, error: `it gave ${value}, which is no number` };
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return { name, value };
  if (isPlainList(value)) {
    const odd = value.find((one) => typeof one === 'number' && !Number.isFinite(one));
    return odd === undefined ? { name, value } : { name, value: null, error: `it gave a list with ${odd}, which is no number` };
  }
  return { name, value: null, error: unreadable(value) };
}

/** A list of values that is one value, such as the labels of a text. */
const isPlainList = (value: unknown): value is (number | boolean | string | null)[] =>
  Array.isArray(value) && value.every((one) => one === null || ['number', 'boolean', 'string'].includes(typeof one));

/** A value and its metadata; not two scores. */
const isPair = (list: readonly unknown[]): boolean =>
  list.length === 2 &&
  (isNumeric(list[0]) || isTextOrNull(list[0])) &&
  isFields(list[1]) &&
  !('score' in list[1] && nameKeys.some((key) => key in (list[1] as Fields)));

const isNumeric = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean';
const isText = (value: unknown): value is string => typeof value === 'string';
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Maps as objects, sets as lists, exact numbers as doubles, large integers as numbers where these are exact. */
function unwrapped(value: unknown): unknown {
  if (isExact(value)) return Number(value);
  if (Array.isArray(value) && value.some(isExact)) return value.map((one) => (isExact(one) ? Number(one) : one));
  if (value instanceof Map && [...value.keys()].every(isText)) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** As JSON has it. */
function plain(value: unknown): unknown {
  try {
    return parseNumbers(jsonWithBigInts(value), (source, double) => (isHeld(source, double) ? double : new ExactNumber(source)));
  } catch {
    return { metadata: String(value) };
  }
}

const asText = (value: unknown): string =>
  isText(value) ? value : value instanceof Error ? value.message : JSON.stringify(plain(value));

const unreadable = (value: unknown): string => `it gave ${textOfValue(value)}, which is no score`;

function textOfValue(value: unknown): string {
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return `a ${typeof value}`;
  const className = isFields(value) ? (Object.getPrototypeOf(value)?.constructor?.name ?? 'Object') : 'Object';
  if (isFields(value) && (Symbol.iterator in value || Symbol.asyncIterator in value) && className === '') return 'a generator';
  if (value instanceof Error) return `the error ${JSON.stringify(value.message)}`;
  if (className !== 'Object') return `a ${className}`;
  const text = JSON.stringify(plain(value)) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
