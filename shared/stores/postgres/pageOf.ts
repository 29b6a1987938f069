import { z } from 'zod';
import type { Page, PageOf } from '../../accounts/accountStore.ts';
import type { Queries, Row } from './database.ts';

/** Rows to read for a page of `limit`: one more, which says whether others follow. Counting all of them would read all. */
export const rowsFor = (limit: number): number => limit + 1;

/** The page out of the rows that were read for it. */
export const pageFrom = <T>(rows: readonly T[], limit: number): PageOf<T> => ({
  items: rows.slice(0, limit),
  hasMore: rows.length > limit,
});

/** A page of what `sql` finds with its `params`, in its order. */
export async function pageOf<T>(
  database: Queries,
  { sql, params }: { sql: string; params: readonly unknown[] },
  page: Page,
  row: z.ZodType<T>,
): Promise<PageOf<T>> {
  const next = params.length + 1;
  const rows = await database.query(`${sql} LIMIT $${next} OFFSET $${next + 1}`, [...params, rowsFor(page.limit), page.offset]);
  return pageFrom(z.array(row).parse(rows), page.limit);
}

/** The id of a row that has one. */
export const idOf = (row: Row): string => z.string().parse(row.id);

/** Puts the rows that were read by these ids in the order of the ids; one that is gone meanwhile is left out. */
export function inOrder<T extends { id: string }>(ids: readonly string[], rows: readonly Row[], row: z.ZodType<T>): T[] {
  const byId = new Map(
    z
      .array(row)
      .parse(rows)
      .map((one) => [one.id, one]),
  );
  return ids.flatMap((id) => byId.get(id) ?? []);
}
