import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { flatMetrics, loggedScores, nameProblem, readScores, ScoresByName } from '../../shared/wire/readScores.ts';

const read = (given: unknown) => readScores('m', given);
const byName = (given: unknown, range?: { min: number; max: number }) => {
  const names = new ScoresByName({ rangeOf: (name) => (name === 'm' ? range : undefined), isTaken: (name) => name === 'other' });
  names.add('m', read(given));
  return Object.fromEntries(names.scores);
};

describe('results of metrics', () => {
  it.each<[string, unknown, object]>([
    ['a number', 0.5, { m: { value: 0.5 } }],
    ['true', true, { m: { value: true } }],
    ['a text', 'good', { m: { value: 'good' } }],
    ['null', null, { m: { value: null } }],
    ['nothing', undefined, { m: { value: null } }],
    ['labels', ['a', 'b'], { m: { value: ['a', 'b'] } }],
    ['numbers', [1, 0.5], { m: { value: [1, 0.5] } }],
    ['a large integer', 5n, { m: { value: 5 } }],
    ['a map', { a: 1, b: 0.5 }, { a: { value: 1 }, b: { value: 0.5 } }],
    ['a Map', new Map([['a', 1]]), { a: { value: 1 } }],
    ['a map of scores', { a: { score: 1, reason: 'r' }, b: true }, { a: { value: 1, explanation: 'r' }, b: { value: true } }],
    ['name and score', { name: 'a', score: 1 }, { a: { value: 1 } }],
    ['key, score and comment', { key: 'a', score: 0, comment: 'c' }, { a: { value: 0, explanation: 'c' } }],
    ['a score alone', { score: 1, metadata: { x: 1 } }, { m: { value: 1, metadata: { x: 1 } } }],
    ['a value', { key: 'a', value: 'good' }, { a: { value: 'good' } }],
    [
      'a label beside',
      { score: 1, label: 'ok', explanation: 'e' },
      { m: { value: 1, explanation: 'e', metadata: { label: 'ok' } } },
    ],
    ['a label alone', { label: 'ok', explanation: 'e' }, { m: { value: 'ok', explanation: 'e' } }],
    [
      'a rationale',
      { name: 'F', score: 0.6, metadata: { rationale: 'why' } },
      { F: { value: 0.6, explanation: 'why', metadata: { rationale: 'why' } } },
    ],
    ['no score', { name: 'a', score: null }, { a: { value: null } }],
    ['an error', { name: 'a', score: null, error: 'down' }, { a: { value: null, error: 'down' } }],
    ['score and metadata', [0.5, { why: 'x' }], { m: { value: 0.5, metadata: { why: 'x' } } }],
    ['score and explanation', [0.5, 'because'], { m: { value: 0.5, explanation: 'because' } }],
    ['score, label, explanation', [1, 'ok', 'e'], { m: { value: 1, explanation: 'e', metadata: { label: 'ok' } } }],
    [
      'a list of scores',
      [
        { name: 'a', score: 1 },
        { key: 'b', score: 2, comment: 'c' },
      ],
      { a: { value: 1 }, b: { value: 2, explanation: 'c' } },
    ],
    ['a list of maps', [{ a: 1 }, { b: 2 }], { a: { value: 1 }, b: { value: 2 } }],
    ['results', { results: [{ key: 'a', score: 1 }] }, { a: { value: 1 } }],
    ['a list of pairs', [[0.5, { why: 'x' }]], { m: { value: 0.5, metadata: { why: 'x' } } }],
  ])('%s', (_, given, expected) => {
    expect(byName(given)).toEqual(expected);
  });

  it.each<[string, unknown, object]>([
    ['NaN', Number.NaN, { m: 'NaN, which is no number' }],
    ['Infinity in a score', { name: 'a', score: Number.POSITIVE_INFINITY }, { a: 'Infinity, which is no number' }],
    ['NaN in a map', { a: Number.NaN, b: 1 }, { a: 'NaN' }],
    ['NaN in a list', [1, Number.NaN], { m: 'a list with NaN' }],
    [
      'a key that is misspelt',
      { score: 1, coment: 'x' },
      { m: '"coment" beside the score of {"score":1,"coment":"x"} is not known' },
    ],
    ['a misspelt score', { name: 'a', scroe: 1 }, { m: 'has a name and no score' }],
    ['an empty object', {}, { m: 'nothing to read' }],
    ['a date', new Date(0), { m: 'a Date' }],
    ['a promise in a map', { a: Promise.resolve(1) }, { a: 'a Promise' }],
    ['a function', () => 1, { m: 'a function' }],
    ['a map of maps', { a: { b: { c: 1 } }, d: 2 }, { a: 'which is no score' }],
    ['a score that is an object', { score: { a: 1 } }, { m: 'which is no score' }],
    ['a measured name', { cost: 1, a: 2 }, { m: '"cost" is no name for a metric: the service measures that itself' }],
    ['an empty name', { '': 1 }, { m: 'it is empty' }],
    ['an id as a name', { '0b8a7f9e-5a1e-4a55-9d0f-0f2f6b1d9a11': 1 }, { m: 'it is an id' }],
    ['another metric', { other: 1 }, { m: 'the name of another metric' }],
    [
      'a name twice',
      [
        { name: 'a', score: 1 },
        { name: 'a', score: 2 },
      ],
      { m: 'gave "a" twice' },
    ],
    ['two names', { name: 'a', key: 'b', score: 1 }, { m: 'one text' }],
    ['a number among scores', [{ name: 'a', score: 1 }, 3], { m: 'a list of scores holds 3' }],
    ['out of range', 7, { m: '7 is outside of its range, 1 to 5' }],
    ['out of range, explained', { score: 0, reason: 'r' }, { m: '0 is outside' }],
    ['a list out of range', [2, 0.5], { m: '0.5 is outside' }],
    ['too many names', Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`n${n}`, n])), { m: 'more than 100 names' }],
  ])('%s is a failed score that says why', (_, given, expected) => {
    const scores = byName(given, { min: 1, max: 5 });
    for (const [name, reason] of Object.entries(expected))
      expect(scores[name]).toMatchObject({ value: null, error: expect.stringContaining(reason) });
  });

  it('a part that cannot be read costs no other part', () => {
    expect(byName({ a: 1, b: Number.NaN, cost: 2 })).toMatchObject({ a: { value: 1 }, b: { value: null }, m: { value: null } });
  });

  test.prop([fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withNullPrototype: true })])(
    'anything is a value, no score, or a failure with a reason, as JSON has it',
    (given) => {
      const scores = Object.values(byName(given));
      expect(scores.length).toBeGreaterThan(0);
      for (const score of scores) {
        if (score.value === null) continue;
        expect(JSON.parse(JSON.stringify(score.value))).toEqual(Object.is(score.value, -0) ? 0 : score.value);
      }
      JSON.stringify(scores);
    },
  );
});

describe('what is logged', () => {
  it('is a score where it says one beyond doubt', () => {
    expect(loggedScores('q', { score: 0.5, comment: 'c' })).toEqual([{ name: 'q', value: 0.5, explanation: 'c' }]);
    expect(loggedScores('q', [0.5, { why: 'x' }])).toEqual([{ name: 'q', value: 0.5, metadata: { why: 'x' } }]);
    for (const other of [0.5, { a: 1 }, { score: 1, parts: 2 }, [{ a: 1 }], [[1, 2]], { content: 'x', metadata: {} }])
      expect(loggedScores('q', other)).toBeUndefined();
  });

  it('of a row, maps of values are one metric for each key, other objects stay, and ranges hold', () => {
    const others = { parts: { x: { y: 1 } }, found: [{ content: 'c', metadata: {} }], nested: [['a'], [1]] };
    const given = { quality: { a: 1, b: 0.5 }, cost: 2, grade: 9, ...others, gone: null, odd: Number.NaN, a2: 3 };
    expect(flatMetrics(given, (name) => (name === 'grade' ? { min: 1, max: 5 } : undefined))).toEqual({
      ...{ a: 1, b: 0.5, cost: 2, a2: 3, ...others, gone: null },
      grade: { score: null, error: '9 is outside of its range, 1 to 5' },
      odd: { score: null, error: 'it gave NaN, which is no number' },
    });
    expect(flatMetrics(flatMetrics(given))).toEqual(flatMetrics(given));
  });

  it('names are columns', () => {
    for (const name of ['a', 'Answer Relevancy', 'a/b', 'größe', 'a.b']) expect(nameProblem(name)).toBeUndefined();
    for (const name of ['', ' a', 'a\nb', 'duration_ns', 'x'.repeat(256), '__proto__', 5])
      expect(nameProblem(name)).toBeDefined();
  });
});
