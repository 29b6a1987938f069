import { JUDGED_RETRIEVAL } from './groups.ts';
import { scoreUse } from './judging/usedDocuments.ts';
import type { Metric } from './metric.ts';

export const chunkAttributionUtilization: Metric = {
  name: 'chunk_attribution_utilization',
  label: 'Chunk Attribution Utilization',
  description:
    'Share of the retrieved chunks that a judge finds used in the output (attribution); the metadata says which, and how much of their text was used (utilization).',
  ...JUDGED_RETRIEVAL,
  score: scoreUse,
};
