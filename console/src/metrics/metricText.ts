import type { MetricKind } from '../address/metricsAddress.ts';
import type { Metric } from '../data/metrics.ts';
import { numberText } from '../parts/format.ts';

const needWords: Record<Metric['needs'][number], string> = {
  judge_model: 'judge model',
  reference_output: 'reference output',
  context: 'retriever span',
  tools: 'tools offered to a model',
  tool_calls: 'tool call',
  steps: 'spans below the record',
  turns: 'several turns of a user',
  image: 'image',
  audio: 'audio',
  log_probabilities: 'log probabilities in the metadata',
  dataset_row: 'dataset row',
  metadata: 'metadata',
};

/** Names what a metric needs for a value, each in a few words. */
export const needsOf = ({ needs }: Metric): string[] => needs.map((need) => needWords[need]);

export const kindOf = ({ scorer_type, needs }: Metric): MetricKind =>
  scorer_type !== 'preset' ? 'own' : needs.includes('judge_model') ? 'judge' : 'code';

export const kindWords: Record<MetricKind, string> = { judge: 'Judge', code: 'Code', own: 'Own' };

/** How it computes, with who made it. */
export const kindText = (metric: Metric): string => {
  if (metric.scorer_type === 'preset') return kindWords[kindOf(metric)];
  if (metric.check) return 'Own check';
  return { llm: 'Own judge', code: 'Own code', luna: 'Own tuned model' }[metric.scorer_type];
};

/** The answers of a judge by their output type, in the words of the form. */
export const outputWords = {
  boolean: 'yes or no',
  percentage: 'score from 0 to 1',
  discrete: 'grade',
  count: 'number',
  categorical: 'one of several labels',
  multilabel: 'several labels',
  boolean_multilabel: 'yes or no of each label',
  retrieved_chunk_list_boolean: 'yes or no of each document',
  freeform: 'text',
} as const;

const typeOf = ({ default_version, output_type }: Pick<Metric, 'default_version' | 'output_type'>) =>
  default_version?.output_type ?? output_type;

/** `yes or no`, `grade from 1 to 5`, `one of good, bad`: what the values are. */
export function givesText({ range, categories, ...metric }: Metric): string | undefined {
  const type = typeOf(metric);
  if (!type) return undefined;
  if (type === 'categorical' && categories) return `one of ${categories.join(', ')}`;
  if (type === 'multilabel' && categories) return `any of ${categories.join(', ')}`;
  if (type === 'boolean_multilabel' && categories) return `yes or no of ${categories.join(', ')}`;
  const word = outputWords[type as keyof typeof outputWords] ?? type.replaceAll('_', ' ');
  const hasLimits = range && (type === 'discrete' || type === 'count');
  return hasLimits ? `${word} from ${numberText(range.min)} to ${numberText(range.max)}` : word;
}

/** `higher is better`, of yes and no `yes is better`; undefined where no value is better. */
export function directionText({ direction, ...metric }: Metric): string | undefined {
  if (!direction) return undefined;
  const better = typeOf(metric) === 'boolean' ? { higher: 'yes', lower: 'no' }[direction] : direction;
  return `${better} is better`;
}

/** How often a judge is asked for one record; undefined where none is. */
export const callsOf = ({ needs, included_fields, default_version, defaults }: Metric): number | undefined =>
  needs.includes('judge_model') && included_fields.includes('num_judges')
    ? (default_version?.num_judges ?? defaults?.num_judges ?? 1)
    : undefined;

/** Metrics of a kind that have all the words in their name, description, or what they need and give. */
export function foundMetrics(metrics: readonly Metric[], q: string, kind: MetricKind | undefined): Metric[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return metrics.filter((metric) => {
    if (kind !== undefined && kindOf(metric) !== kind) return false;
    const text = [metric.label, metric.name, metric.description, metric.tags, needsOf(metric), givesText(metric)]
      .flat()
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
