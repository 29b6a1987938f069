import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { parseAsWritten, parseJson, parseJsonb } from '../../shared/json/parseJson.ts';
import { ExactNumber } from '../../shared/wire/exactNumber.ts';
import { endOfHeldNumber } from '../../shared/wire/heldNumbers.ts';
import { isHeld, jsonWithBigInts, parseNumbers } from '../../shared/wire/longNumbers.ts';

const digits = (max: number) => fc.stringMatching(new RegExp(`^(?:0|[1-9]\\d{0,${max}})$`));
/** Any number of JSON, most of them beyond a double in one way or another. */
const source = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(30),
    fc.option(fc.stringMatching(/^\d{1,25}$/), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.stringMatching(/^\d{1,3}$/)), {
      nil: undefined,
    }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`,
  );
/** Texts that look like JSON with long numbers in it. */
const text = fc.oneof(
  fc.string(),
  source.map((number) => `{"id":${number},"a":[${number}]}`),
  source.map((number) => `\\":${number}`),
  source,
);
const space = fc.constantFrom('', ' ', '\n\t');

/** JSON texts, with what they mean where every number is its source in a list by itself. */
const json = fc.letrec<{ value: [string, unknown] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    source.map((number): [string, unknown] => [number, { number }]),
    text.map((one): [string, unknown] => [JSON.stringify(one), one]),
    fc.constantFrom<[string, unknown]>(['null', null], ['true', true]),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 5 }), space)
      .map(([all, gap]): [string, unknown] => [
        `[${gap}${all.map(([one]) => one).join(`${gap},${gap}`)}]`,
        all.map(([, one]) => one),
      ]),
    fc
      .tuple(fc.uniqueArray(fc.tuple(text, tie('value')), { maxLength: 5, selector: ([name]) => name }), space)
      .map(([all, gap]): [string, unknown] => [
        `{${all.map(([name, [one]]) => `${JSON.stringify(name)}${gap}:${gap}${one}${gap}`).join(',')}}`,
        { members: all.map(([name, [, one]]) => [name, one]) },
      ]),
  ),
})).value;

/** Returns what was parsed, in the same form. */
function meant(value: unknown): unknown {
  if (typeof value === 'number') return { number: Object.is(value, -0) ? '-0' : String(value) };
  if (value instanceof ExactNumber) return { number: String(value) };
  if (Array.isArray(value)) return value.map(meant);
  if (typeof value !== 'object' || value === null) return value;
  return { members: Object.entries(value).map(([name, one]) => [name, meant(one)]) };
}

/** Numbers by their value alone, as a fraction of powers of ten; members by name, as JavaScript moves those that are numbers. */
function byValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(byValue);
  if (typeof value !== 'object' || value === null) return value;
  if ('number' in value) return { number: decimal(value.number as string) };
  const members = (value as { members: [string, unknown][] }).members;
  return { members: Object.fromEntries(members.map(([name, one]) => [`_${name}`, byValue(one)])) };
}

function decimal(number: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(number) ?? [];
  const short = `${whole}${fraction}`.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + `${whole}${fraction}`.length - short.length;
  const plain = short.replace(/^0+/, '');
  return plain === '' ? '0' : `${sign}${plain}e${power}`;
}

describe('JSON with numbers that no double holds', () => {
  test.prop([json], { numRuns: 2_000 })('means what it says, to the last digit', ([written, means]) => {
    expect(byValue(meant(parseJson(written)))).toEqual(byValue(means));
    expect(byValue(meant(parseJsonb(written)))).toEqual(byValue(means));
    expect(byValue(meant(parseJson(JSON.stringify(parseJson(written)))))).toEqual(byValue(means));
    expect(JSON.stringify(parseJson(written))).toBe(JSON.stringify(parseJson(JSON.stringify(parseJson(written)))));
  });

  test.prop([fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n })])('has whole numbers as they are written', (whole) => {
    expect(JSON.stringify(parseJson(`{"id":${whole},"text":"[${whole}]"}`))).toBe(`{"id":${whole},"text":"[${whole}]"}`);
  });

  test.prop([fc.double({ noDefaultInfinity: true, noNaN: true })])('has doubles as they are', (double) => {
    expect(parseJson(JSON.stringify([double]))).toEqual(JSON.parse(JSON.stringify([double])));
    expect(isHeld(JSON.stringify(Object.is(double, -0) ? 0 : double), double)).toBe(true);
  });

  test.prop([source])('can be read as it is written', (number) => {
    expect(JSON.stringify(parseAsWritten(`[${number}, "${number}"]`))).toBe(`[${number},"${number}"]`);
  });

  test.prop([
    fc.oneof(
      fc.string(),
      json.map(([written]) => written),
    ),
    fc.nat(),
    fc.constantFrom('', ':', ',', '0', '"', '}', '.', 'e5'),
  ])('is refused with the same words as by JSON.parse', (written, at, odd) => {
    const broken = `${written.slice(0, at % (written.length + 1))}${odd}${written.slice((at + 1) % (written.length + 1))}`;
    const said = (parse: (text: string) => unknown) => {
      try {
        parse(broken);
        return 'it is JSON';
      } catch (err) {
        return String(err);
      }
    };
    expect(said(parseJson)).toBe(said(JSON.parse));
  });

  test('may nest without an end, and be long, without a cost that grows faster', () => {
    const levels = 200_000;
    let inner = parseJson(`${'['.repeat(levels)}12345678901234567890${']'.repeat(levels)}`);
    while (Array.isArray(inner)) [inner] = inner;
    expect(String(inner)).toBe('12345678901234567890');
    const many = Array.from({ length: 100_000 }, () => '12345678901234567890').join(',');
    expect(JSON.stringify(parseJson(`["[${many}]",${many}]`))).toBe(`["[${many}]",${many}]`);
  });

  /** Decimals beside which a double lies: its own digits, one more or less of the last, 17 digits, and an exponent as Python writes it. */
  const nearDouble = fc
    .tuple(
      fc.oneof(
        fc.double({ min: -1e9, max: 1e9, noNaN: true }),
        fc.double({ min: -1, max: 1, noNaN: true }),
        fc
          .tuple(fc.integer({ min: -25, max: 60 }), fc.integer({ min: -3, max: 3 }))
          .map(([power, ulps]) => 2 ** power * (1 + ulps * 2 ** -52)),
      ),
      fc.integer({ min: 15, max: 18 }),
      fc.integer({ min: -1, max: 1 }),
      fc.constantFrom('', 'e-05', 'E7', 'e+12'),
    )
    .filter(([double]) => Math.abs(double) > 1e-6)
    .map(([double, digits, step, exponent]) => {
      const written = digits === 18 ? String(double) : double.toPrecision(digits);
      const last = written.search(/\d(?=e|$)/);
      return `${written.slice(0, last)}${Math.min(9, Math.max(0, Number(written[last]) + step))}${written.slice(last + 1)}${written.includes('e') ? '' : exponent}`;
    });
  test.prop([fc.oneof(nearDouble, source)], { numRuns: 20_000 })('holds what arithmetic says it holds', (number) => {
    const end = endOfHeldNumber(`${number},`, 0);
    expect(Math.max(end, ~end)).toBe(number.length);
    if (end >= 0) expect([number, isHeld(number, Number(number))]).toEqual([number, true]);
  });

  it('is known by arithmetic to hold nearly all doubles that a program has printed', () => {
    const doubles = Array.from({ length: 20_000 }, (_, at) => Math.sin(at + 1) / 10 ** (at % 5));
    expect(doubles.filter((double) => endOfHeldNumber(String(double), 0) < 0).length).toBeLessThan(100);
  });

  const anyNumber = (written: string) => parseNumbers(written, (number) => BigInt(number));
  test.prop([fc.bigInt({ min: 2n ** 60n, max: 10n ** 30n }), fc.string()])(
    'is written from large integers of JavaScript',
    (whole, beside) => {
      const value = { [beside]: [whole, beside, { deep: -whole }] };
      const written = jsonWithBigInts(value);
      expect(written).toBe(
        JSON.stringify({ [beside]: ['#', beside, { deep: '-#' }] })
          .replace(/"#"(?=,)/, String(whole))
          .replace(/"-#"(?=})/, `-${whole}`),
      );
      expect(JSON.parse(written)).toBeDefined();
      if (String(Number(whole)) !== String(whole)) expect(anyNumber(written)).toEqual(value);
    },
  );
});
