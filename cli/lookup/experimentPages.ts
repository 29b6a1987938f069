import type { ExperimentResponse, ServiceClient } from '../../client/index.ts';

const PAGE = 100;

/** Experiments of a project, newest first, at most `limit` of them; with counts each says how many rows it has recorded. */
export async function* experimentPages(
  client: ServiceClient,
  projectId: string,
  limit: number,
  withCounts = false,
): AsyncGenerator<ExperimentResponse, void> {
  let token: number | null = 0;
  for (let left = limit; left > 0 && token !== null; left -= PAGE) {
    const page: { experiments: ExperimentResponse[]; next_starting_token: number | null } = await client.send(
      `/projects/${projectId}/experiments/search`,
      { body: { filters: [], starting_token: token, limit: Math.min(PAGE, left), include_counts: withCounts }, repeatable: true },
    );
    yield* page.experiments;
    token = page.next_starting_token ?? null;
  }
}
