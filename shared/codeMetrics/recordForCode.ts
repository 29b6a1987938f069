import { parsedOrNothing } from '../json/parseJson.ts';
import type { ScoredRecord, ScoreValue } from '../metrics/metric.ts';

/** A record as the code of a metric gets it: the keys are the names of its attributes there. */
export interface CodeRecord {
  /** A record kind: `trace`, `llm` and so on. */
  type: string;
  name: string;
  input: string | null;
  output: string | null;
  dataset_input: string | null;
  dataset_output: string | null;
  dataset_metadata: Readonly<Record<string, string>>;
  /** The cells of the dataset row, as far as they are known: its metadata, its `input`, and its reference answer as `output` and as `target`. */
  dataset_variables: Readonly<Record<string, string>>;
  user_metadata: Record<string, unknown>;
  metrics: {
    duration_ns: number | null;
    num_input_tokens: number | null;
    num_output_tokens: number | null;
    num_total_tokens: number | null;
  };
  model: string | null;
  tools: unknown;
  error_message: string | null;
  /** Those below it, at any depth, in order of their start. */
  spans: CodeRecord[];
  /** The traces of a session. */
  traces?: CodeRecord[];
  /** The values of the metrics that the code requires; of the record that is scored alone. */
  required_scores?: Readonly<Record<string, ScoreValue | null>>;
}

export function recordForCode(record: ScoredRecord): CodeRecord {
  const { datasetInput, datasetOutput, datasetMetadata = {} } = record;
  return {
    type: record.kind,
    name: record.name,
    input: record.input,
    output: record.output,
    dataset_input: datasetInput,
    dataset_output: datasetOutput,
    dataset_metadata: datasetMetadata,
    dataset_variables: {
      ...datasetMetadata,
      ...(datasetInput === null ? {} : { input: datasetInput }),
      ...(datasetOutput === null ? {} : { output: datasetOutput, target: datasetOutput }),
    },
    user_metadata: record.metadata,
    metrics: {
      duration_ns: record.durationNs,
      num_input_tokens: record.inputTokens,
      num_output_tokens: record.outputTokens,
      num_total_tokens: record.totalTokens,
    },
    model: record.model,
    tools: record.tools === null || record.tools === undefined ? null : (parsedOrNothing(record.tools) ?? null),
    error_message: record.errorMessage,
    spans: (record.spans ?? []).map(recordForCode),
    ...(record.traces ? { traces: record.traces.map(recordForCode) } : {}),
    ...(record.requiredScores ? { required_scores: record.requiredScores } : {}),
  };
}
