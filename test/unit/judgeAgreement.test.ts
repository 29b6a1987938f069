import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { compareSides, MOST_LABELS, type TwoSides } from '../../shared/agreement/compareSides.ts';
import { type JudgedScale, type SharedLabels, sharedLabels } from '../../shared/agreement/sharedLabels.ts';
import type { RatingValue } from '../../shared/annotations/summarize.ts';
import type { StoredConstraints } from '../../shared/wire/annotations.ts';

const none = { judge: null, people: null };
const shared = (scale: JudgedScale, constraints: StoredConstraints): SharedLabels => {
  const found = sharedLabels(scale, constraints, none);
  if ('problem' in found) throw new Error(found.problem);
  return found;
};
const tree = [{ id: 'a', label: 'Tone', children: [{ id: 'b', label: 'Warm', children: [] }] }];
const yesOrNo: JudgedScale = { dataType: 'boolean', range: { min: 0, max: 1 } };
const words: JudgedScale = { dataType: 'text', range: null };
const grades = (min: number, max: number): JudgedScale => ({ dataType: 'number', range: { min, max } });

/** Sides that speak the same language: what one says, the other can say as well. */
const languages: { scale: JudgedScale; constraints: StoredConstraints; value: fc.Arbitrary<RatingValue> }[] = [
  { scale: yesOrNo, constraints: { annotation_type: 'like_dislike' }, value: fc.boolean() },
  { scale: grades(1, 5), constraints: { annotation_type: 'star' }, value: fc.integer({ min: 1, max: 5 }) },
  { scale: grades(0, 104), constraints: { annotation_type: 'score', min: 0, max: 104 }, value: fc.integer({ min: 0, max: 104 }) },
  {
    scale: words,
    constraints: { annotation_type: 'choice', choices: ['Warm', '__proto__'], allow_other: true },
    value: fc.constantFrom('Warm', '__proto__', 'other'),
  },
  {
    scale: words,
    constraints: { annotation_type: 'tree_choice', choices_tree: tree, choices_tree_yaml: '' },
    value: fc.constantFrom('a', 'b'),
  },
  {
    scale: { dataType: 'list', range: null },
    constraints: { annotation_type: 'tags', tags: ['x', 'y'], allow_other: false },
    value: fc.constantFrom(['x'], ['y']),
  },
];
const language = fc.constantFrom(...languages);

test.prop([language.chain((one) => fc.tuple(fc.constant(one), fc.array(one.value, { maxLength: 30 })))])(
  'sides that say the same of every record agree fully, or gave one label alone',
  ([{ scale, constraints }, values]) => {
    const sides = values.map((value, index): TwoSides => ({ recordId: String(index), judge: value, people: [value] }));
    const labels = shared(scale, constraints);
    const { kappa, pairs, observed, reason, weighted, disagreements } = compareSides(labels, sides);
    expect([pairs, disagreements]).toEqual([values.length, []]);
    if (values.length > 0) expect(observed).toBeCloseTo(1, 12);
    const isTold = new Set(values.map((value) => labels.ofJudge(value))).size > 1;
    expect(kappa).toBe(isTold ? 1 : null);
    expect(reason === null).toBe(isTold);
    if (weighted) expect(weighted.kappa).toBe(kappa);
  },
);

const record = (value: fc.Arbitrary<RatingValue>) =>
  fc.record({
    judge: fc.option(fc.oneof(value, fc.jsonValue({ maxDepth: 1 })), { nil: undefined }),
    people: fc.array(value, { maxLength: 4 }),
  });

test.prop([language.chain((one) => fc.tuple(fc.constant(one), fc.array(record(one.value), { maxLength: 30 })))])(
  'every record with a side is counted once, and the table holds the pairs',
  ([{ scale, constraints }, records]) => {
    const sides = records.map((one, index): TwoSides => ({ recordId: String(index), ...one }));
    const found = compareSides(shared(scale, constraints), sides);
    const { pairs, judgeOnly, peopleOnly, undecided, unreadable } = found;
    const withSide = sides.filter(({ judge, people }) => judge !== undefined || people.length > 0).length;
    expect(pairs + judgeOnly + peopleOnly + undecided + unreadable).toBe(withSide);
    if (found.labels.length > 0) expect(found.table.flat().reduce((sum, count) => sum + count, 0)).toBe(pairs);
    const off = found.table.flatMap((row, index) => row.filter((_, column) => column !== index));
    expect(found.disagreements).toHaveLength(off.reduce((sum, count) => sum + count, 0));
    expect(found.kappa === null).toBe(found.reason !== null);
  },
);

test.prop([language.chain((one) => fc.tuple(fc.constant(one), fc.array(fc.tuple(one.value, one.value), { maxLength: 30 })))])(
  'the sides may change places',
  ([{ scale, constraints }, pairs]) => {
    const labels = shared(scale, constraints);
    const sidesOf = (turned: boolean) =>
      pairs.map(
        ([one, other], index): TwoSides => ({
          recordId: String(index),
          judge: turned ? other : one,
          people: [turned ? one : other],
        }),
      );
    const [found, turned] = [compareSides(labels, sidesOf(false)), compareSides(labels, sidesOf(true))];
    if (found.kappa === null) expect(turned.kappa).toBeNull();
    else expect(turned.kappa).toBeCloseTo(found.kappa, 12);
  },
);

test('people are of the mind of most of them, of ordered labels of the one in the middle', () => {
  const thumbs = shared(yesOrNo, { annotation_type: 'like_dislike' });
  const stars = shared(grades(1, 5), { annotation_type: 'star' });
  const decided = (labels: SharedLabels, judge: unknown, people: RatingValue[]) => {
    const { disagreements, undecided, pairs } = compareSides(labels, [{ recordId: 'r', judge, people }]);
    return undecided === 1 ? 'undecided' : pairs === 1 ? (disagreements[0]?.people ?? 'the same') : 'unreadable';
  };
  expect(decided(thumbs, true, [true, false, false])).toBe('no');
  expect(decided(thumbs, true, [true, false])).toBe('undecided');
  expect(decided(stars, 1, [1, 4, 5])).toBe('4');
  expect(decided(stars, 1, [2, 5])).toBe('undecided');
  expect(decided(stars, 'many', [2])).toBe('unreadable');
});

test('more labels than a table can show are texts', () => {
  const labels = shared(words, { annotation_type: 'choice', choices: [], allow_other: true });
  const sides = Array.from({ length: MOST_LABELS + 1 }, (_, index) => ({
    recordId: String(index),
    judge: `t${index}`,
    people: [`t${index}`],
  }));
  expect(compareSides(labels, sides)).toMatchObject({
    kappa: null,
    table: [],
    pairs: 51,
    reason: expect.stringMatching(/51 labels/),
  });
});
