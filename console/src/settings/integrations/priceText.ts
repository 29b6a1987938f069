import type { OwnPrice } from '../../data/integrations.ts';

/** Parts of a price that the form shows; those with tiers, and the seldom ones, stay as they are stored. */
export const priceParts = [
  ['input', 'Input'],
  ['cached_input', 'Cached input'],
  ['output', 'Output'],
  ['reasoning_output', 'Reasoning'],
  ['call', 'Each call'],
] as const;
type Part = (typeof priceParts)[number][0];

/** A price as it is typed. */
export interface PriceText {
  model: string;
  /** The start of a day in UTC, `2026-07-01`, or the whole time as it is stored; empty: for all before, too. */
  from: string;
  parts: Partial<Record<Part, string>>;
  kept: Partial<OwnPrice>;
}

export function priceText({ model, valid_from, ...rates }: OwnPrice): PriceText {
  const isShown = (part: string) => priceParts.some(([one]) => one === part);
  const given = Object.entries(rates).filter(([, rate]) => rate !== null && rate !== undefined);
  const [simple, other] = [true, false].map((wanted) =>
    given.filter(([part, rate]) => (isShown(part) && typeof rate === 'number') === wanted),
  );
  return {
    ...{ model, from: dayOf(valid_from) },
    parts: Object.fromEntries((simple ?? []).map(([part, rate]) => [part, String(rate)])),
    kept: Object.fromEntries(other ?? []),
  };
}

export function priceFrom({ model, from, parts, kept }: PriceText): OwnPrice {
  const numbers = Object.entries(parts).filter(([, text]) => text.trim() !== '');
  return {
    ...kept,
    ...Object.fromEntries(numbers.map(([part, text]) => [part, Number(text)])),
    model: model.trim(),
    valid_from: from === '' ? null : /^\d{4}-\d\d-\d\d$/.test(from) ? `${from}T00:00:00Z` : from,
  } as OwnPrice;
}

const dayOf = (time: string | null | undefined): string =>
  (/T00:00:00(\.0+)?Z$/.test(time ?? '') ? time?.slice(0, 10) : time) ?? '';

/** The parts that the form does not change, in words. */
export const keptText = (kept: PriceText['kept']): string =>
  Object.entries(kept)
    .map(([part, rate]) => `${part === 'call' ? 'each call' : part.replaceAll('_', ' ')} ${rateText(rate)}`)
    .join('; ');

function rateText(rate: unknown): string {
  if (typeof rate !== 'object' || rate === null) return String(rate);
  const { base, tiers } = rate as { base: number; tiers: { above: number; price: number }[] };
  return [base, ...tiers.map(({ above, price }) => `${price} above ${above} input tokens`)].join(', ');
}

/** A price in a cell: of one with tiers, its least and its most. */
export function rateRange(rate: OwnPrice['input']): string | undefined {
  if (rate === null || rate === undefined) return undefined;
  if (typeof rate === 'number') return String(rate);
  const all = [rate.base, ...rate.tiers.map(({ price }) => price)];
  return `${Math.min(...all)} to ${Math.max(...all)}`;
}
