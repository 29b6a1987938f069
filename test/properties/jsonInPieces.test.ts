import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonInPieces } from '../../api/jsonInPieces.ts';

const value = fc.oneof(fc.jsonValue(), fc.date({ noInvalidDate: true }), fc.constant(undefined), fc.constant(Number.NaN));
const answer = fc.oneof(
  fc.jsonValue(),
  fc.date({ noInvalidDate: true }),
  fc.array(value),
  fc.dictionary(fc.string(), fc.oneof(value, fc.array(value))),
);

test('is the text that JSON.stringify makes', () =>
  fc.assert(
    fc.asyncProperty(answer, async (one) => {
      expect(await jsonInPieces(one)).toBe(JSON.stringify(one));
    }),
  ));

test('lets others in while it makes a long list', async () => {
  let turns = 0;
  const counting = setInterval(() => turns++);
  const list = Array.from({ length: 200_000 }, (_, index) => ({ index, text: 'x'.repeat(50) }));
  const text = await jsonInPieces({ list });
  clearInterval(counting);
  expect(JSON.parse(text)).toEqual({ list });
  expect(turns).toBeGreaterThan(0);
});
