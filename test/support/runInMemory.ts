import { defaultRunSettings, type ExperimentRow, type ExperimentRun } from '../../shared/experiments/experiment.ts';
import type { Chunk } from '../../shared/experiments/workflow.ts';
import { newId } from '../../shared/identifiers/ids.ts';

/** A run of 3 rows whose runner is the module `echo`. */
export const aRun = (fields: Partial<ExperimentRun> = {}): ExperimentRun => ({
  experimentId: newId(),
  projectId: newId(),
  name: 'run',
  projectName: 'project',
  groupName: 'group',
  createdBy: newId(),
  datasetName: null,
  runner: { kind: 'module', name: 'echo' },
  settings: defaultRunSettings,
  loggedMetrics: {},
  failedRows: 'omit',
  source: { kind: 'run' },
  state: 'running',
  workflowNumber: 1,
  scoresLeftFrom: 1,
  workflowId: 'project/run/1',
  workflowProblem: null,
  rowsToRun: 'missing',
  rerun: null,
  selectedRows: null,
  trials: 1,
  rowCount: 3,
  ...fields,
});

/** The rows [from, to), with new ids. */
export const rowsOf = async (_run: ExperimentRun, from: number, to: number): Promise<ExperimentRow[]> =>
  Array.from({ length: to - from }, (_, index) => ({
    rowId: newId(),
    ordinal: from + index,
    sourceOrdinal: from + index,
    trial: 0,
    input: `q${from + index}`,
    expected: null,
    metadata: {},
    generatedOutput: null,
    variables: {},
  }));

export const idsOf = async (run: ExperimentRun, from: number, to: number) =>
  (await rowsOf(run, from, to)).map(({ rowId }) => rowId);

/** All rows of the run. */
export const chunkOf = ({ experimentId, projectId, workflowNumber, rowCount }: ExperimentRun): Chunk => ({
  experimentId,
  projectId,
  number: workflowNumber,
  from: 0,
  to: rowCount,
  lanes: 2,
  round: 1,
  chunk: 0,
  token: 'chunk 0',
  runId: 'execution',
  startedAt: 0,
});
