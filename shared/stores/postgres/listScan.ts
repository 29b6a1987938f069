import { z } from 'zod';
import type { PageOf } from '../../accounts/accountStore.ts';
import { freeTurn } from '../../concurrency/freeTurn.ts';
import { inPieces } from '../../concurrency/inPieces.ts';
import type { Database, Row } from './database.ts';
import { idOf, inOrder, pageFrom, rowsFor } from './pageOf.ts';

/** A list of rows of one table. Its texts are SQL over `alias`, and over what `joins` adds to it. */
export interface Listing {
  table: string;
  alias: string;
  /** A condition that an index finds rows by, such as that of their project or of a few ids. */
  within: string;
  /** Columns of an index, never null and the last of them unique, in whose order the table is read. */
  walk: { columns: readonly WalkColumn[]; descending: boolean };
  /** The order of the list where it is not that of `walk`, which then orders what is equal. */
  by?: { sql: string; descending: boolean; nullsFirst: boolean } | undefined;
  joins?: string;
  /** Conditions that are evaluated for each row. */
  conditions: readonly string[];
  /** The values of the placeholders of all these texts. */
  values: readonly unknown[];
}

export type WalkColumn = readonly [name: string, type: 'float8' | 'text' | 'timestamptz' | 'uuid'];

/** The orders that have an index. */
type Walks = Readonly<Record<string, readonly WalkColumn[]>> & { created_at: readonly WalkColumn[] };

export const byCreation: readonly WalkColumn[] = [
  ['created_at', 'timestamptz'],
  ['id', 'uuid'],
];
export const byChange: readonly WalkColumn[] = [['updated_at', 'timestamptz'], ...byCreation];
export const byName: readonly WalkColumn[] = [
  ['name', 'text'],
  ['id', 'uuid'],
];

/**
 * The order of a list. Where no index has it, what is equal is ordered by when it was made, the newest first.
 * @param key SQL of a number, or of a text under the collation C, for an order without an index
 */
export function orderedBy<S extends { name: string; ascending: boolean }>(
  sort: S,
  walks: Walks,
  key: () => string,
  nulls: 'last' | 'lowest' = 'lowest',
): Pick<Listing, 'walk' | 'by'> {
  const descending = !sort.ascending;
  const columns = walks[sort.name];
  if (columns) return { walk: { columns, descending } };
  return {
    walk: { columns: walks.created_at, descending: true },
    by: { sql: key(), descending, nullsFirst: nulls === 'lowest' && sort.ascending },
  };
}

/** Milliseconds since 1970 of a time, which is a key of an order. */
export const timeKey = (column: string): string => `extract(epoch FROM ${column})::float8 * 1000`;

/** Rows of the first statement, unless a page has fewer. */
const FIRST_ROWS = 250;
const TIMES_MORE = 2;

const Slice = z.object({ last: z.array(z.string()).nullable(), found: z.unknown() });

/**
 * The ids of a page, or of all, in the order of the list. They are found by statements that each read so many rows as take `database.sliceMs`, and let
 * others in between: the filter, order or offset may need all rows of the table.
 */
export async function listedIds(
  database: Database,
  listing: Listing,
  page: { limit: number; offset: number } | undefined,
): Promise<PageOf<string>> {
  const wanted = page ? page.offset + rowsFor(page.limit) : Number.POSITIVE_INFINITY;
  let best: Found = { ids: [], keys: [] };
  const first = listing.by ? FIRST_ROWS : Math.min(FIRST_ROWS, wanted);
  for await (const found of slices(database, listing, { sql: foundSql(listing) }, first)) {
    best = firstOf(best, readFound(found), wanted, listing.by);
    if (!listing.by && best.ids.length >= wanted) break;
  }
  return page ? pageFrom(best.ids.slice(page.offset), page.limit) : { items: best.ids, hasMore: false };
}

/** How many rows the list has; found as {@link listedIds} finds them. */
export async function countListed(database: Database, listing: Listing): Promise<number> {
  let total = 0;
  for await (const found of slices(database, listing, { sql: 'SELECT count(*)::int FROM listed' }))
    total += z.number().parse(found);
  return total;
}

/** One text or JSON value of each row of the list, in no order that counts; found as {@link listedIds} finds them. @param sql is over the aliases of the list */
export async function listedValues<T>(database: Database, listing: Listing, sql: string, value: z.ZodType<T>): Promise<T[]> {
  const all: T[] = [];
  const reads = { each: `${sql} AS value`, sql: `SELECT coalesce(jsonb_agg(value), '[]') FROM listed` };
  for await (const found of slices(database, listing, reads)) for (const one of z.array(value).parse(found)) all.push(one);
  return all;
}

/** The items of a page, or of all, in the order of the list. @param read rows by their ids, in any order */
export async function listedItems<T extends { id: string }>(
  database: Database,
  listing: Listing,
  page: { limit: number; offset: number } | undefined,
  read: (ids: readonly string[]) => Promise<readonly Row[]>,
  row: z.ZodType<T>,
): Promise<PageOf<T>> {
  const { items: ids, hasMore } = await listedIds(database, listing, page);
  return { items: await inPieces(ids, async (piece) => inOrder(piece, await read(piece), row)), hasMore };
}

/** So many rows at most are read by their ids; more are read in the order of the list. */
const FEW = 1_000;

/**
 * The ids that `sql` finds in its column `id`, where they are few; undefined where it is better to look at each row of the list. Someone may see few
 * things among many.
 */
export async function fewIds(database: Database, sql: string, values: readonly unknown[]): Promise<string[] | undefined> {
  const rows = await database.query(`SELECT id FROM (${sql}) found LIMIT ${FEW + 1}`, [...values]);
  return rows.length > FEW ? undefined : rows.map(idOf);
}

/** Returns what `reads.sql` makes of the rows `listed` of one statement after the other. @param reads `each` are the columns of `listed` */
export async function* slices(
  database: Database,
  listing: Listing,
  reads: { each?: string; sql: string },
  first = FIRST_ROWS,
): AsyncGenerator<unknown> {
  let rows = first;
  for (let after: readonly string[] = []; ; ) {
    await freeTurn();
    const sql = sliceSql(listing, rows, reads, after.length > 0);
    const { row, tookMs } = await database.measured(sql, [...listing.values, ...after]);
    const { last, found } = Slice.parse(row);
    yield found;
    if (!last) return;
    after = last;
    rows = Math.ceil(Math.min(rows * TIMES_MORE, (rows * database.sliceMs) / tookMs));
  }
}

/** One statement over the next `rows` rows: what it makes of those that are listed, the last row's columns of `walk` where others follow. */
function sliceSql(listing: Listing, rows: number, reads: { each?: string; sql: string }, isNext: boolean): string {
  const { table, alias, within, walk, by, joins = '', conditions, values } = listing;
  const each = reads.each ?? `${alias}.id, ${alias}.list_place${by ? `, ${by.sql} AS list_key` : ''}`;
  const columns = walk.columns.map(([name]) => `${alias}.${name}`);
  const order = columns.map((column) => `${column} ${walk.descending ? 'DESC' : 'ASC'}`).join(', ');
  const last = walk.columns.map(([, type], index) => `$${values.length + index + 1}::${type}`);
  const next = isNext ? ` AND (${columns.join(', ')}) ${walk.descending ? '<' : '>'} (${last.join(', ')})` : '';
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  return `WITH slice AS MATERIALIZED (
      SELECT ${alias}.*, row_number() OVER (ORDER BY ${order}) AS list_place
        FROM (SELECT * FROM ${table} ${alias} WHERE ${within}${next} ORDER BY ${order} LIMIT ${rows}) ${alias}),
      listed AS MATERIALIZED (SELECT ${each} FROM slice ${alias} ${joins} ${where})
    SELECT (SELECT ARRAY[${columns.map((column) => `${column}::text`).join(', ')}] FROM slice ${alias} WHERE list_place = ${rows}) AS last,
      (${reads.sql}) AS found`;
}

/** The statement that {@link readFound} reads: the ids in the order of the list, and the values they are ordered by. */
function foundSql({ by }: Listing): string {
  const key = by ? `list_key ${by.descending ? 'DESC' : 'ASC'} NULLS ${by.nullsFirst ? 'FIRST' : 'LAST'}, ` : '';
  const keys = by ? `json_agg(list_key ORDER BY ${key}list_place)::text` : 'NULL';
  return `SELECT ARRAY[string_agg(id::text, ',' ORDER BY ${key}list_place), ${keys}] FROM listed`;
}

type Key = number | string | null;
interface Found {
  ids: string[];
  /** As many as there are ids where the list has an order of its own, else none. */
  keys: Key[];
}

const FoundRow = z.tuple([z.string().nullable(), z.string().nullable()]);
const Keys = z.array(z.union([z.number(), z.string(), z.null()]));

function readFound(found: unknown): Found {
  const [ids, keys] = FoundRow.parse(found);
  return { ids: ids?.split(',') ?? [], keys: keys === null ? [] : Keys.parse(JSON.parse(keys)) };
}

/** The first `wanted` of two parts of a list, each in order; where they are equal, those of `a` come first. */
function firstOf(a: Found, b: Found, wanted: number, by: Listing['by']): Found {
  if (!by) {
    for (const id of b.ids) a.ids.push(id);
    return a;
  }
  const all: Found = { ids: [], keys: [] };
  const size = Math.min(wanted, a.ids.length + b.ids.length);
  for (let at = 0, atB = 0; all.ids.length < size; ) {
    const takesB = at === a.ids.length || (atB < b.ids.length && compareKeys(b.keys[atB] ?? null, a.keys[at] ?? null, by) < 0);
    const [from, index] = takesB ? [b, atB++] : [a, at++];
    all.ids.push(from.ids[index] as string);
    all.keys.push(from.keys[index] ?? null);
  }
  return all;
}

/** As Postgres orders numbers, and texts under the collation C. */
function compareKeys(a: Key, b: Key, by: { descending: boolean; nullsFirst: boolean }): number {
  if (a === b) return 0;
  if (a === null || b === null) return (a === null) === by.nullsFirst ? -1 : 1;
  const order = typeof a === 'string' && typeof b === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : a < b ? -1 : 1;
  return by.descending ? -order : order;
}
