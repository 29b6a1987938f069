import type { Preferences } from '../parts/preferences.ts';
import type { ShownColumn } from './recordColumns.ts';

/** Pixels of the column that selects rows. */
export const SELECT_WIDTH = 40;
/** Pixels of a column for texts, before somebody changes it. */
const LONG_TEXT = 288;
const NARROWEST = 48;
const WIDEST = 1_200;
/** Pixels of a narrow character. */
const NARROW_CHARACTER = 4;

/** A column in its place: `left` is the distance in pixels at which a pinned one stays. */
export interface PlacedColumn extends ShownColumn {
  /** It takes a share of the room that is left over. */
  grows: boolean;
  left: number | undefined;
  /** Characters that it shows at most: what a browser lays out and cuts off takes as long as what is seen. */
  most: number;
}

/**
 * The pinned columns first, each as wide as the person left it.
 * @param room in pixels, that the table ever had
 */
export function placed(
  columns: readonly ShownColumn[],
  pinned: readonly string[],
  widths: Preferences['widths'],
  room: number,
): PlacedColumn[] {
  const isPinned = ({ id }: ShownColumn) => pinned.includes(id);
  let left = SELECT_WIDTH;
  const all = [...columns.filter(isPinned), ...columns.filter((one) => !isPinned(one))].map((column) => {
    const width = widths[column.id] ?? column.width;
    const grows = width >= LONG_TEXT && widths[column.id] === undefined && !isPinned(column);
    const at = { ...column, width, grows, left: isPinned(column) ? left : undefined };
    left += width;
    return at;
  });
  const share = Math.max(0, room - left) / all.filter(({ grows }) => grows).length;
  return all.map((at) => ({ ...at, most: Math.ceil((at.width + (at.grows ? share : 0)) / NARROW_CHARACTER) }));
}

/** Widths for a CSS grid; columns of long texts share the rest, or an empty column takes it where there is none. */
export const templateOf = (columns: readonly PlacedColumn[]): string =>
  [
    `${SELECT_WIDTH}px`,
    ...columns.map(({ width, grows }) => (grows ? `minmax(${width}px, 1fr)` : `${width}px`)),
    ...(columns.some(({ grows }) => grows) ? [] : ['1fr']),
  ].join(' ');

export const widthOf = (columns: readonly PlacedColumn[]): number =>
  columns.reduce((sum, { width }) => sum + width, SELECT_WIDTH);

export const fittingWidth = (width: number): number => Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)));

/** The ids with one of them at the place of another. */
export function movedTo(ids: readonly string[], id: string, target: string): string[] {
  const from = ids.indexOf(id);
  const to = ids.indexOf(target);
  if (from < 0 || to < 0 || from === to) return [...ids];
  const others = ids.filter((one) => one !== id);
  others.splice(to, 0, id);
  return others;
}
