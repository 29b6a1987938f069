import type { RatedTemplate } from '../records/annotationReads.ts';
import type { AnnotationAggregate, FeedbackAggregate, RatingAggregates, RootType } from '../wire/annotationRatings.ts';
import { aggregateOf, type ValueCount } from './summarize.ts';

export interface QueuedRecord {
  queueId: string;
  recordId: string;
  runId: string;
}

export interface RootedRecord extends QueuedRecord {
  rootType: RootType;
}

/** How many rated records of one run and type with this value; texts are counted as one value, whatever they say. */
export interface RatingCount extends ValueCount {
  runId: string;
  templateId: string;
  rootType: RootType;
  /** Records that have their first rating of the template among these: in sum, those that have any. */
  records: number;
}

type Given = Pick<RatingCount, 'runId' | 'templateId' | 'rootType'> & { rated: number; values: Map<string, ValueCount> };

/** Sums up what people say of the records of runs. Records are added some at a time, each with all of its ratings in its queue. */
export class RunRatings {
  private readonly records = new Map<string, number>();
  private readonly given = new Map<string, Given>();

  add(records: readonly RootedRecord[], counts: readonly RatingCount[]): void {
    for (const { runId, queueId, rootType } of records) {
      const key = `${runId}/${queueId}/${rootType}`;
      this.records.set(key, (this.records.get(key) ?? 0) + 1);
    }
    for (const { runId, templateId, rootType, value, count, records: rated } of counts) {
      const key = `${runId}/${templateId}/${rootType}`;
      const given = this.given.get(key) ?? { runId, templateId, rootType, rated: 0, values: new Map<string, ValueCount>() };
      given.rated += rated;
      const text = JSON.stringify(value);
      given.values.set(text, { value, count: (given.values.get(text)?.count ?? 0) + count });
      this.given.set(key, given);
    }
  }

  /** By template, then by what the records are. Runs without a rating are absent. */
  byRun(templates: readonly RatedTemplate[]): Map<string, RatingAggregates> {
    const byTemplate = Map.groupBy(this.given.values(), ({ templateId }) => templateId);
    const byRun = new Map<string, RatingAggregates>();
    for (const { id, queueId, constraints } of templates)
      for (const { runId, rootType, rated, values } of byTemplate.get(id) ?? []) {
        const unrated = (this.records.get(`${runId}/${queueId}/${rootType}`) ?? 0) - rated;
        const ofRun = byRun.get(runId) ?? {};
        ofRun[id] = { ...ofRun[id], [rootType]: asFeedback(aggregateOf(constraints, [...values.values()], unrated)) };
        byRun.set(runId, ofRun);
      }
    return byRun;
  }
}

/** An experiment shows its ratings in the older shape, which knows no ties and no buckets. */
function asFeedback({ aggregate }: AnnotationAggregate): FeedbackAggregate {
  const { annotation_type: feedback_type, ...sums } = aggregate;
  const { tie_count, buckets, ...shown } = { tie_count: null, buckets: null, ...sums };
  return { aggregate: { feedback_type, ...shown } } as FeedbackAggregate;
}
