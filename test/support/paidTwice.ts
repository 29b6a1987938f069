import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';

/** What there was when the service was killed, before its next start. */
export interface AtKill {
  /** Of the judge. */
  calls: number;
  /** Values in the store's own files. */
  stored: number;
}

/** Counts the values with success in the store's own files, while no service runs; of one run where it is named. */
export async function storedValues(dataDir: string, runId?: string): Promise<number> {
  const clickhouse = openClickHouse({ dataDir: join(dataDir, 'clickhouse') });
  const [values] = await clickhouse.query({
    name: 'values after a kill',
    sql: `SELECT toUInt32(count()) AS stored FROM metric_values FINAL
          WHERE status = 'success'${runId === undefined ? '' : ' AND run_id = {run:UUID}'}`,
    params: runId === undefined ? {} : { run: runId },
    row: z.object({ stored: z.number() }),
  });
  await clickhouse.close();
  return values?.stored ?? 0;
}

/**
 * Expects that a judge was asked anew only for values that were not written. From the last kill on, what was stored is not computed again; calls on their way
 * at a kill count after it.
 * @param most values computed at once, and those that may wait for their write beside them
 */
export function paidOnlyUnwrittenTwice(kills: readonly AtKill[], end: AtKill, most: { atOnce: number; unwritten: number }): void {
  console.table([...kills, end]);
  for (const [index, { calls, stored }] of kills.entries()) {
    const next = kills[index + 1] ?? end;
    const repeated = next.calls - calls - (next.stored - stored);
    expect(repeated).toBeLessThanOrEqual(index + 1 === kills.length ? most.atOnce : most.unwritten);
  }
}
