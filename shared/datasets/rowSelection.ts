import { createHash } from 'node:crypto';
import type { RowSelectionReply, RowSelectionRequest } from '../wire/rowSelection.ts';

/** The rows of its source that a run is over. `ids`, `ordinals` and `filter` choose, then the sample is drawn, then the limit cuts. */
export type RowSelection = RowSelectionRequest;

/** The rows of a run as they were frozen at its start: two lists of ranges in the row store, of keys and of ordinals, by position. */
export interface SelectedRows {
  storageId: string;
  count: number;
  /** Rows that the source has. */
  of: number;
  /** Equal where a repeated request asks for the same. */
  digest: string;
  shown: Omit<RowSelectionReply, 'selected' | 'of'>;
}

const selectionParts = ({ filter, ids, ordinals, sample, limit, same_as }: RowSelection) => ({
  filter: filter ?? null,
  ids: ids ?? null,
  ordinals: ordinals ?? null,
  sample: sample ?? null,
  limit: limit ?? null,
  same_as: same_as ?? null,
});

export const digestOf = (selection: RowSelection): string =>
  createHash('sha256')
    .update(JSON.stringify(selectionParts(selection)))
    .digest('hex');

/** Returns what is shown of a selection: a list of 10,000 ids by its length. */
export function shownSelection(selection: RowSelection): SelectedRows['shown'] {
  const { ids, ordinals, ...rest } = selectionParts(selection);
  return { ...rest, listed: ids?.length ?? ordinals?.length ?? null };
}

export const selectionToWire = (selected: SelectedRows | null): RowSelectionReply | null =>
  selected && { selected: selected.count, of: selected.of, ...selected.shown };
