import type { RatedTemplate } from '../records/annotationReads.ts';
import {
  type AnnotationAggregate,
  type AnnotationRating,
  noAnnotations,
  type RecordAnnotations,
} from '../wire/annotationRatings.ts';
import type { AnnotationAgreementAggregate, StoredConstraints } from '../wire/annotations.ts';

export type RatingValue = AnnotationRating['value'];

/** Ratings with what is needed to sum them up: of some records of one run, or of one queue. */
export interface StoredAnnotations {
  /** Which record is in which queue. */
  members: readonly { queueId: string; recordId: string }[];
  /** The templates of these queues, in their order. */
  templates: readonly RatedTemplate[];
  /** The users of these queues who are there to rate. */
  annotators: readonly { queueId: string; userId: string }[];
  ratings: readonly Rating[];
}

export interface Rating {
  templateId: string;
  recordId: string;
  userId: string;
  value: RatingValue;
  explanation: string | null;
}

/** The annotation fields of every record that is in a queue. */
export function annotationsByRecord(stored: StoredAnnotations): Map<string, RecordAnnotations> {
  const ratings = Map.groupBy(stored.ratings, ({ recordId }) => recordId);
  return new Map(
    [...Map.groupBy(stored.members, ({ recordId }) => recordId)].map(([recordId, members]) => [
      recordId,
      ofRecord(
        members.map(({ queueId }) => queueId),
        stored,
        ratings.get(recordId) ?? [],
      ),
    ]),
  );
}

function ofRecord(queueIds: string[], stored: StoredAnnotations, ratings: readonly Rating[]): RecordAnnotations {
  const fields = noAnnotations();
  const templates = stored.templates.filter(({ queueId }) => queueIds.includes(queueId));
  const byTemplate = Map.groupBy(ratings, ({ templateId }) => templateId);
  for (const { id, queueId, constraints } of templates) {
    const given = byTemplate.get(id) ?? [];
    if (given.length === 0) continue;
    fields.annotations[id] = Object.fromEntries(
      given.map(({ userId, value, explanation }) => [
        userId,
        { annotation_type: constraints.annotation_type, value, explanation },
      ]),
    );
    const raters = new Set(given.map(({ userId }) => userId));
    const unrated = stored.annotators.filter((one) => one.queueId === queueId && !raters.has(one.userId)).length;
    const values = given.map(({ value }) => value);
    fields.annotation_aggregates[id] = aggregateOf(constraints, eachOnce(values), unrated);
    const agreement = agreementOf(constraints, values);
    if (agreement !== undefined) fields.annotation_agreement[id] = agreement;
  }
  fields.annotation_queue_ids = [...queueIds].sort();
  fields.overall_annotation_agreement = mean(Object.values(fields.annotation_agreement));
  fields.fully_annotated = templates.length > 0 && templates.every(({ id }) => byTemplate.has(id));
  return fields;
}

const mean = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** A value of ratings, and how many gave it. */
export interface ValueCount<T = RatingValue> {
  value: T;
  count: number;
}

const eachOnce = (values: readonly RatingValue[]): ValueCount[] => values.map((value) => ({ value, count: 1 }));
const total = (given: readonly ValueCount<unknown>[]): number => given.reduce((sum, { count }) => sum + count, 0);

/** Ratings of one template, summed up; there is at least one. `unrated` is given through. */
export function aggregateOf(
  constraints: StoredConstraints,
  given: readonly ValueCount[],
  unrated: number,
  ties: number | null = null,
): AnnotationAggregate {
  const unrated_count = unrated;
  const type = constraints.annotation_type;
  switch (constraints.annotation_type) {
    case 'like_dislike': {
      const likes = total(given.filter(({ value }) => value === true));
      const sums = { like_count: likes, dislike_count: total(given) - likes, tie_count: ties };
      return { aggregate: { annotation_type: 'like_dislike', ...sums, unrated_count } };
    }
    case 'star': {
      const average = averageOf(given as ValueCount<number>[]);
      return { aggregate: { annotation_type: 'star', average, counts: countsOf(given), unrated_count } };
    }
    case 'score': {
      const scores = given as ValueCount<number>[];
      const buckets = scoreBuckets(constraints, scores);
      return { aggregate: { annotation_type: 'score', average: averageOf(scores), buckets, unrated_count } };
    }
    case 'text':
      return { aggregate: { annotation_type: 'text', count: total(given), unrated_count } };
    default:
      return {
        aggregate: { annotation_type: type as 'tags', counts: countsOf(given), unrated_count },
      };
  }
}

const averageOf = (given: readonly ValueCount<number>[]): number =>
  given.reduce((sum, { value, count }) => sum + value * count, 0) / total(given);

/** How often each text is there, of lists each of theirs. Texts are people's own, so no name has a meaning. */
function countsOf(given: readonly ValueCount[]): Record<string, number> {
  const texts = given.flatMap(({ value, count }) => [value].flat().map((one) => ({ value: String(one), count })));
  return Object.fromEntries([...Map.groupBy(texts, ({ value }) => value)].map(([text, same]) => [text, total(same)]));
}

const MAX_BUCKETS = 10;

/** At most ten buckets of equal width from `min` on; the last one is open, and ends with `max`. */
function scoreBuckets({ min, max }: { min: number; max: number }, scores: readonly ValueCount<number>[]) {
  const width = Math.ceil((max - min + 1) / MAX_BUCKETS);
  const count = Math.ceil((max - min + 1) / width);
  return Array.from({ length: count }, (_, index) => {
    const from = min + index * width;
    const until = index === count - 1 ? null : from + width;
    const inside = scores.filter(({ value }) => value >= from && (until === null || value < until));
    return { min_inclusive: from, max_exclusive: until, count: total(inside) };
  });
}

/**
 * How far these ratings agree: the mean over all pairs of annotators, in [0, 1]. Two ratings agree fully when they are equal; stars and scores by
 * how near they are on their scale, tags by the share of tags that both gave. Undefined for fewer than two ratings, and for texts, which no two
 * people write alike.
 */
export function agreementOf(constraints: StoredConstraints, values: readonly RatingValue[]): number | undefined {
  const { annotation_type: type } = constraints;
  if (values.length < 2 || type === 'text') return undefined;
  if (type === 'tags') return meanOfPairs(values as string[][], sharedTags);
  if (type !== 'star' && type !== 'score') return meanOfPairs(values, (a, b) => (a === b ? 1 : 0));
  const range = type === 'star' ? 4 : constraints.max - constraints.min;
  return meanOfPairs(values as number[], (a, b) => (a === b ? 1 : 1 - Math.abs(a - b) / range));
}

function meanOfPairs<T>(values: readonly T[], agree: (a: T, b: T) => number): number {
  let sum = 0;
  for (const [index, one] of values.entries()) for (const other of values.slice(index + 1)) sum += agree(one, other);
  return sum / ((values.length * (values.length - 1)) / 2);
}

function sharedTags(a: readonly string[], b: readonly string[]): number {
  const all = new Set([...a, ...b]);
  const others = new Set(b);
  const shared = [...new Set(a)].filter((tag) => others.has(tag));
  return all.size === 0 ? 1 : shared.length / all.size;
}

export interface QueueSummary {
  fullyAnnotated: number;
  aggregates: Record<string, AnnotationAggregate>;
  /** By annotator, then by template. */
  byAnnotator: Record<string, Record<string, AnnotationAggregate>>;
  agreement: AnnotationAgreementAggregate | null;
}

/**
 * Returns what these ratings add up to, by template; one without ratings is absent. Here `unrated_count` counts the records of the template's queue without
 * a rating, and `tie_count` those with as many likes as dislikes.
 */
export function aggregatesByTemplate({
  members,
  templates,
  ratings,
}: Pick<StoredAnnotations, 'members' | 'templates' | 'ratings'>): Map<string, AnnotationAggregate> {
  const records = Map.groupBy(members, ({ queueId }) => queueId);
  const byTemplate = Map.groupBy(ratings, ({ templateId }) => templateId);
  return new Map(
    templates.flatMap(({ id, queueId, constraints }) => {
      const given = byTemplate.get(id);
      if (!given) return [];
      const byRecord = Map.groupBy(given, ({ recordId }) => recordId);
      const ties = constraints.annotation_type === 'like_dislike' ? [...byRecord.values()].filter(isTie).length : null;
      const values = eachOnce(given.map(({ value }) => value));
      return [[id, aggregateOf(constraints, values, (records.get(queueId)?.length ?? 0) - byRecord.size, ties)] as const];
    }),
  );
}

/** All ratings of one queue, as `aggregatesByTemplate` counts them. */
export function summarizeQueue(stored: StoredAnnotations): QueueSummary {
  const aggregates = (ratings: readonly Rating[]) => Object.fromEntries(aggregatesByTemplate({ ...stored, ratings }));
  const ofRecords = [...annotationsByRecord(stored).values()];
  const agreements = ofRecords.flatMap(({ overall_annotation_agreement: one }) => (one === null ? [] : [one]));
  return {
    fullyAnnotated: ofRecords.filter(({ fully_annotated }) => fully_annotated).length,
    aggregates: aggregates(stored.ratings),
    byAnnotator: Object.fromEntries(
      [...Map.groupBy(stored.ratings, ({ userId }) => userId)].map(([userId, ratings]) => [userId, aggregates(ratings)]),
    ),
    agreement: agreementBuckets(agreements),
  };
}

const isTie = (ratings: readonly Rating[]): boolean =>
  ratings.filter(({ value }) => value === true).length * 2 === ratings.length;

const AGREEMENT_BUCKETS = 5;

/** Agreements of records in five buckets from 0 to 1; the last one is open, as it holds 1 itself. Null without any. */
function agreementBuckets(agreements: readonly number[]): AnnotationAgreementAggregate | null {
  const average = mean(agreements);
  if (average === null) return null;
  const bucketOf = (agreement: number) => Math.min(Math.floor(agreement * AGREEMENT_BUCKETS), AGREEMENT_BUCKETS - 1);
  const buckets = Array.from({ length: AGREEMENT_BUCKETS }, (_, index) => ({
    min_inclusive: index / AGREEMENT_BUCKETS,
    max_exclusive: index === AGREEMENT_BUCKETS - 1 ? null : (index + 1) / AGREEMENT_BUCKETS,
    count: agreements.filter((agreement) => bucketOf(agreement) === index).length,
  }));
  return { buckets, average_agreement: average };
}
