import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { createAnnotationReads } from '../../shared/annotations/createAnnotationReads.ts';
import {
  agreementOf,
  annotationsByRecord,
  type Rating,
  type RatingValue,
  type StoredAnnotations,
  summarizeQueue,
} from '../../shared/annotations/summarize.ts';
import { FeedbackAggregate } from '../../shared/wire/annotationRatings.ts';
import type { StoredConstraints } from '../../shared/wire/annotations.ts';

const words = ['a', 'b', '__proto__', ''];
const sets: { constraints: StoredConstraints; value: fc.Arbitrary<RatingValue> }[] = [
  { constraints: { annotation_type: 'like_dislike' }, value: fc.boolean() },
  { constraints: { annotation_type: 'star' }, value: fc.integer({ min: 1, max: 5 }) },
  { constraints: { annotation_type: 'score', min: 3, max: 3 }, value: fc.constant(3) },
  { constraints: { annotation_type: 'score', min: 0, max: 104 }, value: fc.integer({ min: 0, max: 104 }) },
  // One tag each, so that tags are counted like ratings.
  {
    constraints: { annotation_type: 'tags', tags: words, allow_other: false },
    value: fc.constantFrom(...words).map((tag) => [tag]),
  },
  { constraints: { annotation_type: 'text' }, value: fc.constantFrom(...words) },
  { constraints: { annotation_type: 'choice', choices: words, allow_other: false }, value: fc.constantFrom(...words) },
];
const severalTags = {
  constraints: { annotation_type: 'tags', tags: words, allow_other: false } as const,
  value: fc.subarray(words),
};
const valuesFor = (of: StoredConstraints): fc.Arbitrary<RatingValue> =>
  (sets.find(({ constraints }) => constraints === of) as (typeof sets)[number]).value;
const rated = fc
  .constantFrom(...sets, severalTags)
  .chain(({ constraints, value }) =>
    fc.record({ constraints: fc.constant(constraints), values: fc.array(value, { maxLength: 6 }) }),
  );

test.prop([rated])('agreement is in [0, 1], 1 when all are equal, and the same in any order', ({ constraints, values }) => {
  const agreement = agreementOf(constraints, values);
  if (values.length < 2 || constraints.annotation_type === 'text') {
    expect(agreement).toBeUndefined();
    return;
  }
  expect(agreement).toBeGreaterThanOrEqual(0);
  expect(agreement).toBeLessThanOrEqual(1);
  expect(agreementOf(constraints, [...values].reverse())).toBeCloseTo(agreement as number, 12);
  expect(
    agreementOf(
      constraints,
      values.map(() => values[0] as RatingValue),
    ),
  ).toBe(1);
  if (constraints.annotation_type === 'choice' || constraints.annotation_type === 'like_dislike') {
    // The share of pairs that say the same, counted from how often each value came.
    const sizes = [...Map.groupBy(values, (value) => value).values()].map(({ length }) => length);
    const pairs = (n: number) => (n * (n - 1)) / 2;
    expect(agreement).toBeCloseTo(sizes.reduce((sum, size) => sum + pairs(size), 0) / pairs(values.length), 12);
  }
});

const [queueIds, recordIds, userIds] = [
  ['q1', 'q2'],
  ['r1', 'r2', 'r3'],
  ['u1', 'u2', 'u3'],
];
const cell = (templates: StoredAnnotations['templates'], members: StoredAnnotations['members']): fc.Arbitrary<Rating[]> => {
  const places = templates.flatMap((template) =>
    members
      .filter(({ queueId }) => queueId === template.queueId)
      .flatMap(({ recordId }) => userIds.map((userId) => ({ template, recordId, userId }))),
  );
  return fc.subarray(places).chain((chosen) =>
    fc.tuple(
      ...chosen.map(({ template, recordId, userId }) =>
        valuesFor(template.constraints).map((value) => ({
          templateId: template.id,
          ...{ recordId, userId, value, explanation: null },
        })),
      ),
    ),
  );
};
const stored: fc.Arbitrary<StoredAnnotations> = fc
  .record({
    members: fc.subarray(queueIds.flatMap((queueId) => recordIds.map((recordId) => ({ queueId, recordId })))),
    templates: fc
      .array(fc.record({ queueId: fc.constantFrom(...queueIds), set: fc.constantFrom(...sets) }), { maxLength: 4 })
      .map((list) => list.map(({ queueId, set }, index) => ({ id: `t${index}`, queueId, constraints: set.constraints }))),
    annotators: fc.subarray(queueIds.flatMap((queueId) => userIds.map((userId) => ({ queueId, userId })))),
  })
  .chain((given) => cell(given.templates, given.members).map((ratings) => ({ ...given, ratings })));

test.prop([stored])('every rating shows once on its record, and the sums count all of them', (given) => {
  const byRecord = annotationsByRecord(given);
  expect([...byRecord.keys()].sort()).toEqual([...new Set(given.members.map(({ recordId }) => recordId))].sort());
  const shown = [...byRecord].flatMap(([recordId, { annotations }]) =>
    Object.entries(annotations).flatMap(([templateId, of]) =>
      Object.entries(of).map(([userId, { value, explanation }]) => ({ templateId, recordId, userId, value, explanation })),
    ),
  );
  const inOrder = (ratings: readonly Rating[]) =>
    ratings.map((rating) => JSON.stringify(rating, Object.keys(rating).sort())).sort();
  expect(inOrder(shown)).toEqual(inOrder(given.ratings));
  for (const [recordId, fields] of byRecord) {
    const own = given.members.filter((member) => member.recordId === recordId).map(({ queueId }) => queueId);
    const asked = given.templates.filter(({ queueId }) => own.includes(queueId));
    const answered = asked.filter(({ id }) => given.ratings.some((one) => one.templateId === id && one.recordId === recordId));
    expect(fields.fully_annotated).toBe(asked.length > 0 && answered.length === asked.length);
    for (const { id } of answered)
      expect(countOf(fields.annotation_aggregates[id])).toBe(Object.keys(fields.annotations[id] ?? {}).length);
  }
});

test.prop([stored])('the ratings of runs are counted once, by what was rated, in the shape of the interface', async (given) => {
  const rootTypes = { r1: 'trace', r2: 'span' } as const; // r3 is gone
  const rootTypeOf = (recordId: string) => rootTypes[recordId as keyof typeof rootTypes];
  const runOf = (recordId: string) => (recordId === 'r1' ? 'run 1' : 'run 2');
  const members = given.members.map((member) => ({ ...member, runId: runOf(member.recordId) }));
  const pageSize = 2;
  const reads = createAnnotationReads(
    {
      ...{ hasQueuedRecords: async () => true, annotationsOf: async () => given },
      ...{ fullyAnnotated: async () => [], templatesOfRun: async () => [] },
      ratedTemplates: async () => given.templates.filter(({ id }) => given.ratings.some((one) => one.templateId === id)),
      async queuedRecordsOf(_, __, queues, { after, limit }) {
        expect(limit).toBe(pageSize);
        const from = after ? members.indexOf(after as (typeof members)[number]) + 1 : 0;
        return members.filter(({ queueId }, index) => index >= from && queues.includes(queueId)).slice(0, limit);
      },
      ratingCounts: async (records) =>
        records.flatMap(({ runId, queueId, recordId, rootType }) =>
          given.templates.flatMap((template) =>
            given.ratings
              .filter((one) => template.queueId === queueId && one.templateId === template.id && one.recordId === recordId)
              .map(({ templateId, value }, index) => ({
                ...{ runId, templateId, rootType, value, count: 1 },
                records: index === 0 ? 1 : 0,
              })),
          ),
        ),
    },
    async () => (_, recordId) => rootTypeOf(recordId),
    pageSize,
  );
  const byRun = await reads.ratingsOfRuns('a project', ['run 1', 'run 2']);
  const counted: string[] = [];
  for (const [runId, templates] of byRun)
    for (const [templateId, types] of Object.entries(templates))
      for (const [type, sum] of Object.entries(types)) {
        expect(Object.keys(FeedbackAggregate.parse(sum).aggregate).sort()).toEqual(Object.keys(sum.aggregate).sort());
        const { aggregate } = sum;
        const ofTemplate = given.ratings.filter((one) => one.templateId === templateId && rootTypeOf(one.recordId) === type);
        const queueId = given.templates.find(({ id }) => id === templateId)?.queueId;
        const inQueue = given.members.filter((one) => one.queueId === queueId && rootTypeOf(one.recordId) === type);
        expect(aggregate.unrated_count).toBe(inQueue.length - new Set(ofTemplate.map(({ recordId }) => recordId)).size);
        if ('average' in aggregate)
          expect(aggregate.average).toBeCloseTo(meanOf(ofTemplate.map(({ value }) => value as number)), 12);
        if (aggregate.feedback_type === 'text') expect(aggregate.count).toBe(ofTemplate.length);
        if ('counts' in aggregate) expect(Object.values(aggregate.counts).reduce((a, b) => a + b, 0)).toBe(ofTemplate.length);
        counted.push(`${runId}/${templateId}/${type}`);
      }
  const wanted = given.ratings.flatMap(({ templateId, recordId }) =>
    rootTypeOf(recordId) ? [`${runOf(recordId)}/${templateId}/${rootTypeOf(recordId)}`] : [],
  );
  expect(counted.sort()).toEqual([...new Set(wanted)].sort());
});

test.prop([stored])('a queue is the sum of its records', (given) => {
  const queueId = 'q1';
  const templates = given.templates.filter((template) => template.queueId === queueId);
  const ofQueue: StoredAnnotations = {
    templates,
    members: given.members.filter((member) => member.queueId === queueId),
    annotators: given.annotators.filter((annotator) => annotator.queueId === queueId),
    ratings: given.ratings.filter(({ templateId }) => templates.some(({ id }) => id === templateId)),
  };
  const summary = summarizeQueue(ofQueue);
  const records = [...annotationsByRecord(ofQueue).values()];
  expect(summary.fullyAnnotated).toBe(records.filter(({ fully_annotated }) => fully_annotated).length);
  for (const { id } of templates) {
    const given = ofQueue.ratings.filter(({ templateId }) => templateId === id);
    expect(countOf(summary.aggregates[id])).toBe(given.length);
    const rated = new Set(given.map(({ recordId }) => recordId)).size;
    if (given.length > 0) expect(summary.aggregates[id]?.aggregate.unrated_count).toBe(ofQueue.members.length - rated);
    const byAnnotator = Object.values(summary.byAnnotator).map((of) => countOf(of[id]));
    expect(byAnnotator.reduce((sum, count) => sum + count, 0)).toBe(given.length);
  }
  const agreements = records.flatMap(({ overall_annotation_agreement: one }) => (one === null ? [] : [one]));
  expect(summary.agreement?.buckets.reduce((sum, { count }) => sum + count, 0) ?? 0).toBe(agreements.length);
});

const meanOf = (numbers: number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

/** How many ratings an aggregate counts. */
function countOf(sum: ReturnType<typeof summarizeQueue>['aggregates'][string] | undefined): number {
  if (!sum) return 0;
  const { aggregate } = sum;
  switch (aggregate.annotation_type) {
    case 'like_dislike':
      return aggregate.like_count + aggregate.dislike_count;
    case 'score':
      return aggregate.buckets.reduce((total, { count }) => total + count, 0);
    case 'text':
      return aggregate.count;
    default:
      return Object.values(aggregate.counts).reduce((total, count) => total + count, 0);
  }
}
