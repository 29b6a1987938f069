import { isExact } from '../wire/exactNumber.ts';
import { type Attributes, type AttributeValue, structureOf } from './attributes.ts';
import { isTree } from './messageForms.ts';
import type { ReportedUsage, SpanRole } from './spanContent.ts';
import { costNamed, type Figure, figuresIn, tokensNamed, wordsOf } from './usageNames.ts';

type Figures = Partial<Record<Figure, number | undefined>>;

/** Objects within objects that are searched for figures: `openrouter.usage.promptTokensDetails.cachedTokens`. */
const MAX_DEPTH = 4;

/** Returns what a span says that it used, in whatever convention; undefined where it says nothing. */
export function readUsage(attributes: Attributes, { kind, callsModel }: SpanRole): ReportedUsage | undefined {
  const { numbers, objects } = attributes.fromNames(figuresIn);
  if (numbers.length === 0 && objects.length === 0) return undefined;
  const found: Figures = {};
  for (const { name, figure, isBare } of numbers) {
    if (isBare && !callsModel) continue;
    const value = isCost(figure) ? attributes.numberThat(isAmount, name) : attributes.count(name);
    if (value !== undefined) found[figure] ??= value;
  }
  for (const { name, words, skipped, within } of objects) {
    const whole = treeIn(attributes.peek(name));
    const tree = within === undefined ? whole : treeIn(whole?.[within]);
    if (tree && addFigures(found, tree, words, skipped) && within === undefined) attributes.markRead(name);
  }
  const { inputCostUsd, outputCostUsd, ...usage } = found;
  usage.costUsd ??= sum(inputCostUsd, outputCostUsd);
  // The tokens of an embedding are all of its input.
  if (callsModel && kind !== 'llm' && usage.outputTokens === undefined) usage.inputTokens ??= usage.totalTokens;
  return Object.values(usage).some((value) => value !== undefined) ? reconciled(usage) : undefined;
}

const isCost = (figure: Figure): boolean => figure === 'costUsd' || figure === 'inputCostUsd' || figure === 'outputCostUsd';
const isAmount = (number: number): boolean => number >= 0;
const isCount = (number: number): boolean => Number.isSafeInteger(number) && number >= 0;

const sum = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);

/** An object, its JSON text, or the text of a dictionary of Python, which LangSmith writes. */
function treeIn(value: AttributeValue | undefined): { [key: string]: AttributeValue } | undefined {
  const structure = structureOf(value);
  if (isTree(structure)) return structure;
  if (typeof value !== 'string' || !/^\{'/.test(value)) return undefined;
  const asJson = structureOf(value.replaceAll("'", '"').replaceAll('None', 'null'));
  return isTree(asJson) ? asJson : undefined;
}

/**
 * Adds the figures of an object that are not known yet.
 * @param words those of the names above
 * @param skipped levels of names that say nothing of the figure, such as that of the provider
 * @returns whether it holds nothing else
 */
function addFigures(to: Figures, tree: { [key: string]: AttributeValue }, words: readonly string[], skipped: number): boolean {
  let isAll = true;
  for (const [key, value] of Object.entries(tree)) {
    const names = skipped > 0 ? [] : [...words, ...wordsOf(key)];
    if (isTree(value)) {
      if (names.length > 3 * MAX_DEPTH || !addFigures(to, value, names, skipped - 1)) isAll = false;
      continue;
    }
    const figure = names.some((word) => word === 'cost' || word === 'costs')
      ? costNamed(names.filter(isNoUsage))
      : tokensNamed(names);
    const number = isExact(value) || (typeof value === 'string' && value.trim() !== '') ? Number(value) : value;
    const fits = typeof number === 'number' && figure !== undefined && (isCost(figure) ? isAmount : isCount)(number);
    if (fits) to[figure] ??= number;
    else if (value !== null) isAll = false;
  }
  return isAll;
}

const isNoUsage = (word: string): boolean => word !== 'usage' && word !== 'metadata';

/**
 * By convention the input tokens include those of a cache and the output tokens the reasoning; some instrumentations report them side by side. Where
 * the whole is smaller than its part they are; otherwise that reading counts whose sum is the total. Then they are added: each token counts once. A
 * total that is more than the sum all the same is kept: the rest is of a kind that nothing says.
 */
export function reconciled(usage: ReportedUsage): ReportedUsage {
  const { inputTokens, outputTokens, totalTokens } = usage;
  const inputs = readings(inputTokens, (usage.cachedTokens ?? 0) + (usage.cacheWriteTokens ?? 0));
  const outputs = readings(outputTokens, usage.reasoningTokens ?? 0);
  const all = inputs.flatMap((input) => outputs.map((output) => ({ input, output })));
  const fitting = all.find(({ input, output }) => (input ?? 0) + (output ?? 0) === totalTokens) ?? all[0];
  const { input, output } = fitting ?? {};
  const known = input !== undefined && output !== undefined;
  const total = known ? Math.max(input + output, totalTokens ?? 0) : (totalTokens ?? input ?? output);
  return { ...usage, inputTokens: input, outputTokens: output, totalTokens: total };
}

/** Meanings that a count may have, beside which a part of it is reported. */
function readings(whole: number | undefined, part: number): (number | undefined)[] {
  if (whole === undefined || part === 0) return [whole];
  return part > whole ? [whole + part] : [whole, whole + part];
}
