import { SIMILARITY } from './groups.ts';
import type { Metric } from './metric.ts';
import { wordsIn } from './words.ts';

const LONGEST = 4;

export const bleu: Metric = {
  name: 'bleu',
  label: 'BLEU',
  description:
    'BLEU of the output against the reference output: up to 4 words in a row, smoothed by one count above single words, with brevity penalty.',
  ...SIMILARITY,
  score({ output, datasetOutput }) {
    const reference = wordsIn(datasetOutput ?? '');
    if (reference.length === 0) return { notApplicable: 'the row has no reference output' };
    if (output === null) return { notApplicable: 'the record has no output' };
    const words = wordsIn(output);
    if (words.length === 0) return { value: 0 };
    const orders = Array.from({ length: Math.min(LONGEST, words.length, reference.length) }, (_, index) => index + 1);
    const logs = orders.map((order) => Math.log(precision(words, reference, order)));
    const brevity = Math.min(0, 1 - reference.length / words.length);
    return { value: Math.exp(brevity + logs.reduce((sum, log) => sum + log, 0) / orders.length) };
  },
};

/** Share of the runs of `order` words that the reference has too, each as often as the reference has it (smoothing: Lin and Och 2004). */
function precision(words: readonly string[], reference: readonly string[], order: number): number {
  const wanted = counted(reference, order);
  const found = counted(words, order);
  const hits = [...found].reduce((sum, [run, times]) => sum + Math.min(times, wanted.get(run) ?? 0), 0);
  const smoothing = order > 1 ? 1 : 0;
  return (hits + smoothing) / (words.length - order + 1 + smoothing);
}

function counted(words: readonly string[], order: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let at = 0; at + order <= words.length; at++) {
    const run = words.slice(at, at + order).join(' ');
    counts.set(run, (counts.get(run) ?? 0) + 1);
  }
  return counts;
}
