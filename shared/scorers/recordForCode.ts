import type { CodeRecord } from '../codeMetrics/codeSandbox.ts';
import { parsedOrNothing } from '../json/parseJson.ts';
import type { ScoredRecord } from '../metrics/metric.ts';

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
