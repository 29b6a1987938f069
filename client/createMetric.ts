import type { ServiceClient } from './http.ts';
import type { Metric } from './listMetrics.ts';
import { type CallOptions, clientOf } from './project.ts';

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
