import { type DatasetRow, datasetRows as rowsOf } from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { findDataset } from '../lookup/findDataset.ts';
import { table } from '../output/table.ts';
import { notFound } from '../terminal/commandError.ts';
import { counted, remark, say, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';
import type { ListOptions } from './listProjects.ts';

export interface DatasetRowsOptions extends ListOptions {
  datasetVersion?: number;
  limit: number;
}

/** The first rows of a dataset, of its newest version or of another. */
export async function datasetRows(terminal: Terminal, words: string, options: DatasetRowsOptions): Promise<void> {
  const client = await connect(terminal, options);
  const { id, name, current_version_index: newest } = await findDataset(client, words);
  const { datasetVersion: version, limit } = options;
  if (version !== undefined && version > newest)
    throw notFound(`${JSON.stringify(name)} has no version ${version}; the newest is ${newest}`);
  const found: DatasetRow[] = [];
  for await (const row of rowsOf({ client, id, versionIndex: version, signal: terminal.signal })) {
    found.push(row);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  if (options.json) await sayJson(terminal, shown);
  else if (shown.length === 0) return remark(terminal, `${JSON.stringify(name)} has no rows.`);
  else {
    const names = [...new Set(shown.flatMap(({ values_dict }) => Object.keys(values_dict)))];
    const columns = [{ title: 'row', figure: true }, ...names.map((title) => ({ title }))];
    const rows = shown.map(({ index, values_dict }) => [String(index), ...names.map((each) => textOf(values_dict[each]))]);
    await say(terminal, table(columns, rows, widthOf(terminal.stdout, terminal.environment)));
  }
  if (found.length > limit) await remark(terminal, `${counted(limit, 'row')} shown, the first; --limit shows more.`);
}

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
