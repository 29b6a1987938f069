import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { type KnownColumn, keyColumns, optionsOf, withOption } from '../../console/src/filterBar/filterCompletion.ts';
import { parseFilterText } from '../../shared/filterText/parseFilterText.ts';

const name: KnownColumn = { id: 'name', label: 'Name', filterable: true, filter_type: 'text', group_label: '' };
const word = fc.stringMatching(/^[a-z\d_.-]{1,8}$/).filter((text) => !/^(?:and|or|not|in|contains)$/.test(text));
const columnId = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => `user_metadata/${words.join(' ')}`);
const before = fc.constantFrom('', 'name = a and ', 'not ', '(user_metadata/a = b or ');

describe('completion of columns', () => {
  test.prop([columnId, fc.nat(), before])(
    'the beginning of a column of several words leads to a filter by it',
    (id, at, start) => {
      const text = start + id.slice(0, 1 + (at % id.length));
      const columns = [name, ...keyColumns([{ column_id: id, count: 1 }])];
      const option = optionsOf(text, text.length, columns).find(({ hint }) => hint === 'metadata of 1');
      const taken = option && withOption(text, text.length, option);
      expect(taken?.caret).toBe(taken?.text.length);
      const filter = parseFilterText(`${taken?.text}= x${start.startsWith('(') ? ')' : ''}`, {
        columns: [{ id: 'name', filter_type: 'text' }],
      });
      expect(JSON.stringify(filter)).toContain(JSON.stringify({ type: 'text', column_id: id, operator: 'eq', value: 'x' }));
    },
  );

  test('words that begin no column are completed by none, and those that are one also by operators', () => {
    const keys = keyColumns(['the', 'the plan'].map((key) => ({ column_id: `user_metadata/${key}`, count: 1 })));
    const texts = (text: string) => optionsOf(text, text.length, [name, ...keys]).map((option) => option.text);
    expect(texts('a na')).toEqual([]);
    expect(texts('user_metadata/the c')).toEqual(['contains ']);
    expect(texts('user_metadata/the PL')).toEqual(['"user_metadata/the plan" ']);
    expect(texts('"user_metadata/the" n')).toEqual(['not in ']);
  });
});
