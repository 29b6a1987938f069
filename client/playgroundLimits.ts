import type { PlaygroundLimitsResponse } from '../shared/wire/playgroundLimits.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';

export type PlaygroundLimits = PlaygroundLimitsResponse;

/** Reads the limits of a project's playground, what is used of them now, and what is left. */
export async function getPlaygroundLimits(options: OperationOptions = {}): Promise<PlaygroundLimits> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/playground_limits`);
}

/**
 * Changes what the playground of a project may use, from the next call on. Both limits are set.
 * @param options.mostCalls at once, by everybody together; null: no limit
 * @param options.mostCostPerDay US dollars a day (UTC); null: no limit
 * @throws HttpStatusError 422 for a limit that is none.
 */
export async function setPlaygroundLimits(
  options: OperationOptions & { mostCalls: number | null; mostCostPerDay: number | null },
): Promise<PlaygroundLimits> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/playground_limits`, {
    method: 'PUT',
    body: { most_calls: options.mostCalls, most_cost_per_day: options.mostCostPerDay },
  });
}
