import { z } from 'zod';

// Answers of annotators: ratings, their aggregates, and how far they agree. Shared by records and by queues.

export const annotationTypes = ['like_dislike', 'star', 'score', 'tags', 'text', 'choice', 'tree_choice'] as const;
export type AnnotationType = (typeof annotationTypes)[number];

export const Label = z.string().min(1).max(255);

const ratingOf = <const T extends AnnotationType, V extends z.ZodType>(annotation_type: T, value: V) =>
  z.object({ annotation_type: z.literal(annotation_type), value });

/** One answer, by the type of its template. */
export const AnnotationRating = z.discriminatedUnion('annotation_type', [
  ratingOf('like_dislike', z.boolean()).meta({ id: 'LikeDislikeRating' }),
  ratingOf('star', z.int().min(1).max(5)).meta({ id: 'StarRating' }),
  ratingOf('score', z.int()).meta({ id: 'ScoreRating' }),
  ratingOf('tags', z.array(Label)).meta({ id: 'TagsRating' }),
  ratingOf('text', z.string().min(1)).meta({ id: 'TextRating' }),
  ratingOf('choice', Label).meta({ id: 'ChoiceRating' }),
  ratingOf('tree_choice', z.string().min(1)).meta({ id: 'TreeChoiceRating' }),
]);
export type AnnotationRating = z.output<typeof AnnotationRating>;

const value = z.union([z.boolean(), z.int(), z.string(), z.array(Label)]);
const AnnotationRatingInfo = z
  .object({ annotation_type: z.enum(annotationTypes), value, explanation: z.string().nullable() })
  .meta({ id: 'AnnotationRatingInfo' });
const FeedbackRatingInfo = z
  .object({ feedback_type: z.enum(annotationTypes), value, explanation: z.string().nullable() })
  .meta({ id: 'FeedbackRatingInfo' });

const aggregateOf = <const T extends AnnotationType, S extends z.ZodRawShape>(annotation_type: T, fields: S) =>
  z.object({ annotation_type: z.literal(annotation_type), ...fields, unrated_count: z.int() });
const counts = z.record(z.string(), z.int());
const ScoreBucket = z
  .object({ min_inclusive: z.int(), max_exclusive: z.int().nullable(), count: z.int() })
  .meta({ id: 'ScoreBucket' });

type Sum<T extends AnnotationType, Fields> = { annotation_type: T; unrated_count: number } & Fields;
type Counts = { counts: Record<string, number> };
/** Sums of the ratings of one template. */
export interface AnnotationAggregate {
  aggregate:
    | Sum<'like_dislike', { like_count: number; dislike_count: number; tie_count: number | null }>
    | Sum<'star', Counts & { average: number }>
    | Sum<'score', { average: number; buckets: z.output<typeof ScoreBucket>[] }>
    | Sum<'tags' | 'choice' | 'tree_choice', Counts>
    | Sum<'text', { count: number }>;
}
// The type is said, not inferred: eight kinds of record in three families hold it.
export const AnnotationAggregate: z.ZodType<AnnotationAggregate, AnnotationAggregate> = z
  .object({
    aggregate: z.discriminatedUnion('annotation_type', [
      aggregateOf('like_dislike', { like_count: z.int(), dislike_count: z.int(), tie_count: z.int().nullable() }).meta({
        id: 'AnnotationLikeDislikeAggregate',
      }),
      aggregateOf('star', { average: z.number(), counts }).meta({ id: 'AnnotationStarAggregate' }),
      aggregateOf('score', { average: z.number(), buckets: z.array(ScoreBucket) }).meta({ id: 'AnnotationScoreAggregate' }),
      aggregateOf('tags', { counts }).meta({ id: 'AnnotationTagsAggregate' }),
      aggregateOf('choice', { counts }).meta({ id: 'AnnotationChoiceAggregate' }),
      aggregateOf('tree_choice', { counts }).meta({ id: 'AnnotationTreeChoiceAggregate' }),
      aggregateOf('text', { count: z.int() }).meta({ id: 'AnnotationTextAggregate' }),
    ]),
  })
  .meta({ id: 'AnnotationAggregate' });

const feedbackOf = <const T extends AnnotationType, S extends z.ZodRawShape>(feedback_type: T, fields: S) =>
  z.object({ feedback_type: z.literal(feedback_type), ...fields, unrated_count: z.int() });

/** Sums of the ratings of one template on an experiment. */
export const FeedbackAggregate = z
  .object({
    aggregate: z.discriminatedUnion('feedback_type', [
      feedbackOf('like_dislike', { like_count: z.int(), dislike_count: z.int() }).meta({ id: 'LikeDislikeAggregate' }),
      feedbackOf('star', { average: z.number(), counts }).meta({ id: 'StarAggregate' }),
      feedbackOf('score', { average: z.number() }).meta({ id: 'ScoreAggregate' }),
      feedbackOf('tags', { counts }).meta({ id: 'TagsAggregate' }),
      feedbackOf('choice', { counts }).meta({ id: 'ChoiceAggregate' }),
      feedbackOf('tree_choice', { counts }).meta({ id: 'TreeChoiceAggregate' }),
      feedbackOf('text', { count: z.int() }).meta({ id: 'TextAggregate' }),
    ]),
  })
  .meta({ id: 'FeedbackAggregate' });
export type FeedbackAggregate = z.output<typeof FeedbackAggregate>;

const rootTypes = ['session', 'trace', 'span'] as const;
export type RootType = (typeof rootTypes)[number];

/** By template, then by what was rated. */
export const RatingAggregates = z.record(z.uuid(), z.partialRecord(z.enum(rootTypes), FeedbackAggregate));
export type RatingAggregates = z.output<typeof RatingAggregates>;

export interface RecordAnnotations {
  feedback_rating_info: Record<string, z.output<typeof FeedbackRatingInfo>>;
  /** By template, then by annotator. */
  annotations: Record<string, Record<string, z.output<typeof AnnotationRatingInfo>>>;
  annotation_aggregates: Record<string, AnnotationAggregate>;
  annotation_agreement: Record<string, number>;
  overall_annotation_agreement: number | null;
  annotation_queue_ids: string[];
  fully_annotated: boolean | null;
}

/** Returns the annotations of a record that is in no queue. */
export const noAnnotations = (): RecordAnnotations => ({
  feedback_rating_info: {},
  annotations: {},
  annotation_aggregates: {},
  annotation_agreement: {},
  overall_annotation_agreement: null,
  annotation_queue_ids: [],
  fully_annotated: null,
});

/** Fields of a record that carry its annotations, by template where they are maps. */
export const annotationFields: {
  [K in keyof RecordAnnotations]: z.ZodType<RecordAnnotations[K], RecordAnnotations[K]>;
} = {
  feedback_rating_info: z.record(z.string(), FeedbackRatingInfo),
  annotations: z.record(z.string(), z.record(z.string(), AnnotationRatingInfo)),
  annotation_aggregates: z.record(z.string(), AnnotationAggregate),
  annotation_agreement: z.record(z.string(), z.number()),
  overall_annotation_agreement: z.number().nullable(),
  annotation_queue_ids: z.array(z.string()),
  fully_annotated: z.boolean().nullable(),
};
