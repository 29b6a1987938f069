import { z } from 'zod';
import type { RunRef } from '../../projects/runs.ts';
import { togetherOf } from '../../records/provisionalTrace.ts';
import type { LoggedRecord } from '../../records/recordChange.ts';
import type { WaitingTrace, WaitingTraceStore } from '../../records/stubTraces.ts';
import type { Database, Row as DatabaseRow } from './database.ts';

const Row = z.object({ run: z.custom<RunRef>(), record: z.custom<LoggedRecord>() });

/** Traces that wait for their root, by the clock of Postgres. */
export const postgresWaitingTraces = (database: Database): WaitingTraceStore => ({
  async keep(waiting, waitMs) {
    const kept = await database.query(
      `INSERT INTO waiting_traces (trace_id, project_id, run, record, opens_at)
       SELECT (record->>'id')::uuid, (run->>'projectId')::uuid, run, record, now() + $2 * interval '1 millisecond'
       FROM jsonb_to_recordset($1::jsonb) AS one (run jsonb, record jsonb)
       WHERE EXISTS (SELECT FROM projects WHERE id = (run->>'projectId')::uuid)
       ON CONFLICT (trace_id) DO NOTHING RETURNING trace_id`,
      [JSON.stringify(waiting.map(({ run, trace }) => ({ run, record: trace }))), waitMs],
    );
    const isKept = new Set(kept.map(({ trace_id }) => trace_id));
    const known = waiting.filter(({ trace }) => !isKept.has(trace.id));
    if (known.length > 0) await addToKnown(database, known);
  },
  find: async (traceIds) =>
    waitingIn(await database.query('SELECT run, record FROM waiting_traces WHERE trace_id = ANY($1::uuid[])', [traceIds])),
  async due(limit) {
    return waitingIn(
      await database.query('SELECT run, record FROM waiting_traces WHERE opens_at <= now() ORDER BY opens_at LIMIT $1', [limit]),
    );
  },
  async forget(traceIds) {
    await database.query('DELETE FROM waiting_traces WHERE trace_id = ANY($1::uuid[])', [traceIds]);
  },
});

const waitingIn = (rows: readonly DatabaseRow[]): WaitingTrace[] =>
  rows.map((row) => {
    const { run, record } = Row.parse(row);
    return { run, trace: record };
  });

async function addToKnown(database: Database, waiting: readonly WaitingTrace[]): Promise<void> {
  const added = new Map(waiting.map(({ trace }) => [trace.id, trace]));
  await database.transaction(async (tx) => {
    const sql = 'SELECT run, record FROM waiting_traces WHERE trace_id = ANY($1::uuid[]) ORDER BY trace_id FOR UPDATE';
    const records = waitingIn(await tx.query(sql, [[...added.keys()]])).map(({ trace }) => {
      const other = added.get(trace.id);
      return other ? togetherOf(trace, other) : trace;
    });
    await tx.query(
      `UPDATE waiting_traces SET record = one.record FROM jsonb_to_recordset($1::jsonb) AS one (record jsonb)
       WHERE trace_id = (one.record->>'id')::uuid`,
      [JSON.stringify(records.map((record) => ({ record })))],
    );
  });
}
