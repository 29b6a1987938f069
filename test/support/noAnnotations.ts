import type { AnnotationReads } from '../../shared/records/annotationReads.ts';

/** For services without queues. */
export const noAnnotations: AnnotationReads = {
  annotations: async () => new Map(),
  fullyAnnotated: async () => [],
  annotationTemplates: async () => [],
};
