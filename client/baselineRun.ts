import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import { ValueError } from './errors.ts';
import { runsOfName } from './experiments.ts';
import { baselinePicks } from './gateExperiment.ts';
import type { ServiceClient } from './http.ts';
import { nearestOf } from './knownKeys.ts';

/** Runs of a name that are looked through for one that ended, and names that a wrong one is compared with. */
const MAX_READ = 100;

/**
 * The id of the experiment that a run is to be compared with, before the run: of an id that one, of a name the newest run that ended with rows that
 * did not fail. The newest of all may be the one that the call goes on with.
 * @throws ValueError where there is none
 */
export async function baselineRun(client: ServiceClient, projectId: string, nameOrId: string): Promise<string> {
  const named = await runsOfName(client, projectId, nameOrId, MAX_READ);
  const found = named.find(isComparable) ?? (named.length === 0 ? await byId(client, projectId, nameOrId) : undefined);
  if (found) return found.id;
  if (named.length > 0)
    throw new ValueError(
      `there is no run of ${JSON.stringify(nameOrId)} to compare with: none of ${named.length} has ended with rows that did not fail`,
    );
  const newest = await search(client, projectId, []);
  const nearest = nearestOf(nameOrId, [...newest.map(({ series }) => series), ...baselinePicks], 2);
  const hint = nearest === undefined ? '' : `; the nearest is ${JSON.stringify(nearest)}`;
  throw new ValueError(`there is no experiment ${JSON.stringify(nameOrId)} to compare with in this project${hint}`);
}

function isComparable({ state, status, aggregate_metric_counts: counts }: ExperimentResponse): boolean {
  const hasEnded = state === 'completed' || (state === 'idle' && status.log_generation.progress_percent === 1);
  return hasEnded && !Object.values(counts ?? {}).some(({ rows, rows_failed }) => rows > 0 && rows === rows_failed);
}

const byId = async (client: ServiceClient, projectId: string, id: string): Promise<ExperimentResponse | undefined> =>
  (await search(client, projectId, [{ name: 'id', operator: 'eq', value: id }]))[0];

const search = async (client: ServiceClient, projectId: string, filters: object[]): Promise<ExperimentResponse[]> =>
  (
    await client.send<{ experiments: ExperimentResponse[] }>(`/projects/${projectId}/experiments/search`, {
      body: { filters, starting_token: 0, limit: MAX_READ },
      repeatable: true,
    })
  ).experiments;
