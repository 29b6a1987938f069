import type { ServiceClient } from '../../client/index.ts';
import type { Filter } from './recordFilters.ts';
import { type Found, recordPages } from './recordPages.ts';
import type { RecordKind, RecordRun } from './recordRun.ts';

/**
 * Milliseconds by which a record may become visible after its `updated_at`: it is set before the record is stored, and by several processes, whose
 * clocks differ. Each look goes back so far.
 */
const LATE_MS = 15_000;
/** Ids that are remembered, so that no record is shown twice: of a busy stream those of the last minutes. */
const MAX_REMEMBERED = 200_000;
const IDS_AT_ONCE = 1_000;

export interface NewRecordsQuery {
  kind: RecordKind;
  filters: readonly Filter[];
  columns: readonly string[] | undefined;
  isShort: boolean;
  /** How many of what is there come with the first look. */
  first: number;
}

/**
 * A look at what is new, in parts: the first gives the newest records, oldest first, each later one those that were logged or changed since, in the
 * order of that. `updated_at` decides, since `created_at` is the caller's, who may log what began long ago. A look that fails is made again by the
 * next one.
 */
export function newRecords(
  client: ServiceClient,
  run: RecordRun,
  { kind, filters, columns, isShort, first }: NewRecordsQuery,
  signal: AbortSignal,
): () => AsyncGenerator<Found[], void> {
  const seen = new Set<string>();
  let newest: number | undefined;

  const remember = (records: readonly Found[]) => {
    newest ??= 0;
    for (const record of records) {
      seen.add(record.id);
      newest = Math.max(newest, changedAt(record));
    }
    for (const id of seen) {
      if (seen.size <= MAX_REMEMBERED) break;
      seen.delete(id);
    }
  };

  /** By when they were changed, without their contents: each look reads most of them again. */
  const changes = (ascending: boolean, also: readonly Filter[] = []) =>
    recordPages(
      client,
      run,
      {
        ...{ kind, filters: [...filters, ...also], sort: { column_id: 'updated_at', ascending } },
        ...{ columns: ['updated_at'], isShort: true, limit: Number.POSITIVE_INFINITY },
      },
      signal,
    );

  /** The records in this order; one that was deleted meanwhile is left out. */
  async function* contentsOf(records: readonly Found[]): AsyncGenerator<Found[], void> {
    for (let from = 0; from < records.length; from += IDS_AT_ONCE) {
      const some = records.slice(from, from + IDS_AT_ONCE);
      const ids = { type: 'id', column_id: 'id', operator: 'one_of', value: some.map(({ id }) => id) };
      const sort = { column_id: 'updated_at', ascending: true };
      const query = { kind, filters: [ids], sort, columns, isShort, limit: Number.POSITIVE_INFINITY };
      const byId = new Map<string, Found>();
      for await (const page of recordPages(client, run, query, signal)) for (const record of page) byId.set(record.id, record);
      yield some.flatMap(({ id }) => byId.get(id) ?? []);
      remember(some);
    }
  }

  return async function* look(): AsyncGenerator<Found[], void> {
    if (newest === undefined) {
      const there: Found[] = [];
      for await (const page of changes(false)) {
        there.push(...page);
        const [latest, oldest] = [there[0], there.at(-1)];
        if (latest && oldest && there.length >= first && changedAt(oldest) < changedAt(latest) - LATE_MS) break;
      }
      const shown = there.slice(0, first).reverse();
      yield* contentsOf(shown);
      remember(there);
    } else {
      const from = new Date(Math.max(0, newest - LATE_MS)).toISOString();
      for await (const page of changes(true, [{ type: 'date', column_id: 'updated_at', operator: 'gte', value: from }]))
        yield* contentsOf(page.filter(({ id }) => !seen.has(id)));
    }
  };
}

const changedAt = (record: Found): number => Date.parse(String(record.updated_at));
