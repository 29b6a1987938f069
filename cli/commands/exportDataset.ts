import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parseJson } from '../../shared/json/parseJson.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { findDataset } from '../lookup/findDataset.ts';
import { jsonArrayOf } from '../output/jsonArrayOf.ts';
import { writeResult } from '../output/resultFile.ts';
import { formatOf, parquetOf, type Row, type RowFormat } from '../rows/rowFiles.ts';
import { usageError } from '../terminal/commandError.ts';
import { counted, remark, type Terminal } from '../terminal/terminal.ts';

export interface ExportDatasetOptions extends ServiceOptions {
  output?: string;
  format?: RowFormat;
  spreadsheetSafe?: boolean;
  byteOrderMark?: boolean;
}

/** The current version of a dataset as a file, or on the output. */
export async function exportDataset(terminal: Terminal, name: string, options: ExportDatasetOptions): Promise<void> {
  const output = options.output === '-' ? undefined : options.output;
  const format = options.format ?? (output === undefined ? 'csv' : formatOf(output));
  if (!format) throw usageError(`${output} does not say what to write: add --format csv, jsonl, json or parquet`);
  const client = await connect(terminal, options);
  const dataset = await findDataset(client, name);
  const lines = await client.download(`/datasets/${dataset.id}/download`, {
    query: {
      format: format === 'csv' ? 'csv' : 'jsonl',
      spreadsheet_safe: options.spreadsheetSafe,
      byte_order_mark: options.byteOrderMark,
    },
    signal: terminal.signal,
  });
  const chunks =
    format === 'json' ? jsonArrayOf(lines) : format === 'parquet' ? asParquet(lines, dataset.column_names ?? []) : lines;
  await writeResult(terminal, output, chunks);
  if (output)
    await remark(
      terminal,
      `${counted(dataset.num_rows ?? 0, 'row')} of ${JSON.stringify(dataset.name)} written to ${resolve(terminal.folder, output)}`,
    );
}

async function* asParquet(lines: AsyncIterable<Uint8Array>, columns: readonly string[]): AsyncGenerator<Uint8Array> {
  yield await parquetOf(columns, parseJson(await text(Readable.from(jsonArrayOf(lines)))) as Row[]);
}
