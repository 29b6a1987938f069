import { z } from 'zod';
import { isObject } from '../../wire/isObject.ts';
import type { ScoreValue } from '../metric.ts';
import { namedScales, type Scale } from './namedScales.ts';

/** The form of a judge's answer, and how the answer becomes a value. */
export interface AnswerForm {
  /** The member of the judge's JSON object that holds the verdict. */
  field: string;
  /** Another name for that member, which judges use that do not keep to `field`. */
  otherField?: string;
  /** The member that holds the reasoning; `explanation` where it is absent. */
  explanationField?: string;
  /** For the prompt: what the verdict may be. */
  wanted: string;
  /** JSON Schema of the verdict. */
  schema: Record<string, unknown>;
  /** True of a number: the prompt says that its scale is the one that counts. */
  hasScale?: true;
  /** True where few texts are a verdict, so that one that stands alone is no refusal and no introduction. */
  isClosed?: boolean;
  /** The value, or undefined when the verdict is none of those wanted. */
  read(verdict: unknown): ScoreValue | undefined;
}

const DECIMAL = String.raw`[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`;
const NUMBER = new RegExp(`^${DECIMAL}$`);
const PERCENT = new RegExp(`^(${DECIMAL})\\s*%$`);
const OUT_OF = new RegExp(`^(${DECIMAL})\\s*(?:/|out of|of)\\s*(${DECIMAL})$`, 'i');

/** A number as a judge may write it: bare, in percent, or out of the most that there is. */
type Rated = { number: number } | { percent: number } | { number: number; outOf: number };

function ratedOf(verdict: unknown): Rated | undefined {
  if (typeof verdict === 'number') return { number: verdict };
  if (typeof verdict !== 'string') return undefined;
  const text = verdict.trim();
  if (NUMBER.test(text)) return { number: Number(text) };
  const [, percent] = PERCENT.exec(text) ?? [];
  if (percent !== undefined) return { percent: Number(percent) };
  const [, number, outOf] = OUT_OF.exec(text) ?? [];
  return number === undefined ? undefined : { number: Number(number), outOf: Number(outOf) };
}

const within = (value: number, min: number, max: number): number | undefined =>
  value >= min && value <= max ? value : undefined;

/** A fraction in [0, 1] of a verdict that says by itself what is the most; undefined of one that does not. */
function shareIn(rated: Rated): number | undefined {
  if ('percent' in rated) return within(rated.percent, 0, 100) === undefined ? undefined : rated.percent / 100;
  return 'outOf' in rated && rated.outOf > 0 ? within(rated.number / rated.outOf, 0, 1) : undefined;
}

/**
 * A judgement between 0 and 100, kept as a fraction in [0, 1]. Judges rate whole numbers more steadily than fractions. A number that is on another
 * scale as well is refused: whether 0.8 means 80 % or 0.8 % cannot be known, nor what 4 means where the question names 1 to 5.
 * @param others scales that the question names beside this one
 */
const ratingBeside = (others: readonly Scale[]): AnswerForm => ({
  field: 'rating',
  wanted: 'a whole number from 0 to 100',
  schema: { type: 'integer', minimum: 0, maximum: 100 },
  hasScale: true,
  isClosed: true,
  read(verdict) {
    const rated = ratedOf(verdict);
    if (!rated || 'percent' in rated || 'outOf' in rated) return rated && shareIn(rated);
    const { number } = rated;
    const isAmbiguous =
      (number > 0 && number < 1) ||
      others.some(({ min, max }) => within(number, min, max) !== undefined && (number !== 0 || min < 0));
    return isAmbiguous || within(number, 0, 100) === undefined ? undefined : number / 100;
  },
});

export const rating: AnswerForm = ratingBeside([]);

/** A judgement between 0 and 1, where the question itself names that scale. */
const share: AnswerForm = {
  field: 'rating',
  wanted: 'a number from 0 to 1',
  schema: { type: 'number', minimum: 0, maximum: 1 },
  hasScale: true,
  isClosed: true,
  read(verdict) {
    const rated = ratedOf(verdict);
    return rated && ('percent' in rated || 'outOf' in rated ? shareIn(rated) : within(rated.number, 0, 1));
  },
};

/** A judgement between nothing and everything, asked on the scale that the question names: 0 to 1, else 0 to 100. */
export function ratingFor(question: string): AnswerForm {
  const others = namedScales(question).filter(({ min, max }) => max !== 100 || min < 0);
  const isShare = others.some(({ min, max }) => min === 0 && max === 1);
  return isShare && others.length === namedScales(question).length ? share : ratingBeside(others);
}

/** @param passes whether the question speaks of what passes and what fails: without it, to pass may be yes or no */
const verdictOf = (passes: boolean): AnswerForm => {
  const yes: readonly string[] = ['true', 'yes', 'y', '1', ...(passes ? ['pass', 'passed'] : [])];
  const no: readonly string[] = ['false', 'no', 'n', '0', ...(passes ? ['fail', 'failed'] : [])];
  return {
    field: 'verdict',
    wanted: 'true or false',
    schema: { type: 'boolean' },
    isClosed: true,
    read(verdict) {
      if (typeof verdict === 'boolean') return verdict;
      if (typeof verdict !== 'string' && typeof verdict !== 'number') return undefined;
      const word = String(verdict).trim().toLowerCase();
      return yes.includes(word) ? true : no.includes(word) ? false : undefined;
    },
  };
};

export const yesNo: AnswerForm = verdictOf(false);

export const verdictFor = (question: string): AnswerForm => verdictOf(/\bpass/i.test(question) && /\bfail/i.test(question));

/** A grade in its range, or else on the one scale that the question names. */
export function gradeFor(question: string, range: Scale | null): AnswerForm {
  const [only, ...others] = namedScales(question);
  return wholeNumber(range ?? (others.length === 0 ? only : undefined));
}

/** A whole number counted or graded by the judge, in a range where there is one, both ends included. */
export function wholeNumber(range: Partial<Scale> = {}): AnswerForm {
  const { min, max } = range;
  const limits =
    min === undefined
      ? max === undefined
        ? ''
        : ` of at most ${max}`
      : max === undefined
        ? `, ${min} or more`
        : ` from ${min} to ${max}`;
  return {
    field: 'number',
    wanted: `a whole number${limits}`,
    schema: { type: 'integer', ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) },
    hasScale: true,
    isClosed: true,
    read(verdict) {
      const rated = ratedOf(verdict);
      if (!rated || 'percent' in rated || !Number.isInteger(rated.number)) return undefined;
      // 4/5 is a grade on a scale up to 5, and on any other scale not known.
      if ('outOf' in rated && rated.outOf !== max) return undefined;
      return within(rated.number, min ?? -Infinity, max ?? Infinity);
    },
  };
}

export const freeText: AnswerForm = {
  field: 'answer',
  wanted: 'a short text',
  schema: { type: 'string' },
  read: (verdict) => z.string().min(1).safeParse(verdict).data,
};

/** One of `labels`, or any label when the list is empty. */
export function oneOf(labels: readonly string[]): AnswerForm {
  const known = new Map(labels.map((label) => [label.toLowerCase(), label]));
  return {
    field: 'label',
    wanted: labels.length > 0 ? `one of ${labels.map((label) => JSON.stringify(label)).join(', ')}` : 'a short label',
    schema: labels.length > 0 ? { type: 'string', enum: [...labels] } : { type: 'string' },
    isClosed: labels.length > 0,
    read: (verdict) => {
      if (typeof verdict !== 'string' || verdict.trim() === '') return undefined;
      return labels.length > 0 ? known.get(verdict.trim().toLowerCase()) : verdict.trim();
    },
  };
}

/** Any number of `labels` (any labels when the list is empty), sorted and without repeats. */
export function anyOf(labels: readonly string[]): AnswerForm {
  const one = oneOf(labels);
  return {
    field: 'labels',
    wanted:
      labels.length > 0
        ? `an array of those that apply out of ${labels.map((label) => JSON.stringify(label)).join(', ')}; empty when none does`
        : 'an array of short labels',
    schema: { type: 'array', items: one.schema },
    read: (verdict) => {
      if (!Array.isArray(verdict)) return undefined;
      const read = verdict.map((label) => one.read(label));
      return read.every((label) => typeof label === 'string') ? [...new Set(read as string[])].sort() : undefined;
    },
  };
}

/**
 * True or false of each of `labels`: the value is those that are true, sorted and without repeats. When the list is empty the judge names the labels, as
 * pairs: models can be held to a schema only where the names of its members are known.
 */
export function eachOf(labels: readonly string[]): AnswerForm {
  const named = new Map(labels.map((label) => [label.toLowerCase(), label]));
  const isNamed = labels.length > 0;
  return {
    field: 'labels',
    wanted: isNamed
      ? `an object with true or false for each of ${labels.map((label) => JSON.stringify(label)).join(', ')}`
      : 'an array of objects, each with "label" (a short label) and "holds" (true or false)',
    schema: isNamed
      ? {
          type: 'object',
          properties: Object.fromEntries(labels.map((label) => [label, yesNo.schema])),
          required: [...labels],
          additionalProperties: false,
        }
      : { type: 'array', items: LABELLED },
    read: (verdict) => {
      const pairs = pairsIn(verdict)?.map(([label, holds]) => [label.trim(), yesNo.read(holds)] as const);
      if (!pairs?.every(([label, holds]) => label !== '' && holds !== undefined)) return undefined;
      const known = pairs.map(([label, holds]) => [isNamed ? named.get(label.toLowerCase()) : label, holds] as const);
      const spoken = new Set(known.map(([label]) => label));
      if (isNamed && (spoken.has(undefined) || spoken.size < labels.length)) return undefined;
      return [...new Set(known.flatMap(([label, holds]) => (holds === true ? [label as string] : [])))].sort();
    },
  };
}

const LABELLED = {
  type: 'object',
  properties: { label: { type: 'string' }, holds: { type: 'boolean' } },
  required: ['label', 'holds'],
  additionalProperties: false,
};

/** Labels with what is said of each, as an object or as a list of pairs. */
function pairsIn(verdict: unknown): [label: string, holds: unknown][] | undefined {
  if (isObject(verdict)) return Object.entries(verdict);
  if (!Array.isArray(verdict)) return undefined;
  const pairs = verdict.flatMap((one): [string, unknown][] =>
    isObject(one) && typeof one.label === 'string' ? [[one.label, one.holds]] : [],
  );
  return pairs.length === verdict.length ? pairs : undefined;
}

/** True or false of each of so many documents, in their order. */
export const ofEach = (count: number): AnswerForm => ({
  field: 'documents',
  wanted: `an array of ${count} times true or false, one for each document in their order`,
  schema: { type: 'array', items: yesNo.schema },
  read: (verdict) => {
    if (!Array.isArray(verdict) || verdict.length !== count) return undefined;
    const flags = verdict.map((one) => yesNo.read(one));
    return flags.every((flag) => typeof flag === 'boolean') ? flags : undefined;
  },
});
