import type { z } from 'zod';
import type { RowSelectionReply, RowSelectionRequest } from '../shared/wire/rowSelection.ts';
import { meaning } from './recordRows.ts';

/** The rows of a dataset or list of records that are run: those that fit `filter`, `ids` or `ordinals`, of these a sample, of these the first. */
export interface RowSelection {
  /** All of them must hold; `operator` is `contains` by default. */
  filter?: { columnName: string; operator?: 'eq' | 'ne' | 'contains'; value: string }[] | undefined;
  /** Ids of rows of the dataset. */
  ids?: string[] | undefined;
  /** Positions, from 0. */
  ordinals?: number[] | undefined;
  /** So many rows at random, the same for the same seed (0 by default). */
  sample?: { size: number; seed?: number } | undefined;
  /** At most so many. */
  limit?: number | undefined;
  /** The rows of the experiment with this id, which goes alone. */
  sameAs?: string | undefined;
}

export function selectionToWire({
  filter,
  ids,
  ordinals,
  sample,
  limit,
  sameAs,
}: RowSelection): z.input<typeof RowSelectionRequest> {
  return {
    filter: filter?.map(({ columnName, operator, value }) => ({ column_name: columnName, operator, value })),
    ids,
    ordinals,
    sample,
    limit,
    same_as: sameAs,
  };
}

/** True when the rows that a run has frozen may be those of a selection. Of lists only the lengths are known. */
export function mayBeOf(frozen: RowSelectionReply | null, asked: RowSelection | undefined): boolean {
  if (!frozen || !asked) return !frozen && !asked;
  const { filter, ids, ordinals, sample, limit, sameAs } = asked;
  const { selected: _, of: __, ...shown } = frozen;
  const selected = {
    filter: filter?.map(({ columnName, operator = 'contains', value }) => ({ column_name: columnName, operator, value })) ?? null,
    listed: ids?.length ?? ordinals?.length ?? null,
    sample: sample ? { size: sample.size, seed: sample.seed ?? 0 } : null,
    limit: limit ?? null,
    same_as: sameAs ?? null,
  };
  return meaning(shown) === meaning(selected);
}
