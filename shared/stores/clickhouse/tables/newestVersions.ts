import type { RunRef } from '../../../projects/runs.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { IN_RUN, runParams } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';

/**
 * Which rows of `records` are the newest versions of a run's records. FINAL finds that out by merging parts, which takes 0.5 s for a million
 * records whose times overlap. Most runs are never rewritten, or hardly: there it is enough to leave out the few rows that are known to be stale.
 */
export interface NewestVersions {
  from: 'records' | 'records FINAL';
  /** Rows that a newer one of the same record has replaced and that are not merged away; empty with FINAL. */
  stale: readonly StaleRow[];
  /** True where others are in the table of stale rows. */
  areListed?: true;
  /** Ids and versions of the records that were rewritten, as one text; merges leave it as it is. Empty with FINAL. */
  rewritten: string;
}

export interface StaleRow {
  id: string;
  version: number;
  createdAt: string;
}

/** Run, id and version of stale rows, in the memory of the embedded engine. */
export const STALE_TABLE = 'stale_versions';

/** The number of a run's records of each kind, expired ones too. */
export type Counts = ReadonlyMap<RecordKind, number>;

/** Right for every run. */
export const byMerging: NewestVersions = { from: 'records FINAL', stale: [], rewritten: '' };

/** Reads a run of which no record was ever rewritten. */
export const asWritten: NewestVersions = { from: 'records', stale: [], rewritten: '' };

/**
 * True when nothing was rewritten between the two looks. The stale rows alone do not show it: a row that was replaced after the first look may be
 * merged away before the second, and a read between the two has seen it.
 */
export const sameVersions = (one: NewestVersions, other: NewestVersions): boolean =>
  one.from === other.from && one.rewritten === other.rewritten && rowNames(one.stale) === rowNames(other.stale);

/** Beyond this many rewritten records the engine's own way is the faster one. */
export const MAX_REWRITTEN = 2000;

/** Decides for one run. A version that is written afterwards is not in it: the answer is that of the moment before. */
export async function newestVersions(clickhouse: ClickHouse, run: RunRef): Promise<NewestVersions> {
  const params = runParams(run);
  const rewritten = await clickhouse.query({
    name: 'rewritten records',
    sql: `SELECT id, created_at, version FROM records WHERE ${IN_RUN} AND is_rewrite LIMIT ${MAX_REWRITTEN + 1}`,
    params,
    row: (row) => row as { id: string; created_at: string; version: string },
  });
  if (rewritten.length === 0) return asWritten;
  if (rewritten.length > MAX_REWRITTEN) return byMerging;
  const stale = await clickhouse.query({
    name: 'stale versions',
    sql: `SELECT id, version, created_at AS createdAt
          FROM (SELECT id, version, created_at, max(version) OVER (PARTITION BY id) AS newest FROM records
                WHERE ${IN_RUN} AND created_at IN {times:Array(DateTime64(6, 'UTC'))} AND id IN {ids:Array(UUID)})
          WHERE version < newest`,
    params: {
      ...params,
      ids: [...new Set(rewritten.map(({ id }) => id))],
      times: [...new Set(rewritten.map(({ created_at }) => created_at))],
    },
    row: (row) => ({ ...(row as StaleRow), version: Number((row as { version: string }).version) }),
  });
  return { from: 'records', stale, rewritten: rowNames(newestOf(rewritten)) };
}

type RowName = Pick<StaleRow, 'id' | 'version'>;

/** The newest version of each of these records. */
function newestOf(rows: readonly { id: string; version: string }[]): RowName[] {
  const versions = new Map<string, number>();
  for (const { id, version } of rows) versions.set(id, Math.max(Number(version), versions.get(id) ?? 0));
  return [...versions].map(([id, version]) => ({ id, version }));
}

const rowNames = (rows: readonly RowName[]): string =>
  rows
    .map(({ id, version }) => `${id} ${version}`)
    .sort()
    .join();
