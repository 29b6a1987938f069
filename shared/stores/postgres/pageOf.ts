import { z } from 'zod';
import type { Page, PageOf } from '../../accounts/accountStore.ts';
import type { Queries } from './connect.ts';

/** The rows of a page and how many there are in all, from two queries over the same `params`. */
export async function pageOf<T>(
  database: Queries,
  sql: { page: string; count: string; params: unknown[] },
  page: Page,
  row: z.ZodType<T>,
): Promise<PageOf<T>> {
  const next = sql.params.length + 1;
  const rows = await database.query(`${sql.page} LIMIT $${next} OFFSET $${next + 1}`, [...sql.params, page.limit, page.offset]);
  const counted = await database.maybeOne(sql.count, sql.params);
  return { items: z.array(row).parse(rows), total: z.number().parse(counted?.total) };
}
