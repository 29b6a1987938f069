import { nameProblem } from '../shared/wire/readScores.ts';
import type { ScorerConfig } from '../shared/wire/scorers.ts';
import { ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';
import { refuseUnknownKeys } from './knownKeys.ts';
import type { LocalMetric, LocalScale } from './localMetric.ts';
import { listMetrics, type Metric as Scorer } from './metrics.ts';

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

/** Names of local metrics with what their numbers mean, those of the names that their results give included. */
export const scalesOf = <I, O>(metrics: readonly LocalMetric<I, O>[]): [name: string, scale: LocalScale][] =>
  metrics.flatMap(({ name, scales = {}, ...own }) => [[name, own], ...Object.entries(scales)]);

/** @throws ValueError for what is no list of metrics. */
export function checkMetrics(metrics: unknown): void {
  if (!Array.isArray(metrics)) throw new ValueError('metrics must be a list');
  const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
  for (const [index, metric] of metrics.entries())
    if (typeof metric !== 'object' || metric === null ? !isText(metric) : !isText('id' in metric ? metric.id : metric.name))
      throw new ValueError(`metrics[${index}] must be the name of a metric, or an object with a name or an id`);
    else if (metric.score !== undefined && typeof metric.score !== 'function')
      throw new ValueError(`metrics[${index}].score must be a function`);
  checkLocal((metrics as MetricChoice[]).filter(isLocal));
}

/** @throws ValueError for names that are no columns, or not one column each, and for scales that no number can be on */
export function checkLocal(metrics: readonly LocalMetric[]): void {
  for (const { scales } of metrics)
    if (scales !== undefined && (typeof scales !== 'object' || scales === null || Array.isArray(scales)))
      throw new ValueError('scales must be an object of names, each with a direction or a range');
  const seen = new Set<string>();
  for (const [name, scale] of scalesOf(metrics)) {
    const problem = nameProblem(name) ?? (seen.has(name) ? `two metrics are called ${JSON.stringify(name)}` : undefined);
    if (problem !== undefined) throw new ValueError(problem);
    seen.add(name);
    const { direction, range } = scale ?? {};
    if (direction != null && direction !== 'higher' && direction !== 'lower')
      throw new ValueError(`the direction of ${JSON.stringify(name)} must be "higher" or "lower"`);
    refuseUnknownKeys(range, ['min', 'max'], `the range of ${JSON.stringify(name)}`);
    if (range != null && !(Number.isFinite(range.min) && Number.isFinite(range.max) && range.min < range.max))
      throw new ValueError(`the range of ${JSON.stringify(name)} must have a number min and a greater number max`);
  }
}

/** Names that the metrics of this process cannot give, since the service computes metrics of these names. */
export type TakenNames = ReadonlySet<string>;

/**
 * The metrics that the service computes, as a run takes them, and the names that are theirs and those of built-in ones.
 * @throws ValueError naming each metric that the service does not know, or a local one that has the name of one of the service.
 */
export async function chooseScorers<I, O>(
  client: ServiceClient,
  metrics: readonly MetricChoice<I, O>[],
): Promise<{ scorers: Record<string, unknown>[]; takenNames: TakenNames }> {
  if (metrics.length === 0) return { scorers: [], takenNames: new Set() };
  const wanted = metrics.filter((metric) => !isLocal(metric));
  const scorers = await listMetrics({ client }).all();
  const named = wanted.map((metric) => {
    const key = typeof metric === 'string' ? metric : 'id' in metric ? metric.id : metric.name;
    return { metric, key, scorer: find(scorers, key) };
  });
  const unknown = named.filter(({ scorer }) => !scorer).map(({ key }) => JSON.stringify(key));
  if (unknown.length > 0)
    throw new ValueError(`the service knows no metric called ${unknown.join(', ')}; metrics computed here have a score function`);
  const takenNames = namesOf([
    ...scorers.filter(({ scorer_type }) => scorer_type === 'preset'),
    ...named.flatMap(({ scorer }) => scorer ?? []),
  ]);
  refuseTaken(metrics.filter(isLocal), takenNames);
  const chosen = named.map(({ metric, scorer }) =>
    settingsOf(client, metric as Exclude<MetricChoice<I, O>, LocalMetric<I, O>>, scorer as Scorer),
  );
  return { scorers: await Promise.all(chosen), takenNames };
}

/**
 * Names of built-in metrics, which metrics of this process cannot have.
 * @throws ValueError where one of these has such a name
 */
export async function builtInNames<I, O>(client: ServiceClient, metrics: readonly LocalMetric<I, O>[]): Promise<TakenNames> {
  if (metrics.length === 0) return new Set();
  const scorers = await listMetrics({ client }).all();
  const takenNames = namesOf(scorers.filter(({ scorer_type }) => scorer_type === 'preset'));
  refuseTaken(metrics, takenNames);
  return takenNames;
}

const namesOf = (scorers: readonly Scorer[]): TakenNames =>
  new Set(scorers.flatMap(({ name, metric_name }) => [name, metric_name ?? name]));

function refuseTaken<I, O>(metrics: readonly LocalMetric<I, O>[], takenNames: TakenNames): void {
  const taken = scalesOf(metrics).find(([name]) => takenNames.has(name));
  if (taken)
    throw new ValueError(
      `${JSON.stringify(taken[0])} is a metric of the service: give the one that is computed here another name`,
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
