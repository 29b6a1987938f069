import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { type GrowingText, grownBy, noText, textOf } from '../../console/src/playground/growingText.ts';

const lines = fc.array(fc.tuple(fc.string({ maxLength: 20 }), fc.nat({ max: 300 }), fc.boolean()), { maxLength: 40 });
/** Pieces of up to some thousand characters, of which some end a line. */
const pieces = lines.map((all) => all.map(([text, times, isEnd]) => text.repeat(times) + (isEnd ? '\n' : '')));

test.prop([pieces])('a text that grows is all that came, in whole lines that never change', (all) => {
  let text: GrowingText = noText;
  for (const piece of all) {
    const { blocks: before } = text;
    text = grownBy(text, piece);
    expect(text.blocks.slice(0, before.length)).toEqual(before);
  }
  expect(textOf(text)).toBe(all.join(''));
  for (const block of text.blocks) expect(block.endsWith('\n')).toBe(true);
});

test('a long text that comes at once is in blocks, too', () => {
  const { blocks, tail } = grownBy(noText, 'a line of a long answer\n'.repeat(10_000));
  expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThan(2_100);
  expect(tail.length).toBeLessThan(2_100);
});
