import type { PlaygroundLimitsResponse } from '../shared/wire/playgroundLimits.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

export type PlaygroundLimits = PlaygroundLimitsResponse;

/** Reads the limits of a project's playground, what is used of them now, and what is left. */
export async function getPlaygroundLimits(options: OperationOptions = {}): Promise<PlaygroundLimits> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/playground_limits`);
}
