import type { MetricScale } from '../../wire/metricScale.ts';

export type Scale = NonNullable<MetricScale['range']>;

const N = String.raw`(-?\d+(?:\.\d+)?)\s{0,3}%?`;
const GLOSS = String.raw`(?:\s{0,3}\([^()]{0,80}\))?`;
/** How long an answer may be, and the like, is no scale. */
const NO_AMOUNT = String.raw`(?![\d%]|\.\d|-\d|\s{0,3}(?:complete |short |full |more )?(?:sentence|word|line|paragraph|bullet|step|item|example|sample|sub-?question|question|token|character|page|reason|point form|second|minute|hour|day|week|month|year|people|person)s?\b)`;
const START = String.raw`(?<![\w.,/-])`;

const ranges: readonly RegExp[] = [
  new RegExp(
    `${START}${N}${GLOSS}\\s{0,3}(?:to|through|until|bis|à|a|tot|till|do|до|إلى|到|至|から|에서|부터|–|—|−|-|~|→|\\.{2,3}|…)\\s{0,3}${N}${NO_AMOUNT}`,
    'gi',
  ),
  new RegExp(`(?:between|zwischen|entre)\\s{1,3}${N}${GLOSS}\\s{0,3}(?:and|und|et|y|e)\\s{1,3}${N}${NO_AMOUNT}`, 'gi'),
  new RegExp(`[[({]\\s{0,3}${N}\\s{0,3}[,;]\\s{0,3}${N}\\s{0,3}[\\])}]`, 'gi'),
];
/** The scale starts at 0 or 1, which is not said: it is read from 0 where a number is said to be out of it. */
const tops: readonly { pattern: RegExp; min: number }[] = [
  { pattern: new RegExp(`(?:\\bout of|\\bvon maximal|\\bsur)\\s{1,3}${N}${NO_AMOUNT}`, 'gi'), min: 0 },
  { pattern: /(?<=\w\s?)\/\s?(5|10|20|100)\b(?![/.\d])/g, min: 0 },
  { pattern: /\b(\d+)[\s-](?:point|star)s?\b/gi, min: 1 },
];
const ANCHOR =
  /(?<![\w.,"'-])(-?\d+(?:\.\d+)?)\s{0,3}(?:\([^()]{0,80}\)\s{0,3})?(?:=|:|means\b|meaning\b|is\b|for\b|stands for\b)/gi;

const WORDS: Readonly<Record<string, string>> = { zero: '0', one: '1', five: '5', ten: '10', hundred: '100' };

/** A scale that is named further behind is not found. */
const MAX_PROMPT_LENGTH = 100_000;

/** The scales that a judge's prompt names: `from 0 to 1`, `1-5`, `between 0 and 100`, `out of 10`, `0 = rude, 1 = polite`. Each once. */
export function namedScales(prompt: string): Scale[] {
  const text = prompt
    .slice(0, MAX_PROMPT_LENGTH)
    .replace(/\b(?:a |one )?(zero|one|five|ten|hundred)\b/gi, (_, word: string) => WORDS[word.toLowerCase()] as string);
  const found = new Map<string, Scale>();
  const add = (one: number, other: number): void => {
    const scale = { min: Math.min(one, other), max: Math.max(one, other) };
    if (scale.min <= 1 && scale.min < scale.max && scale.max <= 1_000) found.set(`${scale.min} ${scale.max}`, scale);
  };
  for (const pattern of ranges) for (const [, one, other] of text.matchAll(pattern)) add(Number(one), Number(other));
  if (found.size > 0) return [...found.values()];
  for (const { pattern, min } of tops) for (const [, most] of text.matchAll(pattern)) add(min, Number(most));
  if (found.size > 0) return [...found.values()];
  const anchors = [...text.matchAll(ANCHOR)].map(([, anchor]) => Number(anchor));
  if (anchors.length > 1) add(Math.min(...anchors), Math.max(...anchors));
  return [...found.values()];
}
