import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { type RunChoice, runOf } from './recordChoice.ts';

export interface ExportRecordsOptions extends OperationOptions, RunChoice {
  /** Kind of the records; those below them go with them in `jsonl` alone. Default `trace`. */
  kind?: 'session' | 'trace' | 'span' | undefined;
  /** Default `jsonl`. */
  format?: 'jsonl' | 'jsonl_flat' | 'csv' | 'parquet' | undefined;
  /** Ids of the columns of a csv or parquet file; absent: all. */
  columns?: string[] | undefined;
  /** As a search has them. */
  filters?: Record<string, unknown>[] | undefined;
  /** Begins a csv file with U+FEFF, which Excel needs to show letters beyond ASCII. */
  byteOrderMark?: boolean | undefined;
  /** False: inputs and outputs as they were logged, also where there is a redacted one. */
  redact?: boolean | undefined;
}

/**
 * The records of a log stream or experiment as a file, as it arrives. In Node.js: `await writeFile('records.jsonl', await exportRecords(…))`.
 * @throws ValueError unless exactly one of the runs is given; HttpStatusError 422 for an unknown column or filter.
 */
export async function exportRecords(options: ExportRecordsOptions): Promise<ReadableStream<Uint8Array>> {
  const { kind = 'trace', format, columns, filters, redact, byteOrderMark } = options;
  const run = runOf(options);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  return client.download(`/projects/${projectId}/export_records`, {
    body: {
      ...run,
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
