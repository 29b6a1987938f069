import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonInPieces } from '../../api/http/jsonInPieces.ts';
import { eachInTurns } from '../../shared/concurrency/eachInTurns.ts';

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
      expect(Buffer.concat(await jsonInPieces(one)).toString()).toBe(JSON.stringify(one));
    }),
  ));

test('lets others in while it makes a long list', async () => {
  let turns = 0;
  const counting = setInterval(() => turns++);
  const list = Array.from({ length: 200_000 }, (_, index) => ({ index, text: 'x'.repeat(50) }));
  const pieces = await jsonInPieces({ list });
  clearInterval(counting);
  expect(JSON.parse(Buffer.concat(pieces).toString())).toEqual({ list });
  expect(turns).toBeGreaterThan(0);
});

test('lets others in while it goes through a long list, in its order', async () => {
  let turns = 0;
  const counting = setInterval(() => turns++);
  const list = Array.from({ length: 200_000 }, (_, index) => index);
  const texts: string[] = [];
  await eachInTurns(list, (index) => texts.push('x'.repeat(100) + index));
  clearInterval(counting);
  expect(texts).toEqual(list.map((index) => 'x'.repeat(100) + index));
  expect(turns).toBeGreaterThan(0);
});
