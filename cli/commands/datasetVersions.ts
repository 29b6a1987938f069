import { datasetVersions as versionsOf } from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { findDataset } from '../lookup/findDataset.ts';
import { minuteOf, table } from '../output/table.ts';
import { say, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';
import type { ListOptions } from './listProjects.ts';

/** The versions of a dataset, newest first, and what each changed. */
export async function datasetVersions(terminal: Terminal, words: string, options: ListOptions): Promise<void> {
  const client = await connect(terminal, options);
  const { id } = await findDataset(client, words);
  const found = await versionsOf({ client, id, signal: terminal.signal }).all();
  if (options.json) return sayJson(terminal, found);
  const figures = ['version', 'rows', 'added', 'removed', 'edited'].map((title) => ({ title, figure: true }));
  const columns = [...figures, { title: 'name' }, { title: 'created (UTC)' }, { title: 'columns' }];
  const rows = found.map((version) => [
    ...[version.version_index, version.num_rows, version.rows_added, version.rows_removed, version.rows_edited].map(String),
    ...[version.name ?? '', minuteOf(version.created_at), version.column_names.join(', ')],
  ]);
  await say(terminal, table(columns, rows, widthOf(terminal.stdout, terminal.environment)));
}
