import type { CsvForm } from '../../shared/datasets/writeRows.ts';

/** Formats of exported files. */
export const formats = {
  jsonl: { contentType: 'application/x-ndjson; charset=utf-8', ending: '.jsonl' },
  jsonl_flat: { contentType: 'application/x-ndjson; charset=utf-8', ending: '.jsonl' },
  csv: { contentType: 'text/csv; charset=utf-8', ending: '.csv' },
  parquet: { contentType: 'application/vnd.apache.parquet', ending: '.parquet' },
} as const;

/** How the CSV that a request asks for is written. */
export const csvForm = (request: { spreadsheet_safe: boolean; byte_order_mark: boolean }): CsvForm => ({
  spreadsheetSafe: request.spreadsheet_safe,
  byteOrderMark: request.byte_order_mark,
});

/** Headers of an answer that is kept as a file. */
export const attachment = (contentType: string, name: string) => ({
  'Content-Type': contentType,
  'Content-Disposition': `attachment; filename*=UTF-8''${encoded(name)}`,
});

const encoded = (name: string): string => encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, '_');
