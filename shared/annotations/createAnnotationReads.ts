import { BriefCache } from '../concurrency/briefCache.ts';
import type { RunRef } from '../projects/runs.ts';
import type { AnnotationReads, NamedTemplate, RatedTemplate } from '../records/annotationReads.ts';
import type { RatingAggregates, RootType } from '../wire/annotationRatings.ts';
import { type QueuedRecord, type RatingCount, type RootedRecord, RunRatings } from './ratingAggregates.ts';
import { annotationsByRecord, type StoredAnnotations } from './summarize.ts';

/** The parts of the store that these reads need. */
export interface AnnotationSource {
  hasQueuedRecords(projectId: string): Promise<boolean>;
  annotationsOf(run: RunRef, recordIds: readonly string[]): Promise<StoredAnnotations>;
  /** The templates by which records of these runs were rated, in their order. */
  ratedTemplates(projectId: string, runIds: readonly string[]): Promise<RatedTemplate[]>;
  /** Returns what these queues hold of these runs, in a fixed order: the first ones, or those that follow `after`. */
  queuedRecordsOf(
    projectId: string,
    runIds: readonly string[],
    queueIds: readonly string[],
    page: { after: QueuedRecord | undefined; limit: number },
  ): Promise<QueuedRecord[]>;
  /** The ratings of these records, summed up. */
  ratingCounts(records: readonly RootedRecord[]): Promise<RatingCount[]>;
  fullyAnnotated(run: RunRef, userIds?: readonly string[]): Promise<string[]>;
  templatesOfRun(run: RunRef): Promise<NamedTemplate[]>;
}

/** Returns what a record is, by run and id; undefined for one that is not there or has expired. */
export type RootTypeOf = (runId: string, recordId: string) => RootType | undefined;

/** Returns what those of these records are that have not expired. */
export type RootTypes = (projectId: string, runIds: readonly string[], recordIds: readonly string[]) => Promise<RootTypeOf>;

/** Returns what people say of the records of these runs; those without a rating are absent. */
export type RatingsOfRuns = (projectId: string, runIds: readonly string[]) => Promise<ReadonlyMap<string, RatingAggregates>>;

/** Records of queues that are looked at a time: memory and the event loop get no more, however large the queues are. */
const PAGE_SIZE = 10_000;

/** Most projects have no record in a queue: what is known of that counts for a second, and their pages ask nothing more. */
export function createAnnotationReads(
  source: AnnotationSource,
  rootTypes: RootTypes,
  pageSize = PAGE_SIZE,
): AnnotationReads & { ratingsOfRuns: RatingsOfRuns; forget(): void } {
  const known = new BriefCache<boolean>({ ttlMs: 1_000, maxEntries: 10_000 });
  const isQueued = (projectId: string) => known.get(projectId, () => source.hasQueuedRecords(projectId));
  return {
    async annotations(run, recordIds) {
      if (recordIds.length === 0 || !(await isQueued(run.projectId))) return new Map();
      return annotationsByRecord(await source.annotationsOf(run, recordIds));
    },
    async ratingsOfRuns(projectId, runIds) {
      if (runIds.length === 0 || !(await isQueued(projectId))) return new Map();
      const templates = await source.ratedTemplates(projectId, runIds);
      if (templates.length === 0) return new Map();
      const queueIds = [...new Set(templates.map(({ queueId }) => queueId))];
      const ratings = new RunRatings();
      let after: QueuedRecord | undefined;
      do {
        const page = await source.queuedRecordsOf(projectId, runIds, queueIds, { after, limit: pageSize });
        const recordIds = new Set(page.map(({ recordId }) => recordId));
        const typeOf = await rootTypes(projectId, [...new Set(page.map(({ runId }) => runId))], [...recordIds]);
        const records = page.flatMap((record) => {
          const rootType = typeOf(record.runId, record.recordId);
          return rootType ? [{ ...record, rootType }] : [];
        });
        ratings.add(records, await source.ratingCounts(records));
        after = page.length < pageSize ? undefined : page.at(-1);
      } while (after);
      return ratings.byRun(templates);
    },
    fullyAnnotated: (run, userIds) => source.fullyAnnotated(run, userIds),
    annotationTemplates: (run) => source.templatesOfRun(run),
    forget: () => known.clear(),
  };
}
