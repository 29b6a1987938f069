import type { ScorerConfig } from '../shared/wire/scorers.ts';
import { ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';
import { listMetrics, type Metric as Scorer } from './listMetrics.ts';
import type { LocalMetric } from './localMetric.ts';

/**
 * A metric: the label, name or id of a built-in or of one of yours; an object with a name and, for another than its default version, a number;
 * the settings of a scorer as the interface has them; or one computed in this process.
 */
export type MetricChoice<Input = unknown, Output = unknown> =
  | string
  | { name: string; version?: number }
  | (Partial<ScorerConfig> & { id: string })
  | LocalMetric<Input, Output>;

export const isLocal = <I, O>(metric: MetricChoice<I, O>): metric is LocalMetric<I, O> =>
  typeof metric === 'object' && 'score' in metric;

/** @throws ValueError for what is no list of metrics. */
export function checkMetrics(metrics: unknown): void {
  if (!Array.isArray(metrics)) throw new ValueError('metrics must be a list');
  const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
  for (const [index, metric] of metrics.entries())
    if (typeof metric !== 'object' || metric === null ? !isText(metric) : !isText('id' in metric ? metric.id : metric.name))
      throw new ValueError(`metrics[${index}] must be the name of a metric, or an object with a name or an id`);
    else if (metric.score !== undefined && typeof metric.score !== 'function')
      throw new ValueError(`metrics[${index}].score must be a function`);
}

/**
 * The metrics that the service computes, as a run takes them.
 * @throws ValueError naming each metric that the service does not know.
 */
export async function chooseScorers<I, O>(
  client: ServiceClient,
  metrics: readonly MetricChoice<I, O>[],
): Promise<Record<string, unknown>[]> {
  const wanted = metrics.filter((metric) => !isLocal(metric));
  if (wanted.length === 0) return [];
  const scorers = await listMetrics({ client }).all();
  const named = wanted.map((metric) => {
    const key = typeof metric === 'string' ? metric : 'id' in metric ? metric.id : metric.name;
    return { metric, key, scorer: find(scorers, key) };
  });
  const unknown = named.filter(({ scorer }) => !scorer).map(({ key }) => JSON.stringify(key));
  if (unknown.length > 0)
    throw new ValueError(`the service knows no metric called ${unknown.join(', ')}; metrics computed here have a score function`);
  return Promise.all(
    named.map(({ metric, scorer }) =>
      settingsOf(client, metric as Exclude<MetricChoice<I, O>, LocalMetric<I, O>>, scorer as Scorer),
    ),
  );
}

function find(scorers: readonly Scorer[], name: string): Scorer | undefined {
  const key = name.trim().toLowerCase();
  return (
    scorers.find((scorer) => scorer.id === key) ??
    scorers.find((scorer) => scorer.label.toLowerCase() === key) ??
    scorers.find((scorer) => scorer.name.toLowerCase() === key || scorer.metric_name?.toLowerCase() === key)
  );
}

async function settingsOf<I, O>(
  client: ServiceClient,
  metric: Exclude<MetricChoice<I, O>, LocalMetric<I, O>>,
  scorer: Scorer,
): Promise<Record<string, unknown>> {
  const { id, name, scorer_type } = scorer;
  if (typeof metric === 'string') return { id, name, scorer_type };
  if ('id' in metric) return { name, scorer_type, ...metric };
  if (metric.version === undefined) return { id, name, scorer_type };
  const scorer_version = await client.send(`/scorers/${id}/version`, { query: { version: metric.version } });
  return { id, name, scorer_type, scorer_version };
}
