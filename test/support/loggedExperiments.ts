import { createExperiment } from '../../client/index.ts';
import { readProblems } from '../../demo/problems.ts';
import type { TestService } from './testService.ts';

/** A row of an experiment, as it is logged. */
export interface LoggedRow {
  input: string;
  output: unknown;
  reference?: string;
  metrics: Record<string, unknown>;
  topic?: string;
  failed?: string;
}

/** Logs an experiment with its rows, complete. Returns its id. */
export async function loggedExperiment(
  { client }: Pick<TestService, 'client'>,
  projectId: string,
  name: string,
  rows: readonly LoggedRow[],
): Promise<string> {
  const { id } = await createExperiment({ client, projectId, experimentName: name });
  const traces = rows.map(({ input, output, reference, metrics, topic, failed }) => ({
    ...{ type: 'trace', name: 'solve', input, output, dataset_input: input, metrics },
    ...(reference === undefined ? {} : { dataset_output: reference }),
    ...(topic === undefined ? {} : { dataset_metadata: { topic } }),
    ...(failed === undefined ? {} : { error_message: failed, status_code: 500 }),
  }));
  await client.send(`/v2/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
  return id;
}

/** Answers to the 40 problems of the demo. @param isRight which of them end in the right number */
export const solvedProblems = (isRight: (index: number) => boolean, { seconds = 1, usd = 0.002 } = {}): LoggedRow[] =>
  readProblems().map(({ input, output, metadata }, index) => {
    const total = isRight(index) ? output : String(Number(output) + 2);
    return {
      ...{ input, reference: output, topic: metadata.topic },
      output: `Let us see: ${metadata.working} is what is asked for, so the total is ${total}.`,
      metrics: {
        ...{ numeric_match: isRight(index), duration_ns: 1e9 * (seconds + (index % 7) / 10), cost: usd + (index % 5) / 1e5 },
        num_total_tokens: 40 + (index % 3),
      },
    };
  });
