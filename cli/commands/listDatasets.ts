import { listDatasets as datasetsOf } from '../../client/index.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { findProject, type ProjectOptions } from '../lookup/findProject.ts';
import { minuteOf, table } from '../output/table.ts';
import { remark, say, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';

export interface ListDatasetsOptions extends ServiceOptions, ProjectOptions {
  json?: boolean;
}

/** The datasets that the caller can read, newest first; those that a project uses where one is named on the command line. */
export async function listDatasets(terminal: Terminal, options: ListDatasetsOptions): Promise<void> {
  const client = await connect(terminal, options);
  const { project, projectId, json } = options;
  const used = project || projectId ? await findProject(client, { project, projectId }) : undefined;
  const found = await datasetsOf({ client, projectId: used, signal: terminal.signal }).all();
  if (json) return sayJson(terminal, found);
  if (found.length === 0) return remark(terminal, 'There is no dataset yet: make one with assay datasets import FILE');
  const columns = [{ title: 'name' }, { title: 'rows', figure: true }, { title: 'version', figure: true }];
  const rows = found.map(({ name, num_rows, current_version_index, column_names, updated_at }) => [
    ...[name, String(num_rows ?? '–'), String(current_version_index)],
    ...[minuteOf(updated_at), (column_names ?? []).join(', ')],
  ]);
  const width = widthOf(terminal.stdout, terminal.environment);
  await say(terminal, table([...columns, { title: 'changed (UTC)' }, { title: 'columns' }], rows, width));
}
