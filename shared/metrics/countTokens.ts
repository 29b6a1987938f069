import type { Score, ScoredRecord } from './metric.ts';

/** The sum over the spans below the record whose usage counts; where none does, its own count. */
export function countTokens(record: ScoredRecord, count: 'inputTokens' | 'outputTokens' | 'totalTokens'): Score {
  const counts = (record.spans ?? []).flatMap((span) =>
    (span.countsTokens ?? span.kind === 'llm') && span[count] !== null ? [span[count]] : [],
  );
  if (counts.length > 0) return { value: counts.reduce((sum, one) => sum + one, 0) };
  const own = record[count];
  return own === null ? { notApplicable: 'no model call with a token count' } : { value: own };
}
