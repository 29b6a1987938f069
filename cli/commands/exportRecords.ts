import { resolve } from 'node:path';
import { exportRecords as exported } from '../../client/index.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { jsonArrayOf } from '../output/jsonArrayOf.ts';
import { writeResult } from '../output/resultFile.ts';
import { type FilterOptions, recordFilters } from '../records/recordFilters.ts';
import { type RecordKind, type RunOptions, recordRun } from '../records/recordRun.ts';
import { formatOf } from '../rows/rowFiles.ts';
import { usageError } from '../terminal/commandError.ts';
import { remark, type Terminal } from '../terminal/terminal.ts';

const exportFormats = ['jsonl', 'jsonl_flat', 'json', 'csv', 'parquet'] as const;
type ExportFormat = (typeof exportFormats)[number];

export interface ExportRecordsOptions extends ServiceOptions, RunOptions, FilterOptions {
  kind: RecordKind;
  output?: string;
  format?: ExportFormat;
  column?: string[];
  byteOrderMark?: boolean;
  /** `--no-redact` */
  redact: boolean;
}

/** All records of a log stream or experiment that fit the filters, as a file or on the output. */
export async function exportRecords(terminal: Terminal, options: ExportRecordsOptions): Promise<void> {
  const output = options.output === '-' ? undefined : options.output;
  const format = options.format ?? (output === undefined ? 'jsonl' : formatOf(output));
  if (!format) throw usageError(`${output} does not say what to write: add --format ${exportFormats.join(', ')}`);
  if (format === 'parquet' && output === undefined && terminal.stdout.isTTY)
    throw usageError('Parquet is no text: name a file with --output, or send it through a pipe');
  if (options.column && format !== 'csv' && format !== 'parquet')
    throw usageError('--column is of csv and parquet: the other formats hold whole records');
  const client = await connect(terminal, options);
  const { signal } = terminal;
  const { kind, column, redact, byteOrderMark } = options;
  const run = await recordRun(client, options);
  const filters = await recordFilters(client, run, kind, options, signal);
  const records = await exported({
    client,
    projectId: run.projectId,
    ...('experiment_id' in run.selector
      ? { experimentId: run.selector.experiment_id }
      : { logStreamId: run.selector.log_stream_id }),
    ...{ kind, format: format === 'json' ? 'jsonl' : format, columns: column, filters, redact, byteOrderMark, signal },
  });
  const bytes = await writeResult(terminal, output, format === 'json' ? jsonArrayOf(records) : records);
  if (output) await remark(terminal, `${bytes} bytes written to ${resolve(terminal.folder, output)}`);
}
