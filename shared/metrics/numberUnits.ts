/** A unit as its kind and how many of the kind's base unit it is: a kilometre is a length of 1000/1. */
export interface NumberUnit {
  /** As it was written. */
  name: string;
  kind: string;
  factor: readonly [top: bigint, bottom: bigint];
}

type Row = readonly [kind: string, names: string, top: bigint, bottom?: bigint];

const ROWS: readonly Row[] = [
  ['m', 'km|kilomet(?:er|re)s?|Kilometern?', 1_000n],
  ['m', 'm|met(?:er|re)s?|Metern?|mètres?|metros?', 1n],
  ['m', 'dm', 1n, 10n],
  ['m', 'cm|centimet(?:er|re)s?|Zentimetern?', 1n, 100n],
  ['m', 'mm|millimet(?:er|re)s?', 1n, 1_000n],
  ['m', 'µm|μm', 1n, 1_000_000n],
  ['m', 'nm', 1n, 1_000_000_000n],
  ['m', 'miles?|mi', 1_609_344n, 1_000n],
  ['m', 'yards?|yds?', 9_144n, 10_000n],
  ['m', 'feet|foot|ft', 3_048n, 10_000n],
  ['m', 'inch(?:es)?', 254n, 10_000n],
  ['g', 'kg|kgs|kilos?|kilograms?|Kilogramm', 1_000n],
  ['g', 'g|grams?|Gramm|grammes?', 1n],
  ['g', 'mg|milligrams?', 1n, 1_000n],
  ['g', 'µg|μg|mcg', 1n, 1_000_000n],
  ['g', 't|tonnes?', 1_000_000n],
  ['g', 'lbs?', 45_359_237n, 100_000n],
  ['g', 'oz|ounces?', 45_359_237n, 1_600_000n],
  ['l', 'l|L|lit(?:er|re)s?', 1n],
  ['l', 'dl|dL', 1n, 10n],
  ['l', 'cl|cL', 1n, 100n],
  ['l', 'ml|mL|millilit(?:er|re)s?', 1n, 1_000n],
  ['l', 'gallons?|gal', 3_785_411_784n, 1_000_000_000n],
  ['s', 'ms|milliseconds?', 1n, 1_000n],
  ['s', 's|secs?|seconds?|Sekunden?', 1n],
  ['s', 'min|mins|minutes?|Minuten?', 60n],
  ['s', 'h|hrs?|hours?|Stunden?|heures?|horas?', 3_600n],
  ['s', 'days?|Tagen?|Tag|jours?|días?', 86_400n],
  ['s', 'weeks?|Wochen?', 604_800n],
  ['months', 'months?|Monaten?|Monat', 1n],
  ['months', 'years?|yrs?|Jahren?|Jahr', 12n],
  ['°C', '°\\s?C|degrees? Celsius|celsius', 1n],
  ['°F', '°\\s?F|degrees? Fahrenheit|fahrenheit', 1n],
  ['Hz', 'Hz', 1n],
  ['Hz', 'kHz', 1_000n],
  ['Hz', 'MHz', 1_000_000n],
  ['Hz', 'GHz', 1_000_000_000n],
  ['W', 'W|watts?', 1n],
  ['W', 'kW|kilowatts?', 1_000n],
  ['B', 'bytes?', 1n],
  ['B', 'kB|KB', 1_000n],
  ['B', 'MB', 1_000_000n],
  ['B', 'GB', 1_000_000_000n],
  ['am', '[aA]\\.?[mM]\\.?', 1n],
  ['pm', '[pP]\\.?[mM]\\.?', 1n],
];

const CURRENCIES: readonly Row[] = [
  ['$', 'US\\$|\\$|USD|(?:US )?dollars?|bucks', 1n],
  ['$', '¢|cents?', 1n, 100n],
  ['€', '€|EUR|euros?', 1n],
  ['£', '£|GBP', 1n],
  ['¥', 'JPY|yen|円', 1n],
  ['CN¥', 'CN¥|CNY|RMB|yuan|元', 1n],
  ['₹', '₹|INR|Rs\\.?|rupees?', 1n],
  ['CHF', 'CHF', 1n],
  ['₽', '₽|RUB|руб\\.?|рубл(?:ь|я|ей)', 1n],
  ['₩', '₩|KRW|원', 1n],
  ['A$', 'A\\$|AU\\$|AUD', 1n],
  ['C$', 'C\\$|CA\\$|CAD', 1n],
  ['R$', 'R\\$|BRL', 1n],
];

const names = (rows: readonly Row[]): string => rows.map(([, own]) => own).join('|');
const ONE = `(?:${names(ROWS)})[23]?`;
const IN_CJK = '円|元|원';

/** Pattern of a unit behind a number: `km`, `m2`, `km/h`, `€`. A `$` behind a number closes a formula, and is none. */
export const UNIT_AFTER = `(?:${IN_CJK}|(?:${ONE}(?:\\s?(?:/|per\\s)\\s?${ONE})?|${names(CURRENCIES).replace('US\\$|\\$|', '')})(?![\\p{L}\\p{N}]))`;

const find = (rows: readonly Row[], written: string): Row | undefined =>
  rows.find(([, own]) => new RegExp(`^(?:${own})$`, 'u').test(written)) ??
  rows.find(([, own]) => new RegExp(`^(?:${own})$`, 'iu').test(written));

const unitsByName = new Map<string, NumberUnit | undefined>();

/** The unit that a text names, such as `km`, `cm2`, `km/h`, `$` or `EUR`; undefined where there is none of that name. */
export function unitOf(written: string): NumberUnit | undefined {
  const name = written.trim();
  if (!unitsByName.has(name)) {
    const unit = read(name);
    unitsByName.set(name, unit && { name, ...unit });
  }
  return unitsByName.get(name);
}

function read(name: string): Omit<NumberUnit, 'name'> | undefined {
  const money = find(CURRENCIES, name);
  if (money) return { kind: money[0], factor: [money[2], money[3] ?? 1n] };
  const [, above = '', below] = /^([^/]+?)(?:\s?(?:\/|\bper\b)\s?(.+))?$/u.exec(name) ?? [];
  const top = powerOf(above);
  const bottom = below === undefined ? undefined : powerOf(below);
  if (!top || (below !== undefined && !bottom)) return undefined;
  if (!bottom) return top;
  return { kind: `${top.kind}/${bottom.kind}`, factor: [top.factor[0] * bottom.factor[1], top.factor[1] * bottom.factor[0]] };
}

function powerOf(name: string): Omit<NumberUnit, 'name'> | undefined {
  const [, bare = '', power = '1'] = /^(.+?)([23])?$/u.exec(name) ?? [];
  const row = find(ROWS, bare);
  if (!row) return undefined;
  const [kind, , top, bottom = 1n] = row;
  return { kind: power === '1' ? kind : `${kind}${power}`, factor: [top ** BigInt(power), bottom ** BigInt(power)] };
}
