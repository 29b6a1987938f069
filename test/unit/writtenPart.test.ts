import { describe, expect, test } from 'vitest';
import { writtenPart } from '../../shared/filterText/writtenPart.ts';

/** A text at the bar: column, operator, value, last word, and whether `and` may follow. */
const at = (text: string) => {
  const { column, operator, value, word, mayEnd } = writtenPart(text);
  return [column, operator, value.text, word.text, mayEnd];
};

describe('the end of a filter that is being written', () => {
  test.each([
    ['', ['', undefined, '', '', false]],
    ['na', ['', undefined, '', 'na', false]],
    ['name ', ['name', undefined, '', '', false]],
    ['name c', ['name', undefined, '', 'c', false]],
    ['name =', ['name', '=', '', '', false]],
    ['name = an', ['name', '=', 'an', 'an', false]],
    ['name = answer ', ['name', '=', 'answer ', '', true]],
    ['name = New Yo', ['name', '=', 'New Yo', 'Yo', true]],
    ['name = "New Yo', ['name', '=', 'New Yo', 'New Yo', false]],
    ['name = "New York" ', ['name', '=', 'New York', '', true]],
    ['name = answer and sta', ['', undefined, '', 'sta', false]],
    ['name = answer and not sta', ['', undefined, '', 'sta', false]],
    ['(a = b or not (name ', ['name', undefined, '', '', false]],
    ['tags in (prod, te', ['tags', 'in', 'te', 'te', false]],
    ['tags not in prod, ', ['tags', 'not in', '', '', false]],
    ['tags in (prod, test) ', ['tags', 'in', '', '', true]],
    ['"user_metadata/the plan" = p', ['user_metadata/the plan', '=', 'p', 'p', false]],
  ])('%j', (text, part) => expect(at(text)).toEqual(part));

  test('a value begins at its quote, a condition at its column', () => {
    expect(writtenPart('a = b and name = "New Yo')).toMatchObject({ start: 10, value: { start: 17 } });
  });
});
