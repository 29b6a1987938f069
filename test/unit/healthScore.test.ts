import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { healthScore, type Pair } from '../../shared/scoring/healthScore.ts';
import { OutputType } from '../../shared/wire/scorers.ts';

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('true', 'no', '1', '85%', '0.5', 'a, b', '["a"]', '[true,false]', '[', '', ' ', 'NaN', '1e999', '__proto__'),
);

test.prop([fc.constantFrom(...OutputType.options), fc.array(fc.tuple(anything, anything), { maxLength: 20 })])(
  'every pair is compared or unreadable, and every figure is a number or null',
  (outputType, pairs) => {
    const { type, value, secondary, compared, unreadable } = healthScore(outputType, pairs as Pair[]);
    expect(compared + unreadable).toBe(pairs.length);
    if (compared === 0 || type === null) expect(value).toBeNull();
    else for (const figure of [value, ...Object.values(secondary)]) expect(Number.isNaN(figure)).toBe(false);
    if (type?.endsWith('f1') && value !== null) expect(value >= 0 && value <= 1).toBe(true);
  },
);

const fitting = {
  boolean: fc.boolean(),
  categorical: fc.constantFrom('red', 'green', 'blue'),
  multilabel: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
  retrieved_chunk_list_boolean: fc.array(fc.boolean(), { maxLength: 4 }),
  percentage: fc.double({ min: 0, max: 1, noNaN: true }),
  count: fc.nat(),
} as const;

for (const [outputType, values] of Object.entries(fitting) as [keyof typeof fitting, fc.Arbitrary<unknown>][]) {
  test.prop([fc.array(values, { minLength: 1, maxLength: 20 })])(
    `${outputType} that says the ground truth agrees with it`,
    (scores) => {
      const said = scores.map((score) => [score, typeof score === 'string' ? score : JSON.stringify(score)] as const);
      const { value, type, unreadable } = healthScore(outputType, said);
      expect([value, unreadable]).toEqual([type?.endsWith('f1') ? 1 : 0, 0]);
    },
  );
}

describe('figures as a textbook has them', () => {
  test.each([
    // Two of three reds found, one blue taken for red: F1 of red 2/3, of blue 0.
    [
      'categorical',
      [
        ['red', 'red'],
        ['red', 'red'],
        ['blue', 'red'],
        ['red', 'blue'],
      ],
      1 / 3,
      { accuracy: 0.5 },
    ],
    [
      'multilabel',
      [
        [['a', 'b'], 'a'],
        [['c'], '["c","d"]'],
        [[], 'a'],
      ],
      4 / 7,
      { micro_precision: 2 / 3, micro_recall: 0.5, exact_match: 0 },
    ],
    [
      'retrieved_chunk_list_boolean',
      [
        [[true, false], '[true,true]'],
        [[true], '[true,false]'],
      ],
      2 / 3,
      { micro_precision: 1, micro_recall: 0.5 },
    ],
    [
      'percentage',
      [
        [0.5, '60%'],
        [1, '0.9'],
      ],
      0.01,
      { mae: 0.1, rmse: 0.1 },
    ],
    [
      'discrete',
      [
        [1, '3'],
        [5, ' 5 '],
        [2, 'two'],
      ],
      1,
      { mse: 2 },
    ],
  ] as const)('%s', (outputType, pairs, value, secondary) => {
    const found = healthScore(outputType, pairs);
    expect(found.value).toBeCloseTo(value, 10);
    for (const [name, figure] of Object.entries(secondary)) expect(found.secondary[name]).toBeCloseTo(figure, 10);
  });
});
