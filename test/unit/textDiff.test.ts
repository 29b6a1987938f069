import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { type DiffPart, textDiff } from '../../console/src/diff/textDiff.ts';

const bounds = { timeoutMs: 2_000, most: 200_000 };
const sideOf = (parts: readonly DiffPart[], other: DiffPart['kind']): string =>
  parts.flatMap(({ kind, text }) => (kind === other ? [] : [text])).join('');
const changes = (before: string, after: string): string =>
  textDiff(before, after, bounds)
    .parts.map(({ kind, text }) => (kind === 'same' ? text : kind === 'removed' ? `[-${text}-]` : `{+${text}+}`))
    .join('');

// Few words, so that texts have some in common, with odd spaces, halves of characters and scripts without spaces.
const text = fc.oneof(
  fc
    .array(
      fc.constantFrom('the', 'total', '72', '7.5', ' ', '  ', '\n', '\r\n', '.', 'é', '合計', '\u{1F680}', '\uD83D', '\u00A0'),
      {
        maxLength: 60,
      },
    )
    .map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary' }),
);
const anyBounds = fc.constantFrom(bounds, { timeoutMs: -1, most: 200_000 }, { timeoutMs: 2_000, most: 7 });

describe('the parts of two texts', () => {
  property.prop([text, text, anyBounds])('give back both, whatever could be compared', (before, after, given) => {
    const { parts, notCompared } = textDiff(before, after, given);
    expect([sideOf(parts, 'added'), sideOf(parts, 'removed')]).toEqual([before, after]);
    expect(parts.every((part) => part.text !== '')).toBe(true);
    if (given === bounds) expect(notCompared).toBe(0);
  });

  property.prop([text])('are one where the texts are equal', (same) => {
    expect(textDiff(same, same, bounds).parts).toEqual(same === '' ? [] : [{ kind: 'same', text: same }]);
  });

  property.prop([text, text])(
    'are never two neighbours of one kind, and a change begins with what is removed',
    (before, after) => {
      const kinds = textDiff(before, after, bounds).parts.map(({ kind }) => kind);
      for (const [index, kind] of kinds.entries()) {
        expect(kind).not.toBe(kinds[index + 1]);
        if (kind === 'added') expect(kinds[index + 1]).not.toBe('removed');
      }
    },
  );
});

test.each([
  ['so the total is 71.', 'so the total is 74.', 'so the total is [-71-]{+74+}.'],
  ['it costs 3.50 or more', 'it costs 3.75 or more', 'it costs [-3.50-]{+3.75+} or more'],
  ['one two three', 'one three', 'one [-two -]three'],
  ['привет мир', 'привет мор', 'привет [-мир-]{+мор+}'],
  ['合計は七十二です', '合計は七十四です', '合計は七十[-二-]{+四+}です'],
  ['a line\nanother', 'a line\nnew\nanother', 'a line\n{+new\n+}another'],
])('%j and %j are %j', (before, after, shown) => {
  expect(changes(before, after)).toBe(shown);
});

test('one word in texts of 5 MB is found in a moment', () => {
  const text = 'every part of it is the same '.repeat(180_000);
  const place = 2_900_000;
  const { parts, notCompared } = textDiff(text, `${text.slice(0, place)}CHANGED ${text.slice(place)}`, bounds);
  expect(parts.map(({ kind }) => kind)).toEqual(['same', 'added', 'same']);
  expect([parts[1]?.text, notCompared]).toEqual(['CHANGED ', 0]);
});

test('what is too long or takes too long is replaced as a whole, and counted', () => {
  const [before, after] = ['one '.repeat(200_000), 'two three '.repeat(100_000)];
  const { parts, notCompared } = textDiff(before, after, bounds);
  expect([sideOf(parts, 'added') === before, sideOf(parts, 'removed') === after]).toEqual([true, true]);
  expect(notCompared).toBeGreaterThan(1_000_000);
});
