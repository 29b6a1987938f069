import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { entriesAt, jsonPieceOf } from '../../shared/wire/jsonPieces.ts';

const branch = fc.jsonValue().filter((value) => typeof value === 'object' && value !== null);

test.prop([branch, fc.constantFrom(0, 2), fc.constantFrom('', ' ', '\n\t')])(
  'the entries of a JSON text are the pieces of it that hold them',
  (written, space, blank) => {
    const text = `${blank}${JSON.stringify(written, undefined, space)}${blank}`;
    const value = JSON.parse(text); // without what JSON cannot say, as -0
    const piece = jsonPieceOf(text);
    expect(JSON.parse(text.slice(piece?.start, piece?.end))).toEqual(value);
    const { entries = [] } = entriesAt(text, piece?.start ?? 0) ?? {};
    const read = entries.map(({ name, start, end }) => [name && JSON.parse(name), JSON.parse(text.slice(start, end))]);
    expect(read).toEqual(Array.isArray(value) ? value.map((one) => [undefined, one]) : Object.entries(value));
  },
);

test('levels by the ten thousand are one piece', () => {
  const text = `${'[{"a":'.repeat(10_000)}1${'}]'.repeat(10_000)}`;
  expect(jsonPieceOf(text)).toMatchObject({ start: 0, end: text.length, entries: [{ start: 1, end: text.length - 1 }] });
});

test.each(['', 'a text', '{', '[1,', '[1] and more', '{"a" 1}', '{"a":}', '[,]', '{1: 2}', '["open', '[[1}', '{"a":"b'])(
  'what is no JSON has no pieces: %s',
  (text) => {
    expect(jsonPieceOf(text)).toBeUndefined();
  },
);
