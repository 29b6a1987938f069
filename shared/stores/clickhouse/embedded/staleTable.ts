import { onBehalfOf } from '../../../concurrency/currentCaller.ts';
import { IN_RUN, runParams } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { STALE_TABLE } from '../tables/newestVersions.ts';
import type { Transport } from '../transport.ts';
import type { StaleTable } from './writtenRuns.ts';

/** The stale rows of runs with many of them, in a set that the embedded engine holds in memory: it is empty at every start. */
export function staleTable(clickhouse: Pick<ClickHouse, 'query'>, transport: Pick<Transport, 'command'>): StaleTable {
  let created: Promise<unknown> | undefined;
  const create = () => {
    created ??= transport.command(
      `CREATE TABLE IF NOT EXISTS ${STALE_TABLE} (run_id UUID, id UUID, version UInt64) ENGINE = Set SETTINGS persistent = 0`,
      {},
    );
    created.catch(() => {
      created = undefined;
    });
    return created;
  };
  const size = async (): Promise<number> => {
    const [rows = 0] = await clickhouse.query({
      name: 'size of the table of stale versions',
      sql: `SELECT total_rows AS held FROM system.tables WHERE database = currentDatabase() AND name = '${STALE_TABLE}'`,
      row: (row) => Number((row as { held: string }).held),
    });
    return rows;
  };
  const add: StaleTable['add'] = async ({ runId }, stale) => {
    await create();
    await transport.command(
      `INSERT INTO ${STALE_TABLE} SELECT {run:UUID}, row.1, row.2 FROM (SELECT arrayJoin(arrayZip({ids:Array(UUID)}, {versions:Array(UInt64)})) AS row)`,
      { run: runId, ids: stale.map(({ id }) => id), versions: stale.map(({ version }) => version) },
    );
    return size();
  };
  const fill: StaleTable['fill'] = async (run, limit) => {
    const [count = 0] = await clickhouse.query({
      name: 'number of stale versions',
      sql: `SELECT count() AS stale FROM (${STALE}) WHERE version < newest`,
      params: runParams(run),
      row: (row) => Number((row as { stale: string }).stale),
    });
    if (count > limit) return undefined;
    await create();
    await transport.command(
      `INSERT INTO ${STALE_TABLE} SELECT run_id, id, version FROM (${STALE}) WHERE version < newest`,
      runParams(run),
    );
    return size();
  };
  // No caller waits for it, and it takes no caller's turn.
  return {
    add: (run, stale) => onBehalfOf(undefined, () => add(run, stale)),
    fill: (run, limit) => onBehalfOf(undefined, () => fill(run, limit)),
  };
}

const STALE = `SELECT run_id, id, version, max(version) OVER (PARTITION BY id) AS newest FROM records
  WHERE ${IN_RUN} AND id IN (SELECT id FROM records WHERE ${IN_RUN} AND is_rewrite)`;
