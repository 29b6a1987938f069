import pg from 'pg';
import { z } from 'zod';
import { type RunRef, runKinds } from '../../projects/runs.ts';
import type { RunStates } from '../../records/recordStore.ts';
import type { Row } from './database.ts';

const StateRow = z.object({
  project_id: z.string(),
  run_id: z.string(),
  kind: z.enum(runKinds).nullable(),
  missing: z.boolean(),
  erasures: z.array(z.string()),
  holds: z.boolean(),
});

/** A statement without parameters, so that it can be sent together with others. It gives no row for runs of which there is nothing to say. */
export function runStatesSql(runs: readonly RunRef[]): string {
  const text = pg.escapeLiteral;
  const asked = runs.map(
    ({ projectId, runId, kind }) => `(${text(projectId)}::uuid, ${text(runId)}::uuid, ${kind ? text(kind) : 'NULL'}::text)`,
  );
  return `SELECT * FROM (
      SELECT asked.project_id, asked.run_id, asked.kind,
        NOT EXISTS (
          SELECT FROM runs r WHERE r.id = asked.run_id AND r.project_id = asked.project_id AND r.kind = coalesce(asked.kind, r.kind)
        ) AS missing,
        ARRAY(SELECT e.id FROM record_erasures e WHERE e.project_id = asked.project_id AND e.run_id = asked.run_id ORDER BY e.noted_at) AS erasures,
        EXISTS (SELECT FROM held_updates h WHERE h.run_id = asked.run_id) AS holds
      FROM (VALUES ${asked.join(', ')}) AS asked (project_id, run_id, kind)
    ) AS found WHERE missing OR cardinality(erasures) > 0 OR holds`;
}

/** @param rows of `runStatesSql` */
export function readRunStates(rows: readonly Row[]): RunStates {
  const found = z.array(StateRow).parse(rows);
  const refOf = ({ project_id, run_id, kind }: (typeof found)[number]): RunRef => ({
    projectId: project_id,
    runId: run_id,
    ...(kind ? { kind } : {}),
  });
  return {
    missing: found.filter(({ missing }) => missing).map(refOf),
    withHeldUpdates: found.filter(({ holds }) => holds).map(refOf),
    erasures: found.flatMap((row) => row.erasures.map((id) => ({ id, ...refOf(row) }))),
  };
}
