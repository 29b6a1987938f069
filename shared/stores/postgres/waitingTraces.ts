import { z } from 'zod';
import type { RunRef } from '../../projects/runs.ts';
import type { LoggedRecord } from '../../records/recordChange.ts';
import type { WaitingTraceStore } from '../../records/stubTraces.ts';
import type { Database } from './connect.ts';

const Row = z.object({ run: z.custom<RunRef>(), record: z.custom<LoggedRecord>() });

/** Traces that wait for their root, by the clock of Postgres. Of two records of a trace the one that begins first stays. */
export const postgresWaitingTraces = (database: Database): WaitingTraceStore => ({
  async keep(waiting, waitMs) {
    await database.query(
      `INSERT INTO waiting_traces (trace_id, project_id, run, record, opens_at)
       SELECT (record->>'id')::uuid, (run->>'projectId')::uuid, run, record, now() + $2 * interval '1 millisecond'
       FROM jsonb_to_recordset($1::jsonb) AS one (run jsonb, record jsonb)
       WHERE EXISTS (SELECT FROM projects WHERE id = (run->>'projectId')::uuid)
       ON CONFLICT (trace_id) DO UPDATE SET record = excluded.record
       WHERE excluded.record->>'created_at' < waiting_traces.record->>'created_at'`,
      [JSON.stringify(waiting.map(({ run, trace }) => ({ run, record: trace }))), waitMs],
    );
  },
  async due(limit) {
    const rows = await database.query(
      'SELECT run, record FROM waiting_traces WHERE opens_at <= now() ORDER BY opens_at LIMIT $1',
      [limit],
    );
    return rows.map((row) => {
      const { run, record } = Row.parse(row);
      return { run, trace: record };
    });
  },
  async forget(traceIds) {
    await database.query('DELETE FROM waiting_traces WHERE trace_id = ANY($1::uuid[])', [traceIds]);
  },
});
