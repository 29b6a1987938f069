import { z } from 'zod';
import { parseJson } from '../../json/parseJson.ts';
import { runKinds } from '../../projects/runs.ts';
import { scorerJobRequest } from '../../scorers/scorerJob.ts';
import type { MarkedScoring, ScoredRun, ScoringRequest, ScoringStatus, ScoringStore, Selection } from '../../scoring/scoring.ts';
import { SCORER_JOB } from '../../wire/jobs.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { missingReference } from './missingReference.ts';

const RunRow = z.object({
  projectId: z.string(),
  runId: z.string(),
  kind: z.enum(runKinds),
  name: z.string(),
  projectName: z.string(),
  createdBy: z.string(),
});

const RequestRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    run_id: z.string(),
    scorer_ids: z.array(z.string()),
    selection: z.string(),
    created_by: z.string(),
  })
  .transform(({ selection, ...row }): ScoringRequest => ({ ...inCamelCase(row), selection: parseJson(selection) as Selection }));

const count = z.coerce.number();

const MarkedRow = z
  .object({ id: z.string(), scorer_ids: z.array(z.string()), values_total: count, marked_to: count })
  .transform(({ values_total: total, ...row }): MarkedScoring => ({ ...inCamelCase(row), total }));

const StatusRow = z
  .object({
    state: z.enum(['requested', 'running', 'completed', 'failed']),
    values_total: count,
    values_done: count,
    error: z.string().nullable(),
    started_at: z.date().nullable(),
    ended_at: z.date().nullable(),
  })
  .transform(({ values_total: total, values_done: done, ...row }): ScoringStatus => ({ ...inCamelCase(row), total, done }));

const micros = (time: string) => `(extract(epoch FROM ${time}) * 1000000)::bigint`;
/** Records of other machines may carry versions of clocks that are a little off, and be stored a little after they were stamped. */
const OVERLAP = "interval '30 seconds'";
/** A clock that says less than it said before was set back: what was noted while it was ahead is a little behind now. Looks for new records are closer. */
const BEHIND = "clock_timestamp() - interval '10 minutes'";
const past = (time: string) => `CASE WHEN ${time} > clock_timestamp() THEN ${BEHIND} ELSE ${time} END`;
/** The same for `sessions_seen_to`, which is of a worker's clock. */
const SESSIONS_AHEAD = `s.sessions_seen_to > ${micros("(clock_timestamp() + interval '1 minute')")}`;
const UNSEEN = 's.written_at > s.looked_at';
/** Records that clients log are scored as they come: those of log streams, and of experiments without a workflow. A workflow scores its own rows. */
const IS_FILLED = `(r.kind = 'log_stream' OR EXISTS (SELECT 1 FROM experiments e WHERE e.run_id = r.id AND e.workflow_number = 0))`;
const FILLED = `run_scorer_settings s JOIN runs r ON r.id = s.run_id AND ${IS_FILLED}`;
const ENABLED = "s.scorers <> '[]'::jsonb";
const Id = z.object({ run_id: z.string() });
const idsOf = (rows: readonly unknown[]): string[] =>
  z
    .array(Id)
    .parse(rows)
    .map(({ run_id }) => run_id);

export function postgresScorings(database: Database): ScoringStore {
  return {
    request: ({ id, projectId, runId, scorerIds, selection, createdBy }, jobs) =>
      database
        .transaction(async (tx) => {
          await tx.query(
            'INSERT INTO scorings (id, project_id, run_id, scorer_ids, selection, created_by) VALUES ($1, $2, $3, $4::uuid[], $5, $6)',
            [id, projectId, runId, scorerIds, JSON.stringify(selection), createdBy],
          );
          // The number is that of the run's newest workflow, so that these come before the jobs of earlier ones.
          for (const job of jobs)
            await tx.query(
              `INSERT INTO jobs (id, project_id, run_id, job_name, request, workflow_number, scoring_id)
               VALUES ($1, $2, $3, $4, $5, coalesce((SELECT max(workflow_number) FROM jobs WHERE run_id = $3), 0), $6)`,
              [job.id, projectId, runId, SCORER_JOB, JSON.stringify(scorerJobRequest(projectId, runId, job.config)), id],
            );
        })
        .catch(missingReference('run')),

    async find(scoringId) {
      const row = await database.maybeOne('SELECT * FROM scorings WHERE id = $1', [scoringId]);
      return row && StatusRow.parse(row);
    },

    async findRun(runId) {
      const row = await database.maybeOne(
        `SELECT r.project_id AS "projectId", r.id AS "runId", r.kind, r.name, p.name AS "projectName", r.created_by AS "createdBy"
           FROM runs r JOIN projects p ON p.id = r.project_id WHERE r.id = $1`,
        [runId],
      );
      return row && (RunRow.parse(row) satisfies ScoredRun);
    },

    async requested(runId) {
      const rows = await database.query(
        "SELECT * FROM scorings WHERE run_id = $1 AND state = 'requested' ORDER BY created_at, id",
        [runId],
      );
      return z.array(RequestRow).parse(rows);
    },

    async marked(runId) {
      const rows = await database.query(
        "SELECT * FROM scorings WHERE run_id = $1 AND state = 'running' ORDER BY created_at, id",
        [runId],
      );
      return z.array(MarkedRow).parse(rows);
    },

    async setMarked(scoringId, total, markedTo) {
      await database.query(
        `UPDATE scorings SET state = 'running', values_total = $2, marked_to = $3, started_at = now() WHERE id = $1 AND state = 'requested'`,
        [scoringId, total, markedTo],
      );
    },

    async setDone(scoringId, done) {
      await database.query("UPDATE scorings SET values_done = greatest(values_done, $2) WHERE id = $1 AND state = 'running'", [
        scoringId,
        done,
      ]);
    },

    async end(scoringId, state, error) {
      await database.query(
        `UPDATE scorings SET state = $2, error = $3, ended_at = now(), started_at = coalesce(started_at, now()),
                values_done = CASE WHEN $2 = 'completed' THEN values_total ELSE values_done END
          WHERE id = $1 AND state IN ('requested', 'running')`,
        [scoringId, state, error],
      );
    },

    async noteWritten(runIds) {
      const rows = await database.query(
        `UPDATE run_scorer_settings s SET written_at = clock_timestamp(), looked_at = ${past('s.looked_at')}
          WHERE s.run_id = ANY ($1::uuid[]) AND ${ENABLED} AND EXISTS (SELECT 1 FROM runs r WHERE r.id = s.run_id AND ${IS_FILLED})
      RETURNING s.run_id`,
        [[...runIds]],
      );
      return idsOf(rows);
    },

    async unseen(runId) {
      const row = await database.maybeOne(
        `SELECT ${micros(`greatest(${past('s.scored_from')}, ${past('s.looked_at')} - ${OVERLAP})`)} AS since, clock_timestamp() AS began
           FROM ${FILLED} WHERE s.run_id = $1 AND ${ENABLED} AND ${UNSEEN}`,
        [runId],
      );
      return row && z.object({ since: count, began: z.date() }).parse(row);
    },

    async seen(runId, began) {
      await database.query(
        `UPDATE run_scorer_settings SET looked_at = $2, written_at = CASE WHEN written_at > clock_timestamp() THEN $2 ELSE written_at END
          WHERE run_id = $1 AND (looked_at < $2 OR looked_at > clock_timestamp())`,
        [runId, began],
      );
    },

    async idleSessions(runId) {
      const row = await database.maybeOne(
        `SELECT greatest(${micros(`(${past('s.scored_from')})`)}, CASE WHEN ${SESSIONS_AHEAD} THEN ${micros(`(${BEHIND})`)} ELSE s.sessions_seen_to END - ${micros(OVERLAP)}) AS since,
                CASE WHEN ${SESSIONS_AHEAD} THEN 0 ELSE s.sessions_due END AS due
           FROM ${FILLED} WHERE s.run_id = $1 AND ${ENABLED}`,
        [runId],
      );
      return row && z.object({ since: count, due: count.nullable() }).parse(row);
    },

    async sessionsSeen(runId, to, due) {
      await database.query(
        `UPDATE run_scorer_settings s SET sessions_due = $3,
                sessions_seen_to = CASE WHEN ${SESSIONS_AHEAD} THEN $2 ELSE greatest(s.sessions_seen_to, $2) END
          WHERE s.run_id = $1`,
        [runId, to, due],
      );
    },

    async waiting() {
      const rows = await database.query(
        `SELECT run_id FROM scorings WHERE state IN ('requested', 'running')
          UNION SELECT s.run_id FROM ${FILLED} WHERE ${ENABLED} AND (${UNSEEN} OR s.sessions_due <= ${micros('clock_timestamp()')} OR s.sessions_due IS NOT NULL AND ${SESSIONS_AHEAD})`,
      );
      return idsOf(rows);
    },

    async liveRuns() {
      const rows = await database.query(
        `SELECT s.project_id AS "projectId", s.run_id AS "runId", ${micros(past('s.looked_at'))} AS "lookedAt" FROM ${FILLED} WHERE ${ENABLED}`,
      );
      return z
        .array(z.object({ projectId: z.string(), runId: z.string(), lookedAt: count }))
        .parse(rows)
        .map(({ lookedAt, ...run }) => ({ run, lookedAt }));
    },
  };
}
