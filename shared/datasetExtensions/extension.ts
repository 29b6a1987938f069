import type { WorkflowStatus } from '../experiments/startRun.ts';
import type { SyntheticDataType } from '../wire/datasetExtensions.ts';

/** A row as a model made it: text by column. */
export type GeneratedRow = Record<string, string>;

/** The request of an extension. The rows of a source dataset are those of the moment of the request. */
export interface ExtensionRequest {
  /** As `integration/model`. */
  model: string;
  count: number;
  prompt: string | null;
  instructions: string | null;
  examples: readonly string[];
  dataTypes: readonly SyntheticDataType[];
  sourceRows: readonly GeneratedRow[];
  /** Columns of the rows to make; the first is `input`. */
  columns: readonly string[];
  userId: string;
  projectId: string | undefined;
}

export type ExtensionState = 'running' | 'completed' | 'failed';

export interface Extension {
  datasetId: string;
  request: ExtensionRequest;
  rows: readonly GeneratedRow[];
  batches: number;
  fruitless: number;
  state: ExtensionState;
  message: string | null;
}

export interface ExtensionStore {
  insert(datasetId: string, request: ExtensionRequest): Promise<void>;
  /** Undefined for a dataset that is gone, or that was made in another way. */
  find(datasetId: string): Promise<Extension | undefined>;
  /** Takes in an answer of the model, unless another answer was taken in after `batches`. */
  add(datasetId: string, batches: number, rows: readonly GeneratedRow[]): Promise<void>;
  end(datasetId: string, state: 'completed' | 'failed', message: string): Promise<void>;
  /** Datasets that are there and whose extension has not ended, oldest first. */
  running(): Promise<string[]>;
}

export interface ExtensionWorkflows {
  /** Has the rows of a dataset made; does nothing when the server knows that workflow, however it stands. */
  extend(datasetId: string): Promise<void>;
  status(workflow: { workflowId: string }): Promise<WorkflowStatus>;
}
