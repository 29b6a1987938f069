import { JUDGED_RETRIEVAL } from './groups.ts';
import { scoreDocuments } from './judging/relevantDocuments.ts';
import type { Metric } from './metric.ts';

export const precisionAtK: Metric = {
  name: 'precision_at_k',
  label: 'Precision@K',
  description: 'Share of the retrieved documents that a judge finds relevant.',
  ...JUDGED_RETRIEVAL,
  score: (record, context) => scoreDocuments(record, (relevant) => relevant.filter(Boolean).length / relevant.length, context),
};
