import type { ComparedRow, ComparedTrace, Comparison } from '../data/comparison.ts';
import { costText, durationText, lineText, numberText, UNKNOWN } from '../parts/format.ts';
import { plainText } from '../payload/messages.ts';

/** Names a row in addresses: the trace of the experiment, or that of the baseline where it lacks the row. */
export const idOf = ({ experiment, baseline }: ComparedRow): string | undefined => (experiment[0] ?? baseline[0])?.trace_id;

export const hasTrace = ({ experiment, baseline }: ComparedRow, id: string): boolean =>
  [...experiment, ...baseline].some(({ trace_id }) => trace_id === id);

type Metric = Pick<Comparison, 'metric' | 'metric_id'>;

/** Writes the values of a metric of a trace, one trial after the other. */
export function valuesText(traces: readonly ComparedTrace[], metric: Metric): string {
  return traces.length === 0 ? UNKNOWN : traces.map((trace) => valueText(trace, metric)).join(', ');
}

function valueText(trace: ComparedTrace, { metric, metric_id }: Metric): string {
  if (metric_id === 'duration_ns') return durationText(trace.duration_ns);
  if (metric_id === 'cost') return costText(trace.cost);
  const score = trace.scores[metric] ?? trace.scores[metric_id];
  return score ? scoreText(score) : UNKNOWN;
}

export function scoreText({ status, value }: ComparedTrace['scores'][string]): string {
  if (status !== 'success') return status.replaceAll('_', ' ');
  return typeof value === 'number' || typeof value === 'bigint' ? numberText(value) : lineText(value, 200);
}

/** With `truncate_fields` the service ends a text that it cut with an ellipsis behind 1,000 characters. */
export function isCut(value: unknown): boolean {
  if (typeof value === 'string') return value.length > 1_000 && value.endsWith('…');
  return typeof value === 'object' && value !== null && Object.values(value).some(isCut);
}

/** Writes the output of a side as text. */
export const outputText = (trace: ComparedTrace | undefined): string => plainText(trace?.output);

/** One line of an input for a list. */
export const inputLine = ({ input }: ComparedRow): string => lineText(plainText(input));
