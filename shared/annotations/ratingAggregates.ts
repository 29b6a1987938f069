import type { AnnotationAggregate, FeedbackAggregate, RatingAggregates, RootType } from '../wire/annotationRatings.ts';
import { aggregatesByTemplate, type StoredAnnotations } from './summarize.ts';

/** The annotations of several runs: of each record in a queue, its run as well. */
export interface RunAnnotations extends StoredAnnotations {
  members: readonly { queueId: string; recordId: string; runId: string }[];
}

/** What a record is, by run and id; undefined for one that is not there or has expired. */
export type RootTypeOf = (runId: string, recordId: string) => RootType | undefined;

/** What people say of the records of each run: by template, then by what the records are. Runs without a rating are absent. */
export function ratingAggregatesByRun(stored: RunAnnotations, rootTypeOf: RootTypeOf): Map<string, RatingAggregates> {
  const queueOf = new Map(stored.templates.map(({ id, queueId }) => [id, queueId]));
  const ratingsAt = Map.groupBy(stored.ratings, ({ templateId, recordId }) => `${queueOf.get(templateId)}/${recordId}`);
  const byRun = new Map<string, RatingAggregates>();
  for (const [runId, ofRun] of Map.groupBy(stored.members, (member) => member.runId)) {
    const byTemplate: RatingAggregates = {};
    for (const [rootType, members] of Map.groupBy(ofRun, ({ recordId }) => rootTypeOf(runId, recordId))) {
      if (rootType === undefined) continue;
      const ratings = members.flatMap(({ queueId, recordId }) => ratingsAt.get(`${queueId}/${recordId}`) ?? []);
      for (const [templateId, sum] of aggregatesByTemplate({ members, templates: stored.templates, ratings }))
        byTemplate[templateId] = { ...byTemplate[templateId], [rootType]: asFeedback(sum) };
    }
    if (Object.keys(byTemplate).length > 0) byRun.set(runId, byTemplate);
  }
  return byRun;
}

/** An experiment shows its ratings in the older shape, which knows no ties and no buckets. */
function asFeedback({ aggregate }: AnnotationAggregate): FeedbackAggregate {
  const { annotation_type: feedback_type, ...sums } = aggregate;
  const { tie_count, buckets, ...shown } = { tie_count: null, buckets: null, ...sums };
  return { aggregate: { feedback_type, ...shown } } as FeedbackAggregate;
}
