import type { Score, ScoredRecord } from './metric.ts';

/** The record's own count; where it has none (a trace counts nothing itself), the sum over the llm spans below it. */
export function countTokens(record: ScoredRecord, count: 'inputTokens' | 'outputTokens' | 'totalTokens'): Score {
  const own = record[count];
  if (own !== null) return { value: own };
  const counts = (record.spans ?? []).flatMap((span) => (span.kind === 'llm' && span[count] !== null ? [span[count]] : []));
  return counts.length > 0
    ? { value: counts.reduce((sum, one) => sum + one, 0) }
    : { notApplicable: 'no model call with a token count' };
}
