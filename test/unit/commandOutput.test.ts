import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fc, test as property } from '@fast-check/vitest';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { failureReasons } from '../../cli/failures/failureReasons.ts';
import { failuresText } from '../../cli/output/failuresText.ts';
import { jsonArrayOf } from '../../cli/output/jsonArrayOf.ts';
import { progressLine, progressText } from '../../cli/output/progressText.ts';
import { table } from '../../cli/output/table.ts';
import { plainReason } from '../../cli/terminal/plainReason.ts';
import type { ExperimentProgress } from '../../client/index.ts';

const usage = (cost: number | null) => ({ run: { cost }, judges: { cost } });
const progress = (fields: object = {}): ExperimentProgress =>
  ({
    ...{ state: 'running', rows_done: 40, rows_total: 100, rows_failed: 2, rows_per_second: 12.3 },
    ...{ scores_done: 0, scores_total: 100, usage: usage(0.062), ...fields },
  }) as unknown as ExperimentProgress;

test.each([
  ['POST /x answered 422: body.concurrency: Too big: expected number to be <=1000', 'concurrency must be at most 1000'],
  ['body.max_failed: Too big: expected number to be <=1', 'max failed must be at most 1'],
  ['body.name: Too small: expected string to have >=1 characters', 'name must be at least 1 characters'],
  ['body.range.max: must be above min', 'max must be above min'],
  [
    'POST /x answered 422: body.metrics.0.metric: no row has a value of "a"; the closest are b, c; body.rows.ids.0: Invalid UUID',
    'no row has a value of "a"; the closest are b, c; ids: Invalid UUID',
  ],
  ['name the rows: dataset', 'name the rows: dataset'],
])('what a service says of %j is %j for a person who sent no request', (said, plain) => {
  expect(plainReason(said)).toBe(plain);
});

describe('how far a run is', () => {
  test('is said with failures, the time left, the rate and the cost of its calls and judges', () => {
    expect(progressLine(progress())).toBe('40/100 rows, 2 failed, 4.9 s left, 12 rows/s, $0.12');
    expect(progressLine(progress({ usage: usage(null), rows_failed: 0, rows_per_second: null }))).toBe('40/100 rows');
    const figures = [{ metric: 'exact_match', figure: 0.61, values: 38 }];
    expect(progressLine(progress({ figures }))).toBe(
      '40/100 rows, 2 failed, 4.9 s left, 12 rows/s, $0.12, exact_match 0.61 of 38',
    );
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

describe('why rows failed', () => {
  const failed = (messages: readonly string[]) =>
    messages.map((message, row) => ({ row, trial: 0, trace_id: `trace-${row}`, message }));
  const reasonsOf = (...messages: string[]) => failureReasons(failed(messages)).map(({ reason, count }) => `${count} ${reason}`);

  test.each([
    ['numbers', ['timeout after 5000 ms', 'timeout after 5123.5 ms'], ['2 timeout after <n> ms']],
    ['places', ['line 3 column 5 (char 7)', 'line 13 column 51 (char 71)'], ['2 line <n> column <n> (char <n>)']],
    ['numbers behind a word', ['user123 is gone', 'user9 is gone'], ['2 user<n> is gone']],
    ['ids of requests', ['request req_011CSHoEeqs5C35K', 'request req_0aaaaEeqs5C35K2'], ['2 request <id>']],
    ['UUIDs', ['no 3fa85f64-5717-4562-b3fc-2c963f66afa6', 'no 3fa85f64-5717-4562-b3fc-2c963f66afa7'], ['2 no <id>']],
    ['times', ['at 2026-01-01T00:00:00Z', 'at 2026-01-02T00:00:00.123Z'], ['2 at <time>']],
    ['ports', ['connect ECONNREFUSED 127.0.0.1:8080', 'connect ECONNREFUSED 127.0.0.1:9090'], ['2 connect ECONNREFUSED <n>']],
  ])('%s make no difference', (_, messages, reasons) => {
    expect(reasonsOf(...messages)).toEqual(reasons);
  });

  test('statuses and names of models do, and one message is shown as it is', () => {
    const different = [
      'status 404',
      'status 500',
      'the endpoint answered 429 x',
      'the endpoint answered 503 x',
      'no gpt-4o',
      'no gpt-5',
    ];
    expect(reasonsOf(...different)).toEqual(different.map((message) => `1 ${message}`));
    expect(reasonsOf('took 12 s\n  of 10', 'took 12 s\n  of 10')).toEqual(['2 took 12 s of 10']);
  });

  test('what stands in quotes makes none where there would be more than ten reasons', () => {
    const messages = [...'abcdefghijkl'].map((letter) => `"${letter}" is not valid JSON`);
    expect(reasonsOf(...messages.slice(0, 3))).toHaveLength(3);
    expect(reasonsOf(...messages)).toEqual(['12 "…" is not valid JSON']);
  });

  property.prop([fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 30 }), fc.integer({ min: 60, max: 120 })])(
    'every row is counted once, and lines fit',
    (messages, width) => {
      const reasons = failureReasons(failed(messages));
      expect(reasons.reduce((sum, { count }) => sum + count, 0)).toBe(messages.length);
      for (const { count, examples } of reasons) expect(examples).toHaveLength(Math.min(3, count));
      const lines = failuresText({ reasons, read: messages.length, failed: messages.length }, 'p', width).split('\n');
      for (const line of lines.slice(0, -1)) expect(stringWidth(line)).toBeLessThanOrEqual(width);
    },
  );
});
