import { resolve } from 'node:path';
import { usageError } from './commandError.ts';
import { formatOf, readRows } from './rowFiles.ts';
import type { Terminal } from './terminal.ts';

/** The rows of a file where the words end as one does, else the dataset of that name; in place of what the experiment file says. */
export async function chosenDataset({ folder }: Terminal, words: string) {
  const none = { datasetId: undefined, datasetName: undefined };
  if (!formatOf(words)) return { ...none, dataset: words };
  const rows = await readRows(resolve(folder, words));
  if (rows.length === 0) throw usageError(`${words} has no rows: there is nothing to run`);
  return { ...none, dataset: rows };
}
