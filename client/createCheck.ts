import type { z } from 'zod';
import type { Check } from '../shared/wire/checks.ts';
import { type CallOptions, clientOf } from './callOptions.ts';
import { ValueError } from './errors.ts';
import type { Metric } from './metrics.ts';
import { createMetric } from './metrics.ts';

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
