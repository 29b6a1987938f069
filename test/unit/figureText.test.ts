import { expect, test } from 'vitest';
import { dollars, duration, figureText } from '../../shared/figures/figureText.ts';

test.each([
  [null, null, '–'],
  [500, null, '500'],
  [0.123456, null, '0.1235'],
  [12_345.678, null, '12346'],
  [0.95, 'percentage', '95 %'],
  [745_406, 'nano_seconds', '0.7454 ms'],
  [90_000_000_000, 'nano_seconds', '90 s'],
  [420, 'milli_seconds', '420 ms'],
  [0.00123456, 'dollars', '$0.001235'],
] as const)('%s in %s is %s', (value, unit, text) => {
  expect(figureText(value, unit)).toBe(text);
});

test('what takes or costs something is said in few words', () => {
  expect([0, 9_949, 9_950, 59_000, 200_000, 7_500_000].map(duration)).toEqual([
    '0.0 s',
    '9.9 s',
    '10 s',
    '59 s',
    '3 min 20 s',
    '2 h 5 min',
  ]);
  expect([0.000123, 0.062, 1.5, 1234].map(dollars)).toEqual(['$0.00012', '$0.062', '$1.50', '$1234.00']);
});
