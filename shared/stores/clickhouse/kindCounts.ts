import type { RecordKind } from '../../columns/columnDef.ts';
import type { RunRef } from '../../projects/runs.ts';
import { IN_RUN, runParams } from './binder.ts';
import type { ClickHouse } from './connect.ts';

/** What the engine keeps of a run's rows beside them. */
export interface KindCounts {
  /** Rows of each kind: as many as records, unless some were rewritten. */
  rows: ReadonlyMap<RecordKind, number>;
  isRewritten: boolean;
}

/** Of all rows of the run, expired ones too. */
export async function kindCounts(clickhouse: ClickHouse, run: RunRef): Promise<KindCounts> {
  const kinds = await clickhouse.query({
    name: 'kinds of a run',
    sql: `SELECT type, count() AS held, countIf(is_rewrite) AS rewrites FROM records WHERE ${IN_RUN} GROUP BY type`,
    params: runParams(run),
    row: (row) => row as { type: RecordKind; held: string; rewrites: string },
  });
  return {
    rows: new Map(kinds.map(({ type, held }) => [type, Number(held)])),
    isRewritten: kinds.some(({ rewrites }) => rewrites !== '0'),
  };
}
