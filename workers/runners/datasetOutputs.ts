import type { ExperimentRow } from '../../shared/experiments/experiment.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowRunner } from '../../shared/experiments/runRows.ts';

/** Takes the outputs that the dataset already holds (`generated_output`), so that they can be scored and searched like any run's. */
export const datasetOutputsRunner: RowRunner = {
  async run(row: ExperimentRow): Promise<RowResult> {
    const base = { spans: [], startedAt: new Date(), durationNs: null, attempts: null };
    return row.generatedOutput === null
      ? { ...base, output: null, error: 'the row has no generated_output' }
      : { ...base, output: row.generatedOutput };
  },
  close: async () => undefined,
};
