import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { Attributes } from '../../shared/otel/attributes.ts';

const word = fc.constantFrom('a', 'b', 'list', '0', '1', '10', '01', '', '__proto__', 'constructor');
const name = fc.oneof(
  fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('.')),
  fc.nat({ max: 5 }).map((length) => 'long'.repeat(30 + length)),
);
const entries = fc.array(fc.tuple(name, fc.nat()), { maxLength: 200 });

test.prop([fc.array(entries, { maxLength: 4 }), fc.array(name, { maxLength: 20 })])(
  'attributes are a map in the order of their first names, whatever came before them',
  (spans, read) => {
    for (const span of spans) {
      const [map, attributes] = [new Map(span), Attributes.of(span)];
      expect(attributes.rest()).toEqual([...map]);
      for (const one of [...map.keys(), ...read])
        expect([attributes.has(one), attributes.peek(one)]).toEqual([map.has(one), map.get(one)]);
      attributes.markRead(...read);
      expect(attributes.rest()).toEqual([...map].filter(([one]) => !read.includes(one)));
      expect(attributes.hasAny('list.')).toBe([...map.keys()].some((one) => one.startsWith('list.')));
    }
  },
);

test.prop([entries])(
  'the items of a list are what stands below their numbers, and what is read of them is read of the whole',
  (given) => {
    const attributes = Attributes.of(given);
    const below = [...new Map(given)].flatMap(([whole, value]) => {
      const [, number, left] = /^list\.(\d{1,9})(?:\.(.*))?$/.exec(whole) ?? [];
      return number === undefined ? [] : [{ whole, number: Number(number), left: left ?? '', value }];
    });
    const numbers = [...new Set(below.map(({ number }) => number))].sort((one, other) => one - other);
    const items = attributes.items('list');
    expect(items.map((item) => item.rest())).toEqual(
      numbers.map((number) => [...new Map(below.filter((one) => one.number === number).map(({ left, value }) => [left, value]))]),
    );
    for (const item of items) item.entries();
    // Where two names mean one place in the list, as `list.1.a` and `list.01.a`, the last one counts, and the other is left.
    const counted = new Map(below.map(({ whole, number, left }) => [`${number} ${left}`, whole]));
    const wholes = [...counted.values()];
    expect(attributes.rest().map(([one]) => one)).toEqual([...new Map(given).keys()].filter((one) => !wholes.includes(one)));
  },
);

test('very many and very long names are taken, too', () => {
  const names = Array.from({ length: 50_000 }, (_, index) => `name ${index} ${'x'.repeat(index % 300)}`);
  const attributes = Attributes.of(names.map((one) => [one, one]));
  attributes.set('name 0 ', 'last');
  expect(attributes.get('name 0 ')).toBe('last');
  expect(attributes.rest()).toHaveLength(names.length - 1);
});
