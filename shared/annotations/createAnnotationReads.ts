import { BriefCache } from '../concurrency/briefCache.ts';
import type { RunRef } from '../projects/runs.ts';
import type { AnnotationReads, NamedTemplate } from '../records/annotationReads.ts';
import { annotationsByRecord, type StoredAnnotations } from './summarize.ts';

/** What these reads need of the store. */
export interface AnnotationSource {
  hasQueuedRecords(projectId: string): Promise<boolean>;
  annotationsOf(run: RunRef, recordIds: readonly string[]): Promise<StoredAnnotations>;
  fullyAnnotated(run: RunRef, userIds?: readonly string[]): Promise<string[]>;
  templatesOfRun(run: RunRef): Promise<NamedTemplate[]>;
}

/** Most projects have no record in a queue: what is known of that counts for a second, and their pages ask nothing more. */
export function createAnnotationReads(source: AnnotationSource): AnnotationReads & { forget(): void } {
  const known = new BriefCache<boolean>({ ttlMs: 1_000, maxEntries: 10_000 });
  const isQueued = (projectId: string) => known.get(projectId, () => source.hasQueuedRecords(projectId));
  return {
    async annotations(run, recordIds) {
      if (recordIds.length === 0 || !(await isQueued(run.projectId))) return new Map();
      return annotationsByRecord(await source.annotationsOf(run, recordIds));
    },
    fullyAnnotated: (run, userIds) => source.fullyAnnotated(run, userIds),
    annotationTemplates: (run) => source.templatesOfRun(run),
    forget: () => known.clear(),
  };
}
