import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { conditionOf, leafOf, timeOf } from '../../cli/records/recordCondition.ts';
import { rowSelection } from '../../cli/rowsOption.ts';

const signs = ['=', '!=', '<', '<=', '>', '>=', 'contains', 'in', 'not in'] as const;

describe('a condition of the command line', () => {
  property.prop([
    fc.string({ minLength: 1, unit: 'grapheme' }),
    fc.constantFrom(...signs),
    fc.string({ minLength: 1, unit: 'grapheme' }),
  ])('is read as it is written, with any name in quotes', (name, operator, text) => {
    fc.pre(name.trim() !== '' && text.trim() !== '');
    const found = conditionOf(`${JSON.stringify(name)} ${operator} ${JSON.stringify(text)}`);
    expect(found).toEqual({ column: name.trim(), operator, value: JSON.stringify(text) });
    const type = operator.startsWith('<') || operator.startsWith('>') ? undefined : 'text';
    if (type) {
      const { value } = leafOf(found, { id: name, filter_type: type }, false);
      expect(value).toEqual(operator === 'in' || operator === 'not in' ? [text] : text);
    }
  });

  test.each([
    ['status_code=500', 'number', { operator: 'eq', value: 500 }],
    ['metrics/my score >= 0.5', 'number', { operator: 'gte', value: 0.5 }],
    ['metrics/exact_match = true', 'number', { operator: 'eq', value: 1 }],
    ['input contains what is 6 = 6?', 'text', { operator: 'contains', value: 'what is 6 = 6?' }],
    ['name NOT  IN a, "b, c" ,d', 'text', { operator: 'not_in', value: ['a', 'b, c', 'd'] }],
    ['tags in a', 'collection', { operator: 'one_of', value: ['a'] }],
    ['has_children != false', 'boolean', { operator: 'ne', value: false }],
    ['created_at < 2026-01-31 08:00', 'date', { operator: 'lt', value: '2026-01-31T08:00Z' }],
    ['user_metadata/contains = x', 'text', { column_id: 'user_metadata/contains', operator: 'eq' }],
  ])('%s', (text, filter_type, leaf) => {
    const condition = conditionOf(text);
    expect(leafOf(condition, { id: condition.column, filter_type }, false)).toMatchObject({ type: filter_type, ...leaf });
  });

  test.each([
    [
      'status_code',
      undefined,
      /"status_code" is no condition: write a column, one of = != < <= > >= contains in not in, and a value/,
    ],
    ['status_code =', undefined, /is no condition/],
    ['= 5', undefined, /is no condition/],
    ['status_code contains 5', 'number', /status_code is a number column: it takes = != < <= > >=, and not contains/],
    ['status_code = five', 'number', /status_code is a number column, and "five" is no number/],
    ['has_children = maybe', 'boolean', /has_children is true or false, and not "maybe"/],
    ['created_at > yesterday', 'date', /created_at takes 15m, 2h, 3d or 1w \(ago\), or a time/],
    ['created_at > 2026-13-01', 'date', /created_at takes 15m/],
    ['feedback = 1', 'something new', /feedback cannot be filtered by/],
  ])('%s is refused', (text, filter_type, sentence) => {
    expect(() => leafOf(conditionOf(text), { id: text.split(' ')[0] ?? '', filter_type }, false)).toThrow(sentence);
  });

  property.prop([fc.string({ minLength: 1, unit: 'grapheme' })])('on rows of a dataset has the same quotes', async (text) => {
    const { filter } = await rowSelection({} as never, 'no project', [`filter=input != ${JSON.stringify(text)}`]);
    expect(filter).toEqual([{ columnName: 'input', operator: 'ne', value: text }]);
  });

  test('a time ago, or one in words', () => {
    const now = new Date('2026-01-31T08:00:00Z');
    expect(['90s', '15m', '2h', '3d', '1w'].map((text) => timeOf(text, 'a', now))).toEqual([
      ...['2026-01-31T07:58:30.000Z', '2026-01-31T07:45:00.000Z', '2026-01-31T06:00:00.000Z'],
      ...['2026-01-28T08:00:00.000Z', '2026-01-24T08:00:00.000Z'],
    ]);
    expect(timeOf('2026-01-31T08:00:00+02:00', 'a')).toBe('2026-01-31T08:00:00+02:00');
    expect(timeOf('2026-01-31', 'a')).toBe('2026-01-31T00:00:00Z');
  });
});
