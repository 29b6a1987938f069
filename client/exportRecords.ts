import { ValueError } from './errors.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

export interface ExportRecordsOptions extends OperationOptions {
  /** What holds the records: exactly one of these. */
  logStreamId?: string | undefined;
  experimentId?: string | undefined;
  metricsTestingId?: string | undefined;
  /** Kind of the records; those below them go with them in `jsonl` alone. Default `trace`. */
  kind?: 'session' | 'trace' | 'span' | undefined;
  /** Default `jsonl`. */
  format?: 'jsonl' | 'jsonl_flat' | 'csv' | 'parquet' | undefined;
  /** Of csv and parquet, by id; absent: all. */
  columns?: string[] | undefined;
  /** As a search has them. */
  filters?: Record<string, unknown>[] | undefined;
  /** Of csv: begins the file with U+FEFF, which Excel needs to show letters beyond ASCII. */
  byteOrderMark?: boolean | undefined;
  /** False: inputs and outputs as they were logged, also where there is a redacted one. */
  redact?: boolean | undefined;
}

/**
 * The records of a log stream or experiment as a file, as it arrives. In Node.js: `await writeFile('records.jsonl', await exportRecords(…))`.
 * @throws ValueError unless exactly one of the runs is given; HttpStatusError 422 for an unknown column or filter.
 */
export async function exportRecords(options: ExportRecordsOptions): Promise<ReadableStream<Uint8Array>> {
  const {
    logStreamId,
    experimentId,
    metricsTestingId,
    kind = 'trace',
    format,
    columns,
    filters,
    redact,
    byteOrderMark,
  } = options;
  const runs = { log_stream_id: logStreamId, experiment_id: experimentId, metrics_testing_id: metricsTestingId };
  if (Object.values(runs).filter(Boolean).length !== 1)
    throw new ValueError('name what to export: logStreamId, experimentId or metricsTestingId');
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  return client.download(`/projects/${projectId}/export_records`, {
    body: {
      ...runs,
      root_type: kind,
      export_format: format,
      column_ids: columns,
      filters,
      redact,
      byte_order_mark: byteOrderMark,
    },
    repeatable: true,
  });
}
