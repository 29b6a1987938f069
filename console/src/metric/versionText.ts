import type { MetricVersion } from '../data/metrics.ts';
import { outputWords } from '../metrics/metricText.ts';

const settings = {
  model_name: 'model',
  model_names: 'models',
  num_judges: 'judge calls',
  output_type: 'gives',
  scoreable_node_types: 'looks at',
  cot_enabled: 'explains',
  input_type: 'shown',
} as const;

/**
 * A version as one text in the words of the form, so that two can be compared.
 * @param text its prompt or source
 */
export function textOf(version: MetricVersion, text: string): string {
  const said = Object.entries(settings).flatMap(([key, label]) => {
    const value = version[key as keyof typeof settings];
    return value === null || value === undefined ? [] : [`${label}: ${wordOf(value)}`];
  });
  return `${text}\n\n${said.join('\n')}`;
}

function wordOf(value: string | number | boolean | readonly string[]): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return outputWords[value as keyof typeof outputWords] ?? (Array.isArray(value) ? value.join(', ') : String(value));
}
