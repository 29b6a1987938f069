import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { rowSelection } from '../../cli/rows/rowsOption.ts';
import { FilterTextError, operators } from '../../shared/filterText/filterSyntax.ts';
import { type FilterTree, operatorsOf, parseFilterText, timeOf } from '../../shared/filterText/parseFilterText.ts';
import { printFilterText } from '../../shared/filterText/printFilterText.ts';

const columns = [
  { id: 'name', filter_type: 'text' },
  { id: 'a column, of (odd) = words', filter_type: 'text' },
  { id: 'and', filter_type: 'text' },
  { id: 'status_code', filter_type: 'number' },
  { id: 'created_at', filter_type: 'date' },
  { id: 'tags', filter_type: 'collection' },
  { id: 'has_children', filter_type: 'boolean' },
  { id: 'id', filter_type: 'id' },
  { id: 'metrics/9f2c', filter_type: 'number', metric_key_alias: 'is_right' },
  { id: 'type', filter_type: 'text', allowed_values: ['llm', 'tool'] },
];
const free = columns.filter((column) => !('allowed_values' in column));
const parse = (text: string) => parseFilterText(text, { columns, now: new Date('2026-02-01T00:00:00Z') });

const texts = fc.oneof(fc.string(), fc.constantFrom('and', 'NOT', 'a or b', '"', 'x)', '1,2', '\\', 'contains', 'in', ''));
const valuesOf: Record<string, fc.Arbitrary<unknown>> = {
  text: texts,
  id: texts,
  collection: texts,
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  date: fc
    .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  boolean: fc.boolean(),
};
const leaf = fc.constantFrom(...free).chain(({ id, filter_type: type }) =>
  fc.constantFrom(...(operatorsOf[type] ?? [])).chain((sign) => {
    const one = valuesOf[type] as fc.Arbitrary<unknown>;
    const value = sign === 'in' || sign === 'not in' ? fc.array(one, { minLength: 1, maxLength: 4 }) : one;
    return value.map((it) => ({ filter: { type, column_id: id, operator: operators[sign], value: it } }));
  }),
);
const tree: fc.Arbitrary<FilterTree> = fc.letrec<{ tree: FilterTree }>((tie) => {
  const several = fc.array(tie('tree'), { minLength: 2, maxLength: 3 });
  return {
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf as fc.Arbitrary<FilterTree>,
      several.map((and) => ({ and })),
      several.map((or) => ({ or })),
      tie('tree').map((not) => ({ not })),
    ),
  };
}).tree;

test.prop([tree])('a filter that is printed and read is the same filter', (filter) => {
  expect(parse(printFilterText(filter))).toEqual(filter);
});

test.prop([fc.string()])('any text is read, or refused at a place that is in it', (text) => {
  try {
    const filter = parse(text);
    if (filter) expect(parse(printFilterText(filter))).toEqual(filter);
  } catch (err) {
    expect(err).toBeInstanceOf(FilterTextError);
    const { place } = err as FilterTextError;
    expect(place.start >= 0 && place.end <= text.length && place.start <= place.end).toBe(true);
  }
});

describe('a text is read', () => {
  const name = (value: string) => ({ filter: { type: 'text', column_id: 'name', operator: 'eq', value } });
  const failed = { filter: { type: 'number', column_id: 'status_code', operator: 'gte', value: 400 } };
  test.each([
    ['', undefined],
    ['name = a b', name('a b')],
    ['name="a and b"', name('a and b')],
    ['status_code >= 400 and (name = answer or name = b)', { and: [failed, { or: [name('answer'), name('b')] }] }],
    ['status_code >= 400 and name = a or not name = b', { or: [{ and: [failed, name('a')] }, { not: name('b') }] }],
    ['NOT (status_code >= 400)', { not: failed }],
    [
      'tags in prod, beta and status_code >= 400',
      { and: [{ filter: { type: 'collection', column_id: 'tags', operator: 'one_of', value: ['prod', 'beta'] } }, failed] },
    ],
    ['id not in (a, "b c")', { filter: { type: 'id', column_id: 'id', operator: 'not_in', value: ['a', 'b c'] } }],
    ['created_at > 1d', { filter: { type: 'date', column_id: 'created_at', operator: 'gt', value: '2026-01-31T00:00:00.000Z' } }],
    ['metrics/is_right < .5', { filter: { type: 'number', column_id: 'metrics/9f2c', operator: 'lt', value: 0.5 } }],
    ['metrics/new = true', { filter: { type: 'boolean', column_id: 'metrics/new', operator: 'eq', value: true } }],
    ['user_metadata/customer = 7', { filter: { type: 'text', column_id: 'user_metadata/customer', operator: 'eq', value: '7' } }],
  ])('%s', (text, filter) => {
    expect(parse(text)).toEqual(filter);
  });

  test.each([
    ['status_code=500', 'status_code', 500],
    ['metrics/exact_match = true', 'metrics/exact_match', true],
    ['has_children != false', 'has_children', false],
    ['name contains what, and how?', undefined, undefined],
  ])('%s', (text, column, value) => {
    if (column === undefined) expect(() => parse(text)).toThrow('after how? one of');
    else expect(parse(text)).toMatchObject({ filter: { column_id: column, value } });
  });

  test('of rows of a dataset has the same quotes', async () => {
    const { filter } = await rowSelection({} as never, 'no project', ['filter=input != "a and b"']);
    expect(filter).toEqual([{ columnName: 'input', operator: 'ne', value: 'a and b' }]);
    await expect(rowSelection({} as never, 'no project', ['filter=input = a or input = b'])).rejects.toThrow('one condition');
  });

  test('a control may watch calls that the catalog does not list', () => {
    const columns = [{ id: 'applies_to', filter_type: 'text', allowed_values: ['tool_call', 'llm_call'] }];
    expect(parseFilterText('applies_to = trace_call', { columns })).toMatchObject({ filter: { value: 'trace_call' } });
    expect(() => parseFilterText('applies_to = trace_cal', { columns })).toThrow('the closest is trace_call');
  });

  test('a time ago, or one in words', () => {
    const now = new Date('2026-01-31T08:00:00Z');
    expect(['90s', '15m', '2h', '3d', '1w'].map((text) => timeOf(text, now))).toEqual([
      ...['2026-01-31T07:58:30.000Z', '2026-01-31T07:45:00.000Z', '2026-01-31T06:00:00.000Z'],
      ...['2026-01-28T08:00:00.000Z', '2026-01-24T08:00:00.000Z'],
    ]);
    expect(timeOf('2026-01-31T08:00:00+02:00', now)).toBe('2026-01-31T08:00:00+02:00');
    expect(timeOf('2026-01-31 08:00', now)).toBe('2026-01-31T08:00Z');
    expect(timeOf('2026-01-31', now)).toBe('2026-01-31T00:00:00Z');
    expect([timeOf('yesterday', now), timeOf('2026-13-01', now)]).toEqual([undefined, undefined]);
  });

  test.each([
    ['nme = x', 0, 'there is no column "nme" here; the closest is name'],
    ['name = x and stats_code = 1', 13, 'the closest is status_code'],
    ['status_code contains 4', 12, 'it takes = != < <= > >=, and not contains'],
    ['status_code = many', 14, '"many" is none'],
    ['type = lm', 7, 'type is one of llm, tool; the closest is llm'],
    ['name', 0, 'after name one of'],
    ['name =', 6, 'a value is missing'],
    ['(name = x', 9, ') is missing'],
    ['name = x) and', 8, 'and, or or is missing'],
    ['name = "x', 7, 'does not end'],
    ['and name = x', 0, 'a column is missing'],
    [`${'('.repeat(40)}name = x`, 33, 'nest at most 32 deep'],
  ])('%s is refused at its place', (text, start, message) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(message), place: expect.objectContaining({ start }) }),
    );
  });
});
