import { JUDGED_RETRIEVAL } from './groups.ts';
import { scoreDocuments } from './judging/relevantDocuments.ts';
import type { Metric } from './metric.ts';

export const chunkRelevance: Metric = {
  name: 'chunk_relevance',
  label: 'Chunk Relevance',
  description:
    'Share of the retrieved chunks in which a judge finds something that helps to answer the input; the metadata says which.',
  ...JUDGED_RETRIEVAL,
  score: (record, context) => scoreDocuments(record, (relevant) => relevant.filter(Boolean).length / relevant.length, context),
};
