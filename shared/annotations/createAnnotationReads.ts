import { BriefCache } from '../concurrency/briefCache.ts';
import type { RunRef } from '../projects/runs.ts';
import type { AnnotationReads, NamedTemplate } from '../records/annotationReads.ts';
import type { RatingAggregates } from '../wire/annotationRatings.ts';
import { type RootTypeOf, type RunAnnotations, ratingAggregatesByRun } from './ratingAggregates.ts';
import { annotationsByRecord, type StoredAnnotations } from './summarize.ts';

/** What these reads need of the store. */
export interface AnnotationSource {
  hasQueuedRecords(projectId: string): Promise<boolean>;
  annotationsOf(run: RunRef, recordIds: readonly string[]): Promise<StoredAnnotations>;
  annotationsOfRuns(projectId: string, runIds: readonly string[]): Promise<RunAnnotations>;
  fullyAnnotated(run: RunRef, userIds?: readonly string[]): Promise<string[]>;
  templatesOfRun(run: RunRef): Promise<NamedTemplate[]>;
}

/** What those of these records are that have not expired. */
export type RootTypes = (projectId: string, runIds: readonly string[], recordIds: readonly string[]) => Promise<RootTypeOf>;

/** What people say of the records of these runs; those without a rating are absent. */
export type RatingsOfRuns = (projectId: string, runIds: readonly string[]) => Promise<ReadonlyMap<string, RatingAggregates>>;

/** Most projects have no record in a queue: what is known of that counts for a second, and their pages ask nothing more. */
export function createAnnotationReads(
  source: AnnotationSource,
  rootTypes: RootTypes,
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
      const stored = await source.annotationsOfRuns(projectId, runIds);
      if (stored.ratings.length === 0) return new Map();
      const recordIds = new Set(stored.members.map(({ recordId }) => recordId));
      return ratingAggregatesByRun(stored, await rootTypes(projectId, runIds, [...recordIds]));
    },
    fullyAnnotated: (run, userIds) => source.fullyAnnotated(run, userIds),
    annotationTemplates: (run) => source.templatesOfRun(run),
    forget: () => known.clear(),
  };
}
