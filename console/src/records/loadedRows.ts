import { type FarPage, type LogRecord, PAGE } from '../data/records.ts';

/** The rows of a table by their numbers from 0 on, however many there are: those that are not loaded cost nothing. */
export interface Rows {
  /** The number of all rows, loaded or not. */
  length: number;
  /** Undefined where none is loaded, and beyond the ends. */
  at(index: number): LogRecord | undefined;
  /** The number of the row that has the record of this id; -1 when it is not loaded, and without an id. */
  placeOf(id: string | undefined): number;
  /** Those that are loaded, in their order. */
  loaded: readonly LogRecord[];
}

interface Loaded {
  /** Those that the table begins with. */
  first: readonly LogRecord[];
  /** How many that the service counts before all others are not shown among them. */
  hidden: number;
  /** Others, each of as many records as {@link PAGE} says; of what one of them shares with the first records, these are shown. */
  pages: readonly FarPage[];
}

/** @param length of all rows */
export function loadedRows({ first, hidden, pages }: Loaded, length: number): Rows {
  const byOffset = new Map(pages.map(({ offset, records }) => [offset, records]));
  const at = (index: number): LogRecord | undefined => {
    if (index < first.length) return first[index];
    const place = (index + hidden) % PAGE;
    return index < length ? byOffset.get(index + hidden - place)?.[place] : undefined;
  };
  const behind = pages
    .toSorted((one, other) => one.offset - other.offset)
    .flatMap(({ offset, records }) => records.map((record, place) => ({ record, index: offset + place - hidden })))
    .filter(({ record, index }) => record === at(index));
  const places = new Map(behind.map(({ record, index }) => [record.id, index]));
  for (const [index, { id }] of first.entries()) places.set(id, index);
  return {
    ...{ length, at, loaded: [...first, ...behind.map(({ record }) => record)] },
    placeOf: (id) => (id === undefined ? undefined : places.get(id)) ?? -1,
  };
}
