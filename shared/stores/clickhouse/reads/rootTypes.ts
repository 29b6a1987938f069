import { z } from 'zod';
import type { RootTypes } from '../../../annotations/createAnnotationReads.ts';
import type { Expiries } from '../../../projects/retention.ts';
import { Binder } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { unexpiredSql } from '../filters/columnSql.ts';
import { inChunks } from '../inChunks.ts';

const Row = z.object({ run_id: z.string(), id: z.string(), root_type: z.enum(['session', 'trace', 'span']) });

/** Reads from the keys of records whether they are sessions, traces or spans. */
export const clickhouseRootTypes =
  (clickhouse: ClickHouse, expiryOf: Expiries['of']): RootTypes =>
  async (projectId, runIds, recordIds) => {
    const expiry = await expiryOf(projectId, runIds);
    const rows = await inChunks(recordIds, (ids) => {
      const { bind, params } = new Binder();
      const ofRuns = `project_id = ${bind(projectId, 'UUID')} AND run_id IN ${bind(runIds, 'Array(UUID)')}`;
      const unexpired = unexpiredSql(bind, expiry, ofRuns, ['created_at', 'id']);
      return clickhouse.query({
        name: 'types of records',
        sql: `SELECT run_id, id, if(type IN ('session', 'trace'), toString(type), 'span') AS root_type
              FROM record_keys WHERE ${ofRuns} AND id IN ${bind(ids, 'Array(UUID)')}${unexpired}`,
        params,
        row: Row,
      });
    });
    const types = new Map(rows.map(({ run_id, id, root_type }) => [`${run_id}/${id}`, root_type]));
    return (runId, recordId) => types.get(`${runId}/${recordId}`);
  };
