import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fc, test as property } from '@fast-check/vitest';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { jsonArrayOf } from '../../cli/output/jsonArrayOf.ts';
import { progressLine, progressText } from '../../cli/output/progressText.ts';
import { table } from '../../cli/output/table.ts';
import type { ExperimentProgress } from '../../client/index.ts';

const usage = (cost: number | null) => ({ run: { cost }, judges: { cost } });
const progress = (fields: object = {}): ExperimentProgress =>
  ({
    ...{ state: 'running', rows_done: 40, rows_total: 100, rows_failed: 2, rows_per_second: 12.3 },
    ...{ scores_done: 0, scores_total: 100, usage: usage(0.062), ...fields },
  }) as unknown as ExperimentProgress;

describe('how far a run is', () => {
  test('is said with failures, the time left, the rate and the cost of its calls and judges', () => {
    expect(progressLine(progress())).toBe('40/100 rows, 2 failed, 4.9 s left, 12 rows/s, $0.12');
    expect(progressLine(progress({ usage: usage(null), rows_failed: 0, rows_per_second: null }))).toBe('40/100 rows');
    expect(progressText(progress(), 80)).toBe(
      `${'█'.repeat(10)}${'░'.repeat(17)}  40/100 rows, 2 failed, 4.9 s left, 12 rows/s, $0.12`,
    );
  });

  property.prop([
    fc.integer({ min: 20, max: 200 }),
    fc.nat(999),
    fc.nat(1_000),
    fc.option(fc.double({ min: 0, max: 1e9, noNaN: true })),
  ])('fits its line, whatever is left out', (width, done, failed, cost) => {
    const shown = progressText(progress({ rows_done: done, rows_total: 1_000, rows_failed: failed, usage: usage(cost) }), width);
    expect(stringWidth(shown)).toBeLessThanOrEqual(width);
    expect(shown).toContain(`${done}/1000 rows`);
  });
});

property.prop([
  fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), fc.nat()), { maxLength: 5 }),
  fc.integer({ min: 24, max: 120 }),
])('a table fits its width, or shows each row as a list that does', (rows, width) => {
  const shown = table(
    [{ title: 'name' }, { title: 'output' }, { title: 'rows', figure: true }],
    rows.map((row) => row.map(String)),
    width,
  );
  for (const line of shown.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(width);
});

property.prop([fc.array(fc.jsonValue()), fc.integer({ min: 1, max: 9 })])(
  'lines of JSON become one array, however they arrive',
  async (values, size) => {
    const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
    const pieces = async function* () {
      for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
    };
    expect(JSON.parse(await text(Readable.from(jsonArrayOf(pieces()))))).toEqual(JSON.parse(JSON.stringify(values)));
  },
);
