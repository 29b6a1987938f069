import type { ScoredRecord } from '../../shared/metrics/metric.ts';

/** Makes a trace for a scorer, with these fields; all others are empty. */
export const scoredRecord = (fields: Partial<ScoredRecord> = {}): ScoredRecord => ({
  kind: 'trace',
  name: 'a record',
  input: null,
  output: null,
  datasetInput: null,
  datasetOutput: null,
  metadata: {},
  durationNs: null,
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  errorMessage: null,
  model: null,
  ...fields,
});
