import { JUDGED_RETRIEVAL } from './groups.ts';
import { scoreDocuments } from './judging/relevantDocuments.ts';
import type { Metric } from './metric.ts';

export const contextPrecision: Metric = {
  name: 'context_precision',
  label: 'Context Precision',
  description: 'Whether the relevant documents were ranked before the others: 1 when all of them were, 0 when none is relevant.',
  ...JUDGED_RETRIEVAL,
  score: (record, context) => scoreDocuments(record, averagePrecision, context),
};

/** The mean, over the relevant documents, of the share of relevant ones up to each of them. */
function averagePrecision(relevant: readonly boolean[]): number {
  let found = 0;
  let sum = 0;
  for (const [index, isRelevant] of relevant.entries()) if (isRelevant) sum += ++found / (index + 1);
  return found === 0 ? 0 : sum / found;
}
