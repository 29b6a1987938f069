import { isObject } from '../../wire/isObject.ts';
import type { JudgeAnswer, ScoreValue } from '../metric.ts';
import type { AnswerForm } from './answerForms.ts';
import { looseObjectAt } from './looseJson.ts';

/** `isFinal`: the judge was cut off, refused or kept back, so that asking for the same in another form is no use. */
export type Verdict = { value: ScoreValue; explanation?: string } | { error: string; isFinal?: true };

/**
 * Reads the last JSON object of an answer that holds a verdict: models put reasoning, code fences or a draft before it. What is wrong is said
 * without the text: errors never repeat what a model answered.
 */
export function readVerdict(judged: JudgeAnswer, form: AnswerForm): Verdict {
  const verdict = verdictIn(judged, form);
  if ('value' in verdict) return verdict;
  const reason = whyNone(judged);
  return reason === undefined ? verdict : { error: `${reason}, before it gave a verdict that can be read`, isFinal: true };
}

function verdictIn(judged: JudgeAnswer, form: AnswerForm): Verdict {
  const { text, finishReason } = judged;
  const none = { error: `the judge gave no verdict: a JSON object with "${form.field}" was asked for` };
  const last = objectsIn(text)
    .flatMap(({ object, before, after }) => {
      const [found] = fieldsOf(form).flatMap((field) => {
        const holder = holderOf(object, field);
        return holder ? [{ holder, field }] : [];
      });
      return found ? [{ ...found, before, after }] : [];
    })
    .at(-1);
  if (last === undefined) {
    const value = bareVerdict(judged, form);
    if (value !== undefined) return { value };
    return text.trim() === '' ? { error: 'the judge gave an empty answer' } : none;
  }
  // A verdict inside an object that cannot be parsed may be a quotation, and a later one that cannot be parsed is the one that counts.
  if (fieldsOf(form).some((field) => namesField(last.before, field) || namesField(last.after, field))) return none;
  if (finishReason != null && CUT_OFF.test(finishReason) && last.after.includes('{')) return none;
  const value = form.read(memberOf(last.holder, last.field));
  if (value === undefined) return { error: `the judge's "${last.field}" is not ${form.wanted}` };
  const explanation = memberOf(last.holder, reasoningIn(form));
  return typeof explanation === 'string' && explanation !== '' ? { value, explanation } : { value };
}

/** Names of the member that holds the verdict, the requested one first. */
const fieldsOf = ({ field, otherField }: AnswerForm): string[] => (otherField === undefined ? [field] : [field, otherField]);

/** The member of an answer that holds the reasoning. */
export const reasoningIn = ({ explanationField = 'explanation' }: Pick<AnswerForm, 'explanationField'>): string =>
  explanationField;

/** An answer that is the verdict and nothing else, without an object around it: `true`, `"Yes"`, `80%`. Of free texts it could be a refusal. */
function bareVerdict(
  { text, finishReason }: Pick<JudgeAnswer, 'text' | 'finishReason'>,
  form: AnswerForm,
): ScoreValue | undefined {
  if (!form.isClosed || endingOf(finishReason) !== undefined || text.length > MAX_BARE) return undefined;
  const fenced = /^```(?:json)?\s*([^`]*)```$/i.exec(text.trim())?.[1] ?? text;
  return form.read(fenced.trim().replace(/^(["'])(.*)\1$/s, '$2'));
}

/** Longest answer that is read as a bare verdict, in characters: a label has at most 255. */
const MAX_BARE = 300;

const namesField = (text: string, field: string): boolean =>
  [...text.matchAll(/["'“‘{,]\s{0,9}([\p{L}\p{N}_-]{1,100})["'”’]?\s{0,9}:/gu)].some(
    ([, name]) => name?.toLowerCase() === field.toLowerCase(),
  );

const CUT_OFF = /^(length|max_tokens|max_output_tokens|model_context_window_exceeded)$/i;

/** By the words of OpenAI, Anthropic, Google and those who follow them. */
const reasonsOf: readonly (readonly [finishReason: RegExp, words: string])[] = [
  [CUT_OFF, 'the judge was cut off at its limit of tokens'],
  [
    /^(content_filter|safety|recitation|blocklist|prohibited_content|spii)$/i,
    "the judge's answer was withheld by its provider's filter",
  ],
  [/^refusal$/i, 'the judge refused to answer'],
];

/** Why an answer was ended before its judge was ready; undefined of one that is whole. */
const endingOf = (finishReason: string | null | undefined): string | undefined =>
  finishReason == null ? undefined : reasonsOf.find(([pattern]) => pattern.test(finishReason))?.[1];

function whyNone({ text, finishReason, reasoningTokens, reasoning }: JudgeAnswer): string | undefined {
  const known = endingOf(finishReason);
  if (known !== undefined) return known;
  return text.trim() === '' && ((reasoningTokens ?? 0) > 0 || reasoning) ? 'the judge gave only reasoning' : undefined;
}

/** The value of a member, whatever the case of its name; undefined where two names differ in case alone. */
function memberOf(object: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const [only, ...others] = Object.keys(object).filter((key) => key.trim().toLowerCase() === name.toLowerCase());
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
/** Every outermost `{…}` of the text's end that can be read as JSON in one way, in order. Braces inside its texts do not count. */
export const jsonObjectsIn = (answer: string): Record<string, unknown>[] => objectsIn(answer).map(({ object }) => object);

interface FoundObject {
  object: Record<string, unknown>;
  /** From the first brace that begins nothing readable, behind the object before this one. */
  before: string;
  after: string;
}

function objectsIn(answer: string): FoundObject[] {
  const text = answer.slice(-MAX_ANSWER_LENGTH);
  const found: FoundObject[] = [];
  let unread: number | undefined;
  for (let start = text.indexOf('{'); start !== -1; start = text.indexOf('{', start)) {
    const read = looseObjectAt(text, start);
    if (read) found.push({ object: read.object, before: text.slice(unread ?? start, start), after: text.slice(read.end) });
    unread = read ? undefined : (unread ?? start);
    start = read?.end ?? start + 1;
  }
  return found;
}
