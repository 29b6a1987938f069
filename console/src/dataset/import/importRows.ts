import type { FileReading } from '../../../../shared/datasetFiles/fileItems.ts';
import { fileItems } from '../../../../shared/datasetFiles/fileItems.ts';
import { mappedRow, type Targets } from '../../../../shared/datasetFiles/mappedRow.ts';
import { jsonWithBigInts } from '../../../../shared/wire/longNumbers.ts';
import { saveEdits } from '../../data/datasetRows.ts';
import { createDataset, type Dataset } from '../../data/datasets.ts';

/** The choices that somebody made about a file. */
export interface Decided extends FileReading {
  file: File;
  targets: Targets;
  /** Rows with something odd are taken, as far as they go. */
  takesOdd: boolean;
}

/** Rows that one edit of a dataset takes. */
export const MOST_APPENDED = 100_000;
/** Characters of rows between which the browser may put what there is aside. */
const PIECE = 1_000_000;

/** Makes a dataset of the rows. @returns its id */
export const importAsNew = async (decided: Decided, name: string, projectId: string): Promise<string> =>
  createDataset(name, projectId, new Blob(await linesOf(decided, (row) => `${row}\n`)));

/** Puts the rows at the end of a dataset, as one version. */
export async function importInto(decided: Decided, dataset: Dataset): Promise<number> {
  const edits = (await linesOf(decided, (row) => `{"edit_type":"append_row","values":${row}},`)).join('');
  return saveEdits(dataset.id, dataset.current_version_index, `{"edits":[${edits.slice(0, -1)}]}`);
}

/** The lines of the file of which no row is made, as they stand there. */
export async function leftOut(decided: Decided): Promise<Blob> {
  const texts: string[] = [];
  for await (const item of fileItems(decided.file, decided)) if (!isTaken(item, decided)) texts.push(`${item.text ?? ''}\n`);
  return new Blob(texts);
}

const isTaken = (item: { cells?: unknown; problem?: string | undefined }, { takesOdd }: Decided): boolean =>
  item.cells !== undefined && (takesOdd || item.problem === undefined);

async function linesOf(decided: Decided, written: (row: string) => string): Promise<string[]> {
  const pieces: string[] = [];
  let piece = '';
  for await (const item of fileItems(decided.file, decided)) {
    if (!item.cells || !isTaken(item, decided)) continue;
    piece += written(jsonWithBigInts(mappedRow(item.cells, decided.targets, decided.format)));
    if (piece.length < PIECE) continue;
    pieces.push(piece);
    piece = '';
    await new Promise((resolve) => setTimeout(resolve));
  }
  return [...pieces, piece];
}
