import type { AnnotationQueueResponse } from './createAnnotationQueue.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

/** The annotation queues that the caller can see. */
export const listAnnotationQueues = (options: CallOptions = {}): Pages<AnnotationQueueResponse> =>
  pagesOf(clientOf(options), '/annotation_queues/query', 'annotation_queues', { filters: [] });
