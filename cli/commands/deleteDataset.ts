import { deleteDataset as deleted } from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { findDataset } from '../lookup/findDataset.ts';
import { confirm } from '../terminal/confirm.ts';
import { counted, remark, say, sayJson, type Terminal } from '../terminal/terminal.ts';
import type { ListOptions } from './listProjects.ts';

export interface DeleteDatasetOptions extends ListOptions {
  yes?: boolean;
}

/** Deletes the dataset that has exactly this name or id, with all its versions, after a question or with `--yes`. */
export async function deleteDataset(terminal: Terminal, words: string, options: DeleteDatasetOptions): Promise<void> {
  const client = await connect(terminal, options);
  const { id, name, num_rows, current_version_index: versions } = await findDataset(client, words);
  const what = `${JSON.stringify(name)} with ${counted(num_rows ?? 0, 'row')} and ${counted(versions, 'version')}`;
  if (!options.yes && !(await confirm(terminal, `Delete the dataset ${what}? It cannot be brought back.`)))
    return remark(terminal, 'Nothing was deleted.');
  await deleted({ client, id, signal: terminal.signal });
  if (options.json) await sayJson(terminal, { id, name, deleted: true });
  else await say(terminal, `${JSON.stringify(name)} is deleted. Experiments keep the rows that they ran.`);
}
