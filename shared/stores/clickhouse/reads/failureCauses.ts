import { z } from 'zod';
import type { FailureCause } from '../../../experiments/followedProgress.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { FAILED } from '../../../records/failed.ts';
import { IN_RUN, runParams } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';

/** Causes that are distinguished, rows named for each, and characters of an error. */
const MAX_CAUSES = 20;
const MAX_EXAMPLES = 3;
const MAX_CHARACTERS = 500;

const Cause = z.object({
  status_code: z.int().nullable(),
  message: z.string(),
  is_same: z.coerce.boolean(),
  count: z.coerce.number(),
  examples: z.array(z.tuple([z.string(), z.int().nullable(), z.int().nullable()])),
});

/** Failed rows by what failed them, the most frequent first. Errors that differ in numbers and ids alone have one cause. */
export async function failureCauses(clickhouse: ClickHouse, run: RunRef): Promise<FailureCause[]> {
  const causes = await clickhouse.query({
    name: 'causes of failures',
    sql: `SELECT status_code, argMax(error, created_at) AS message, uniq(error) = 1 AS is_same, count() AS count,
            groupArray(${MAX_EXAMPLES})((toString(id), dataset_row_ordinal, trial)) AS examples
          FROM (
            SELECT id, created_at, status_code, dataset_row_ordinal, trial, substringUTF8(error_message, 1, ${MAX_CHARACTERS}) AS error,
              replaceRegexpAll(error, '[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*', '#') AS shape
            FROM records FINAL WHERE ${IN_RUN} AND type = 'trace' AND ${FAILED}
            ORDER BY dataset_row_ordinal, trial
          )
          GROUP BY status_code, shape ORDER BY count DESC, message LIMIT ${MAX_CAUSES}`,
    params: runParams(run),
    row: Cause,
  });
  return causes.map(({ status_code: statusCode, is_same: isSame, message, count, examples }) => ({
    ...{ message: message === '' ? null : message, statusCode, isSame, rows: count },
    examples: examples.map(([traceId, ordinal, trial]) => ({ traceId, ordinal, trial })),
  }));
}
