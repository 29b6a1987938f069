import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { inRunOrder, type SpanPlace } from '../../shared/records/spanOrder.ts';

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`;
const span = (id: string, parentId: string | null, second: number, version: number): SpanPlace => ({
  ...{ id, parentId, createdAt: at(second), stepNumber: null, version },
});
const order = (spans: readonly SpanPlace[]): string =>
  inRunOrder(spans, (one) => one)
    .map(({ id }) => id)
    .join(' ');

test('a span below another stands where it ran, not behind all of its parent’s siblings', () => {
  expect(order([span('plan', null, 1, 1), span('answer', null, 9, 2), span('tool', 'plan', 5, 3)])).toBe('plan tool answer');
  expect(order([span('plan', null, 1, 1), span('other', null, 3, 2), span('tool', 'plan', 5, 3)])).toBe('plan other tool');
});

test('of spans that began at once, one below another comes right behind it, though it was stored first', () => {
  expect(order([span('tool', 'plan', 1, 1), span('plan', null, 1, 2), span('answer', null, 1, 3)])).toBe('plan tool answer');
});

test('no span comes before its parent, whatever the clock of its process says', () => {
  expect(order([span('early', 'late', 1, 1), span('late', null, 4, 2), span('next', null, 5, 3)])).toBe('late early next');
});

property.prop([fc.array(fc.record({ parent: fc.nat({ max: 8 }), second: fc.nat({ max: 3 }) }), { maxLength: 8 })])(
  'every span is there once, in loops of parents, too',
  (given) => {
    const spans = given.map(({ parent, second }, index) => span(String(index), String(parent), second, index));
    const found = inRunOrder(spans, (one) => one);
    expect(new Set(found)).toEqual(new Set(spans));
    expect(found).toHaveLength(spans.length);
  },
);

property.prop([fc.array(fc.record({ parent: fc.nat({ max: 8 }), second: fc.nat({ max: 3 }) }), { maxLength: 8 })])(
  'without a loop, every span is behind its parent and spans otherwise go by their start',
  (given) => {
    const spans = given.map(({ parent, second }, index) => {
      const above = index === 0 ? null : parent % index;
      return span(String(index), above === null ? null : String(above), second, given.length - index);
    });
    const found = inRunOrder(spans, (one) => one);
    const position = new Map(found.map(({ id }, index) => [id, index]));
    const from = new Map<string | null, string>([[null, '']]);
    for (const { id, parentId, createdAt } of spans) {
      const above = from.get(parentId) as string;
      from.set(id, [createdAt, above].sort().at(-1) as string);
      if (parentId !== null) expect(position.get(id)).toBeGreaterThan(position.get(parentId) as number);
    }
    const starts = found.map(({ id }) => from.get(id) as string);
    expect(starts).toEqual([...starts].sort());
  },
);
