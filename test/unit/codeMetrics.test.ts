import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { editDistance } from '../../shared/identifiers/editDistance.ts';
import { bleu } from '../../shared/metrics/bleu.ts';
import { contains } from '../../shared/metrics/contains.ts';
import type { Metric, Score } from '../../shared/metrics/metric.ts';
import { rouge } from '../../shared/metrics/rouge.ts';
import { scoreRecord } from '../../shared/metrics/scoreRecord.ts';
import { similarity } from '../../shared/metrics/similarity.ts';
import { numbersIn } from '../../shared/metrics/writtenNumbers.ts';

function score(metric: Metric, output: string, datasetOutput: string, signal = new AbortController().signal): Promise<Score> {
  const nothing = { input: null, datasetInput: null, durationNs: null, errorMessage: null, model: null };
  const noTokens = { inputTokens: null, outputTokens: null, totalTokens: null };
  const record = { kind: 'trace', name: 'a record', metadata: {}, ...nothing, ...noTokens, output, datasetOutput } as const;
  return scoreRecord(metric, record, { signal, complete: () => Promise.reject(new Error('no judge is asked')) });
}

/** Few different characters, so that there is much to find; long enough for several blocks of 32. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'B', ' ', 'é', '\u{1F600}', '1'), maxLength: 150 });
const sentence = fc
  .array(fc.constantFrom('the', 'cat', 'sat', 'on', 'mat', 'İ', '7'), { maxLength: 150 })
  .map((words) => words.join(' '));

const table = (
  a: readonly string[],
  b: readonly string[],
  cell: (left: number, above: number, both: number, same: boolean) => number,
) => ({
  lastOf(first: (at: number) => number): number {
    let above = Array.from({ length: b.length + 1 }, (_, column) => first(column));
    for (const [row, one] of a.entries()) {
      const current = [first(row + 1)];
      for (const [column, other] of b.entries())
        current.push(cell(current[column] as number, above[column + 1] as number, above[column] as number, one === other));
      above = current;
    }
    return above[b.length] as number;
  },
});

const wordsOf = (one: string): string[] => one.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

describe('metrics of code give what their plain definitions give', () => {
  propertyTest.prop([text, text], { numRuns: 500 })('edit distance: the table of Levenshtein', (a, b) => {
    const distance = table(a.split(''), b.split(''), (left, above, both, same) =>
      Math.min(left + 1, above + 1, both + (same ? 0 : 1)),
    ).lastOf((at) => at);
    expect(editDistance(a, b)).toBe(distance);
  });

  propertyTest.prop([sentence, sentence], { numRuns: 500 })(
    'ROUGE-L: the table of the longest common subsequence',
    async (a, b) => {
      const [words, reference] = [wordsOf(a), wordsOf(b)];
      fc.pre(reference.length > 0);
      const common = table(words, reference, (left, above, both, same) => (same ? both + 1 : Math.max(left, above))).lastOf(
        () => 0,
      );
      expect(await score(rouge, a, b)).toEqual({ value: (2 * common) / (words.length + reference.length) });
    },
  );

  propertyTest.prop([sentence, sentence])('BLEU: the clipped counts of runs of up to 4 words', async (a, b) => {
    const [words, reference] = [wordsOf(a), wordsOf(b)];
    fc.pre(words.length > 0 && reference.length > 0);
    const counted = (of: string[], order: number) =>
      Map.groupBy(of.slice(order - 1).keys(), (at) => of.slice(at, at + order).join(' '));
    const orders = Array.from({ length: Math.min(4, words.length, reference.length) }, (_, at) => at + 1);
    const logs = orders.map((order) => {
      const wanted = counted(reference, order);
      const hits = [...counted(words, order)].reduce(
        (sum, [run, at]) => sum + Math.min(at.length, wanted.get(run)?.length ?? 0),
        0,
      );
      const smoothing = order > 1 ? 1 : 0;
      return Math.log((hits + smoothing) / (words.length - order + 1 + smoothing));
    });
    const brevity = Math.min(0, 1 - reference.length / words.length);
    const { value } = (await score(bleu, a, b)) as { value: number };
    expect(value).toBe(Math.exp(brevity + logs.reduce((sum, log) => sum + log, 0) / orders.length));
  });

  propertyTest.prop([text, text], { numRuns: 500 })('contains: the text of one in the other', async (a, b) => {
    fc.pre(b.trim() !== '');
    expect(await score(contains, a, b)).toEqual({ value: a.toLowerCase().includes(b.trim().toLowerCase()) });
    expect(await score(contains, a + b.trim().toUpperCase() + a, b)).toEqual({
      value: (a + b.trim().toUpperCase() + a).toLowerCase().includes(b.trim().toLowerCase()),
    });
  });

  test('the last number is found among many', () => {
    expect(numbersIn(`${'1 '.repeat(5_000)}x 2,000.50 y`).at(-1)).toBe('2000.5');
  });
});

describe('words of every script', () => {
  const figureOf = async (metric: Metric, output: string, reference: string) =>
    ((await score(metric, output, reference)) as { value: number }).value;

  test.each([
    ['bleu', bleu],
    ['rouge', rouge],
  ] as const)('%s', async (_, metric) => {
    expect(await figureOf(metric, 'मेरा कीताब यहूँ ही', 'मेरी किताब यहाँ है')).toBe(0);
    for (const [output, reference] of [
      ['今天天气不好', '今天天气很好'],
      ['วันนี้อากาศไม่ดี', 'วันนี้อากาศดีมาก'],
      ['C#', 'C++'],
      ['I like C', 'I like C#'],
      ['it costs €5', 'it costs $5'],
      ['runs on NET', 'runs on .NET'],
      ['it is 5', 'it is -5'],
      ['it is 5', 'it is 5 %'],
    ] as const) {
      expect(await figureOf(metric, output, output), output).toBeCloseTo(1);
      expect(await figureOf(metric, output, reference), output).toBeLessThan(1);
    }
    expect(await figureOf(metric, '今天天气不好', '今天天气很好')).toBeGreaterThan(0);
    expect(await figureOf(metric, 'วันนี้อากาศไม่ดี', 'วันนี้อากาศดีมาก')).toBeGreaterThan(0);
    expect(await figureOf(metric, '👍', '👎')).toBe(0);
  });

  propertyTest.prop([fc.string({ unit: fc.constantFrom('é', 'ü', 'ñ', '각', 'क', 'ि', 'İ', ' ', 'a'), maxLength: 60 })])(
    'composed and decomposed forms of a text are alike',
    async (one) => {
      fc.pre(one.trim() !== '');
      const [composed, decomposed] = [one.normalize('NFC'), one.normalize('NFD')];
      for (const metric of [bleu, rouge, similarity]) expect(await figureOf(metric, composed, decomposed)).toBeCloseTo(1);
      expect(await score(contains, composed, decomposed)).toEqual({ value: true });
    },
  );
});

describe('the event loop', () => {
  const long = (seed: number) =>
    Array.from({ length: 20_000 }, (_, at) => String.fromCharCode(97 + ((at * at + seed * at) % 26))).join('');
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test.each([
    ['similarity', similarity, long],
    ['rouge', rouge, (seed: number) => long(seed).split('').join(' ')],
    ['bleu', bleu, (seed: number) => long(seed).split('').join(' ')],
  ] as const)(
    '%s of long texts gives it back between pieces, and all lanes share the time of a turn',
    async (_, metric, make) => {
      let finished = 0;
      const lanes = [1, 2, 3, 4, 5].map((seed) =>
        score(metric, make(seed), make(seed + 1)).then((result) => {
          finished++;
          return result;
        }),
      );
      const inTurns: number[] = [];
      while (finished < lanes.length) {
        const before = finished;
        await turn();
        inTurns.push(finished - before);
      }
      // Each takes more than the time of one turn: two that end in the same turn would have taken that time twice.
      expect(Math.max(...inTurns)).toBe(1);
      expect(inTurns.length).toBeGreaterThan(lanes.length);
      for (const result of await Promise.all(lanes)) expect(result).toHaveProperty('value');
    },
  );

  test('a short metric does not wait for the long ones before it', async () => {
    const ended: string[] = [];
    const lanes = [1, 2, 3].map((seed) => score(similarity, long(seed), long(seed + 1)).then(() => ended.push('long')));
    await Promise.all([...lanes, score(contains, 'Four.', 'four').then(() => ended.push('short'))]);
    expect(ended).toEqual(['short', 'long', 'long', 'long']);
  });

  test('an abort ends what is being computed and what waits, and leaves the others', async () => {
    const abort = new AbortController();
    const lanes = [score(similarity, long(1), long(2), abort.signal), score(similarity, long(2), long(3), abort.signal)];
    const other = score(similarity, long(3), long(3));
    const ends = Promise.allSettled(lanes);
    await turn();
    const reason = new Error('the run was cancelled');
    abort.abort(reason);
    expect(await ends).toEqual(lanes.map(() => ({ status: 'rejected', reason })));
    expect(await other).toEqual({ value: 1 });
  });
});
