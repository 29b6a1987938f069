import type { z } from 'zod';
import type { Check } from '../shared/wire/checks.ts';
import type { ScorerResponse } from '../shared/wire/scorers.ts';
import { type CallOptions, clientOf } from './callOptions.ts';
import { ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';
import { type Pages, pagesOf } from './pages.ts';

/** A metric that the service computes: built in, or one of yours. */
export type Metric = z.output<typeof ScorerResponse>;

/** The metrics that experiments and log streams can have computed. */
export const listMetrics = (options: CallOptions = {}): Pages<Metric> =>
  pagesOf(clientOf(options), '/scorers/list', 'scorers', { filters: [] });

/**
 * Creates a metric with what says how it computes. Where that is refused nothing is left behind. What the metric lacks is logged.
 * @param complete adds a version
 * @returns the metric with its version
 */
export async function createMetric(
  options: CallOptions,
  scorer: Record<string, unknown>,
  complete: (client: ServiceClient, id: string) => Promise<unknown>,
): Promise<Metric> {
  const client = clientOf(options);
  const metric = await client.send<Metric>('/scorers', { body: scorer });
  try {
    await complete(client, metric.id);
  } catch (err) {
    await clientOf({ client: options.client })
      .send(`/scorers/${metric.id}`, { method: 'DELETE' })
      .catch(() => undefined); // what was wrong is the first error
    throw err;
  }
  const [made] = (
    await client.send<{ scorers: Metric[] }>('/scorers/list', {
      body: { filters: [{ name: 'id', operator: 'eq', value: metric.id }] },
      repeatable: true,
    })
  ).scorers;
  for (const warning of made?.warnings ?? []) client.logger.warn(`the metric ${JSON.stringify(metric.name)}: ${warning}`);
  return made ?? metric;
}

/** Deletes a metric of yours. Experiments keep the values that it gave. @throws NotFoundError when there is none. */
export async function deleteMetric(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/scorers/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}

export interface CreateCheckOptions extends CallOptions {
  /** The metric's name, by which experiments ask for it. */
  name: string;
  /** The condition that a record must meet, in the interface's spelling. */
  check: z.input<typeof Check>;
  description?: string | undefined;
  tags?: string[] | undefined;
  /** `lower` of what must not be there. `higher` without it. */
  direction?: 'higher' | 'lower' | undefined;
  /** Kinds of records that it looks at; traces without them. */
  kinds?: string[] | undefined;
}

/**
 * Creates a metric that is true or false of a record, by a check with settings.
 * @throws ValueError without a name or a check; HttpStatusError 409 when the name is taken, 422 for a check that cannot be computed.
 */
export async function createCheck(options: CreateCheckOptions): Promise<Metric> {
  const { name, check, description, tags, direction, kinds: scoreable_node_types } = options;
  if (!name || !check) throw new ValueError('a check needs a name and what it checks');
  const scorer = { name, scorer_type: 'code', check, description, tags, direction, scoreable_node_types };
  return createMetric(options, scorer, async () => undefined);
}

/**
 * Changes what a check checks, for what is scored from then on: runs that have begun keep the check that they began with.
 * @throws NotFoundError when there is none; HttpStatusError 422 for a check that cannot be computed.
 */
export const changeCheck = (options: CallOptions & { id: string; check: CreateCheckOptions['check'] }): Promise<Metric> =>
  clientOf(options).send(`/scorers/${encodeURIComponent(options.id)}`, { method: 'PATCH', body: { check: options.check } });
