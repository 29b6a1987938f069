import { jsonText } from '../jsonText.ts';
import { cellText } from './cells.ts';
import type { Cell } from './dataset.ts';

export type DownloadFormat = 'csv' | 'jsonl';
type Written = Cell | boolean;

/** Rows as the text of a file that {@link readRows} reads back. `pages` gives cells in column order. */
export async function* writeRows(
  format: DownloadFormat,
  columnNames: readonly string[],
  pages: AsyncIterable<readonly (readonly Written[])[]>,
): AsyncGenerator<string, void> {
  const line =
    format === 'csv'
      ? csvLine
      : (cells: readonly Written[]) =>
          `${jsonText(Object.fromEntries(columnNames.map((name, at) => [name, cells[at] ?? null])))}\n`;
  // The header goes out with the first rows: where these cannot be read, that is an error and not a file that breaks off.
  let header = format === 'csv' && columnNames.length > 0 ? csvLine(columnNames) : '';
  for await (const page of pages) {
    yield header + page.map(line).join('');
    header = '';
  }
  if (header !== '') yield header;
}

function csvLine(cells: readonly Written[]): string {
  // A line with nothing on it would be skipped on reading.
  if (cells.length === 1 && cells[0] === null) return '""\r\n';
  return `${cells.map(csvField).join(',')}\r\n`;
}

/** No value is an empty field, an empty text is `""`. */
function csvField(cell: Written): string {
  if (cell === null) return '';
  const text = cellText(cell);
  return text === '' || /[",\r\n\uFEFF]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
