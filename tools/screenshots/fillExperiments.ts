import type { ServiceClient } from '../../client/http.ts';
import { approveExperiment, createExperiment, runExperiment } from '../../client/index.ts';

const ROWS = 60;

/** Experiments as people have them: a series that is run at each commit, two others, failures, missing values, a baseline, and a run that goes on. */
export async function fillExperiments(client: ServiceClient, projectId: string): Promise<void> {
  const waiting = runExperiment({
    ...{ client, projectId, experimentName: 'agent with tools', experimentGroup: 'agents', metrics: ['exact_match'] },
    dataset: Array.from({ length: 40 }, (_, index) => ({ input: `question ${index}`, output: `${index}` })),
    function: async (input: string) => {
      if (Number(input.slice(9)) > 24) await new Promise(() => undefined);
      return input.slice(9);
    },
  });
  waiting.catch(() => undefined); // it ends with the service
  for (let index = 0; index < 14; index++) await nightly(client, projectId, index);
  await filled(client, projectId, {
    name: 'summaries in the tone of the house, second attempt',
    group: 'summaries',
    right: 0.35,
    failed: 12,
  });
  await filled(client, projectId, { name: 'smoke', group: 'summaries', right: 1, rows: 5 });
  await createExperiment({ client, projectId, experimentName: 'not started yet' });
}

async function nightly(client: ServiceClient, projectId: string, index: number): Promise<void> {
  const id = await filled(client, projectId, {
    ...{ name: 'nightly', group: 'nightly', right: 0.62 + 0.02 * Math.floor(index / 3) + 0.03 * Math.sin(index * 2) },
    tags: { commit: `${'9f2c4be71a'.slice(index % 7, (index % 7) + 3)}${Math.floor(index / 3)}`, branch: 'main' },
  });
  if (index === 5) await approveExperiment({ client, projectId, experimentId: id });
}

interface Wanted {
  name: string;
  group: string;
  /** Share of the rows. */
  right: number;
  failed?: number;
  rows?: number;
  tags?: Record<string, string>;
}

async function filled(client: ServiceClient, projectId: string, wanted: Wanted): Promise<string> {
  const { name, group, right, failed = 0, rows = ROWS, tags = {} } = wanted;
  const { id } = await createExperiment({ client, projectId, experimentName: name, experimentGroup: group });
  for (const [key, value] of Object.entries(tags))
    await client.send(`/projects/${projectId}/experiments/${id}/tags`, { body: { key, value, tag_type: 'generic' } });
  const traces = Array.from({ length: rows }, (_, index) => {
    const hasFailed = index < failed;
    const scores = {
      exact_match: index / rows < right,
      tone: 0.5 + 0.4 * Math.sin(index),
      ...(index % 9 === 0 ? {} : { brevity: index % 5 }),
    };
    return {
      ...{ name: 'row', input: `question ${index}`, output: `answer ${index}`, status_code: hasFailed ? 500 : 200 },
      metrics: { duration_ns: 2e8 + index * 4e6, cost: 0.0012 + index / 1e5, ...(hasFailed ? {} : scores) },
    };
  });
  await client.send(`/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
  return id;
}
