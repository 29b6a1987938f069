import { jsonrepair } from 'jsonrepair';
import { isObject } from '../../wire/isObject.ts';
import type { JudgeAnswer, ScoreValue } from '../metric.ts';
import type { AnswerForm } from './answerForms.ts';

/** `isFinal`: the judge was cut off, refused or kept back, so that asking for the same in another form is no use. */
export type Verdict = { value: ScoreValue; explanation?: string } | { error: string; isFinal?: true };

/**
 * Reads the last JSON object of an answer that holds a verdict: models put reasoning, code fences or a draft before it. What is wrong is said
 * without the text: errors never repeat what a model answered.
 */
export function readVerdict(judged: JudgeAnswer, form: AnswerForm): Verdict {
  const verdict = verdictIn(judged.text, form);
  if ('value' in verdict) return verdict;
  const reason = whyNone(judged);
  return reason === undefined ? verdict : { error: `${reason}, before it gave a verdict that can be read`, isFinal: true };
}

function verdictIn(text: string, form: AnswerForm): Verdict {
  const given = jsonObjectsIn(text, form.field)
    .map((object) => holderOf(object, form.field))
    .filter((object) => object !== undefined);
  const last = given.at(-1);
  if (last === undefined) {
    if (text.trim() === '') return { error: 'the judge gave an empty answer' };
    return { error: `the judge gave no verdict: a JSON object with "${form.field}" was asked for` };
  }
  const value = form.read(memberOf(last, form.field));
  if (value === undefined) return { error: `the judge's "${form.field}" is not ${form.wanted}` };
  const explanation = memberOf(last, 'explanation');
  return typeof explanation === 'string' && explanation !== '' ? { value, explanation } : { value };
}

/** By the words of OpenAI, Anthropic, Google and those who follow them. */
const reasonsOf: readonly (readonly [finishReason: RegExp, words: string])[] = [
  [/^(length|max_tokens|max_output_tokens|model_context_window_exceeded)$/i, 'the judge was cut off at its limit of tokens'],
  [
    /^(content_filter|safety|recitation|blocklist|prohibited_content|spii)$/i,
    "the judge's answer was withheld by its provider's filter",
  ],
  [/^refusal$/i, 'the judge refused to answer'],
];

function whyNone({ text, finishReason, reasoningTokens }: JudgeAnswer): string | undefined {
  const known = finishReason == null ? undefined : reasonsOf.find(([pattern]) => pattern.test(finishReason));
  if (known) return known[1];
  return text.trim() === '' && (reasoningTokens ?? 0) > 0 ? 'the judge gave only reasoning' : undefined;
}

/** The value of a member, whatever the case of its name; undefined where two names differ in case alone. */
function memberOf(object: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const [only, ...others] = Object.keys(object).filter((key) => key.trim().toLowerCase() === name);
  return only === undefined || others.length > 0 ? undefined : object[only];
}

/** The object that holds the verdict: this one, or the only object in it. */
function holderOf(object: Record<string, unknown>, field: string): Record<string, unknown> | undefined {
  if (memberOf(object, field) !== undefined) return object;
  const inner = Object.values(object).filter(isObject);
  const [only] = inner as Record<string, unknown>[];
  return only !== undefined && inner.length === 1 && memberOf(only, field) !== undefined ? only : undefined;
}

/** The search below is quadratic for text full of stray braces: at this length still under 0.3 s. The verdict comes last, so the end is kept. */
const MAX_ANSWER_LENGTH = 20_000;
/** Objects that are mended, the last ones: each takes a pass over its text. */
const MAX_MENDED = 5;

/**
 * Every outermost `{…}` of the text's end that is JSON, in order. Braces inside JSON strings do not count. Where none is, those that name the field
 * and are JSON but for what can be meant in one way only: commas at the end, single quotes, Python's constants, line ends in strings, wrong escapes. An
 * object that is not closed is none: its last value may be a part of one.
 */
export function jsonObjectsIn(answer: string, field = ''): Record<string, unknown>[] {
  const text = answer.slice(-MAX_ANSWER_LENGTH);
  const found: Record<string, unknown>[] = [];
  const broken: string[] = [];
  for (let start = text.indexOf('{'); start !== -1; start = text.indexOf('{', start)) {
    const end = endOfObject(text, start);
    const object = end === undefined ? undefined : text.slice(start, end);
    const parsed = object === undefined ? undefined : parseObject(object);
    if (parsed) found.push(parsed);
    else if (object?.toLowerCase().includes(field)) broken.push(object);
    start = parsed && end !== undefined ? end : start + 1;
  }
  return found.length > 0
    ? found
    : broken
        .slice(-MAX_MENDED)
        .map(mended)
        .filter((object) => object !== undefined);
}

function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>; // starts with `{`, so it is an object
  } catch {
    return undefined;
  }
}

function mended(text: string): Record<string, unknown> | undefined {
  try {
    return parseObject(jsonrepair(text));
  } catch {
    return undefined;
  }
}
