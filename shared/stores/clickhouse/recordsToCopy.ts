import { z } from 'zod';
import type { ReadRecords } from '../../datasets/editContent.ts';
import type { ClickHouse } from './connect.ts';

const Row = z.object({
  id: z.string(),
  input: z.string(),
  input_is_json: z.boolean(),
  output: z.string().nullable(),
  output_is_json: z.boolean(),
  user_metadata: z.record(z.string(), z.string()),
});

/** Input, output and metadata of records of a project, whatever run they are in, for copying them into dataset rows. */
export const recordsToCopy =
  (clickhouse: ClickHouse): ReadRecords =>
  async (projectId, ids) => {
    if (ids.length === 0) return [];
    const rows = await clickhouse.query({
      name: 'records to copy',
      sql: `SELECT toString(id) AS id, input, input_is_json, output, output_is_json, user_metadata FROM records FINAL
             WHERE project_id = {project:UUID}
               AND (run_id, created_at, id) IN (SELECT run_id, created_at, id FROM record_keys WHERE project_id = {project:UUID} AND id IN {ids:Array(UUID)})`,
      params: { project: projectId, ids: [...ids] },
      row: Row,
    });
    return rows.map((row) => ({
      id: row.id,
      input: row.input_is_json ? JSON.parse(row.input) : row.input,
      output: row.output_is_json && row.output !== null ? JSON.parse(row.output) : row.output,
      metadata: row.user_metadata,
    }));
  };
