import type { z } from 'zod';
import type { AddRecordsToQueueResponse } from '../shared/wire/annotations.ts';
import { type CallOptions, clientOf } from './project.ts';

export interface AddToAnnotationQueueOptions extends CallOptions {
  queueId: string;
  projectId: string;
  /** The log stream or experiment that holds the records. */
  runId: string;
  /** Traces, spans or sessions. */
  recordIds: string[];
}

/** Puts records in an annotation queue; those that are in it already stay as they are. @returns how many were not */
export async function addToAnnotationQueue(options: AddToAnnotationQueueOptions): Promise<number> {
  const { queueId, projectId, runId, recordIds } = options;
  const added = await clientOf(options).send<z.output<typeof AddRecordsToQueueResponse>>(
    `/annotation_queues/${encodeURIComponent(queueId)}/records`,
    {
      body: { project_id: projectId, run_id: runId, record_selector: { type: 'record_ids', record_ids: recordIds } },
      repeatable: true,
    },
  );
  return added.num_records_added;
}
