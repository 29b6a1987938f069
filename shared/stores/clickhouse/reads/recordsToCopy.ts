import { z } from 'zod';
import type { ReadRecords } from '../../../datasets/editedTable.ts';
import { parseJson } from '../../../json/parseJson.ts';
import type { Expiries } from '../../../projects/retention.ts';
import { timeParam } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';

const Row = z.object({
  id: z.string(),
  input: z.string(),
  input_is_json: z.boolean(),
  output: z.string().nullable(),
  output_is_json: z.boolean(),
  user_metadata: z.record(z.string(), z.string()),
});

const IN_PROJECT = 'project_id = {project:UUID}';
const OF_TRACES = `trace_id IN (SELECT trace_id FROM record_keys WHERE ${IN_PROJECT} AND id IN {ids:Array(UUID)})`;
/** A trace with a record that has not expired is whole. */
const UNEXPIRED = ` AND (created_at >= {before:DateTime64(6, 'UTC')}
  OR trace_id IN (SELECT trace_id FROM record_keys WHERE ${IN_PROJECT} AND ${OF_TRACES} AND created_at >= {before:DateTime64(6, 'UTC')}))`;

/** Input, output and metadata of records of a project, whatever run they are in, for copying them into dataset rows. */
export const recordsToCopy =
  (clickhouse: ClickHouse, expiredBefore: Expiries['before']): ReadRecords =>
  async (projectId, ids) => {
    if (ids.length === 0) return [];
    const before = await expiredBefore(projectId);
    const rows = await clickhouse.query({
      name: 'records to copy',
      sql: `SELECT toString(id) AS id, input, input_is_json, output, output_is_json, user_metadata FROM records FINAL
             WHERE ${IN_PROJECT}
               AND (run_id, created_at, id) IN (SELECT run_id, created_at, id FROM record_keys WHERE ${IN_PROJECT} AND id IN {ids:Array(UUID)})${before === undefined ? '' : UNEXPIRED}`,
      params: { project: projectId, ids: [...ids], ...(before === undefined ? {} : { before: timeParam(before) }) },
      row: Row,
    });
    return rows.map((row) => ({
      id: row.id,
      input: row.input_is_json ? parseJson(row.input) : row.input,
      output: row.output_is_json && row.output !== null ? parseJson(row.output) : row.output,
      metadata: row.user_metadata,
    }));
  };
