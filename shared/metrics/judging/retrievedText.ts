import type { ScoredRecord } from '../metric.ts';

/** What was retrieved below the record, or by it; undefined where nothing was. */
export function retrievedText({ kind, output, spans = [] }: ScoredRecord): string | undefined {
  const found = kind === 'retriever' ? [output] : spans.filter((span) => span.kind === 'retriever').map((span) => span.output);
  const texts = found.filter((text) => text !== null);
  return texts.length > 0 ? texts.join('\n\n') : undefined;
}
