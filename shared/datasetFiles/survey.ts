import { type FileCells, type FileItem, type FileReading, fileItems } from './fileItems.ts';

/** An odd place of a file. */
export interface OddPlace {
  line: number;
  problem: string;
  /** A row was made of it, as far as it goes. */
  isRow: boolean;
}

/** A summary of a dataset file. */
export interface Survey {
  columns: string[];
  rows: number;
  /** Rows with something odd, and places that are no row; of the latter `lost`. */
  odd: number;
  lost: number;
  /** The first of the odd places. */
  places: OddPlace[];
  sample: FileCells[];
}

const SAMPLE = 20;
/** Odd places that somebody looks through. */
const PLACES = 1_000;

/**
 * Reads a file to its end, and keeps of it what a person needs to decide on.
 * @param onRead gets the number of rows as it grows
 * @throws Error for what is no text
 */
export async function survey(
  file: Blob,
  reading: FileReading,
  { onRead, signal }: { onRead(rows: number): void; signal: AbortSignal },
): Promise<Survey> {
  const columns = new Set<string>();
  const found: Survey = { columns: [], rows: 0, odd: 0, lost: 0, places: [], sample: [] };
  let seen = 0;
  for await (const item of fileItems(file, reading)) {
    if (item.cells) {
      for (const [name] of item.cells) columns.add(name);
      found.rows += 1;
      if (found.sample.length < SAMPLE) found.sample.push(item.cells);
    }
    note(item, found);
    // The page goes on in between.
    if (++seen % 2_000 === 0) {
      onRead(found.rows);
      await new Promise((resolve) => setTimeout(resolve));
      signal.throwIfAborted();
    }
  }
  return { ...found, columns: [...columns] };
}

function note({ line, problem, cells }: FileItem, found: Survey): void {
  if (problem === undefined) return;
  found.odd += 1;
  if (!cells) found.lost += 1;
  if (found.places.length < PLACES) found.places.push({ line, problem, isRow: cells !== undefined });
}
