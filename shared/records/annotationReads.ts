import type { RunRef } from '../projects/runs.ts';
import type { RecordAnnotations } from '../wire/annotationRatings.ts';
import type { StoredConstraints } from '../wire/annotations.ts';

/** A template of an annotation queue, by which records are rated. */
export interface RatedTemplate {
  id: string;
  queueId: string;
  constraints: StoredConstraints;
}

/** A template as the column catalogs name it. */
export type NamedTemplate = RatedTemplate & { name: string };

/** Reads annotations for the reads of records. */
export interface AnnotationReads {
  /** The annotation fields of those of these records that are in a queue. */
  annotations(run: RunRef, recordIds: readonly string[]): Promise<ReadonlyMap<string, RecordAnnotations>>;
  /**
   * The run's records whose queues have templates, all of them rated: by anybody, or by each of `userIds`.
   */
  fullyAnnotated(run: RunRef, userIds?: readonly string[]): Promise<string[]>;
  /** Templates of the queues that hold records of the run, by queue and position. */
  annotationTemplates(run: RunRef): Promise<NamedTemplate[]>;
}
