import type { ServiceClient } from '../../client/index.ts';
import type { Filter } from './recordFilters.ts';
import type { RecordKind, RecordRun } from './recordRun.ts';

export type Found = Record<string, unknown> & { id: string };

export interface RecordQuery {
  kind: RecordKind;
  filters: readonly Filter[];
  sort: { column_id: string; ascending: boolean };
  /** Absent: whole records. */
  columns?: readonly string[] | undefined;
  /** Texts are cut: a line of a table has no room for more. */
  isShort?: boolean;
  limit: number;
}

/** Records of a page: enough for one answer to be worth its way, few enough to begin at once. */
const PAGE = 1_000;

interface Page {
  records: Found[];
  next_starting_token: number | null;
  last_row_id: string | null;
}

/** The records that a query finds, page by page. Records that are logged or deleted meanwhile move no other one out of sight. */
export async function* recordPages(
  client: ServiceClient,
  { path, selector }: RecordRun,
  { kind, filters, sort, columns, isShort = false, limit }: RecordQuery,
  signal: AbortSignal,
): AsyncGenerator<Found[], void> {
  let left = limit;
  let place: { starting_token: number; previous_last_row_id?: string | null } | null = { starting_token: 0 };
  while (left > 0 && place !== null) {
    const page: Page = await client.send<Page>(`${path}/${kind}s/${columns ? 'partial_search' : 'search'}`, {
      body: {
        ...{ ...selector, ...place, filters, sort, limit: Math.min(PAGE, left), truncate_fields: isShort },
        ...(columns && { select_columns: { column_ids: columns } }),
      },
      repeatable: true,
      signal,
    });
    yield page.records;
    left -= page.records.length;
    const next: number | null = page.next_starting_token;
    place = next === null ? null : { starting_token: next, previous_last_row_id: page.last_row_id };
  }
}
