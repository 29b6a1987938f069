import type { z } from 'zod';
import type { RunReply, RunRequest } from '../shared/wire/experimentRuns.ts';
import type { ServiceClient } from './http.ts';

/** The rows of an experiment to run once more, and the process that runs them unless the service does. */
export type StartAgainOptions = Pick<z.input<typeof RunRequest>, 'rows_to_run' | 'process'>;

/**
 * Starts an experiment once more.
 * @param path of the experiment
 * @throws HttpStatusError 422 for unknown rows and metrics
 */
export const startAgain = (
  client: ServiceClient,
  path: string,
  again: StartAgainOptions,
  signal?: AbortSignal,
): Promise<z.output<typeof RunReply>> => client.send(`${path}/run`, { body: again, signal });
