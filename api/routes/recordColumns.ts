import { z } from 'zod';
import { describedColumns } from '../../shared/records/columnCatalog.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { LogRecordsAvailableColumnsRequest, LogRecordsAvailableColumnsResponse } from '../../shared/wire/recordSearch.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { RecordColumnDeps } from '../records/recordQuery.ts';

/** The column catalogs: one list for sessions, traces and spans alike, as each descriptor says where it applies. */
export function recordColumnRoutes(deps: RecordColumnDeps): Endpoint[] {
  return ['traces', 'spans', 'sessions'].map((name) =>
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/available_columns`,
      summary: `List the columns usable for ${name} of a run`,
      tag: 'Records',
      access: { project: 'read' },
      params: z.object({ project_id: Uuid }),
      body: LogRecordsAvailableColumnsRequest,
      response: LogRecordsAvailableColumnsResponse,
      handle: async ({ params, body }) => {
        const run = await deps.findRun(params.project_id, body);
        const range = { ...(body.start_time ? { from: body.start_time } : {}), ...(body.end_time ? { to: body.end_time } : {}) };
        return { columns: await describedColumns(deps.records, deps.metrics, run, range) };
      },
    }),
  );
}
