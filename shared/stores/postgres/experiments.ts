import { z } from 'zod';
import type { RowSelection, SelectedRows } from '../../datasets/rowSelection.ts';
import {
  defaultRunSettings,
  type ExperimentRun,
  type LoggedMetrics,
  type Rerun,
  type Runner,
  type RunSettings,
  rowsToRun,
  runStates,
} from '../../experiments/experiment.ts';
import { executionsIn, MAX_CHOSEN_READ } from '../../experiments/rerun.ts';
import type { RunLedger } from '../../experiments/runLedger.ts';
import type { OrdinalRange } from '../../experiments/workflow.ts';
import { newWorkflowId } from '../../experiments/workflowId.ts';
import type { Database, Queries } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { AT_REST, noteOutdatedSql } from './outdatedAggregates.ts';
import { saveRunSettings } from './scorers.ts';

const RunRow = z.object({
  experimentId: z.string(),
  projectId: z.string(),
  name: z.string(),
  projectName: z.string(),
  groupName: z.string(),
  createdBy: z.string(),
  datasetId: z.string().nullable(),
  datasetVersionIndex: z.number().nullable(),
  datasetName: z.string().nullable(),
  runner: z.custom<Runner>().nullable(),
  settings: z.custom<Partial<RunSettings>>(),
  loggedMetrics: z.custom<LoggedMetrics>(),
  failedRows: z.enum(['omit', 'worst']),
  state: z.enum(runStates),
  workflowNumber: z.number(),
  scoresLeftFrom: z.number(),
  workflowId: z.string(),
  workflowProblem: z.string().nullable(),
  rowsToRun: z.enum(rowsToRun),
  rerun: z.custom<Rerun>().nullable(),
  selectedRows: z.custom<SelectedRows>().nullable(),
  trials: z.number(),
  rowCount: z.number().nullable(),
});

const Range = z.object({ from: z.number(), to: z.number() });

const Times = z
  .object({
    started_at: z.date().nullable(),
    ended_at: z.date().nullable(),
    error: z.string().nullable(),
    message: z.string().nullable(),
  })
  .transform(inCamelCase);

const SELECT_RUN = `
  SELECT e.run_id AS "experimentId", e.project_id AS "projectId", r.name, p.name AS "projectName", g.name AS "groupName", r.created_by AS "createdBy",
         e.dataset_id AS "datasetId", e.dataset_version_index AS "datasetVersionIndex", e.dataset_name AS "datasetName", e.runner, e.settings,
         e.logged_metrics AS "loggedMetrics", e.failed_rows AS "failedRows", e.state,
         e.workflow_number AS "workflowNumber", e.scores_left_from AS "scoresLeftFrom", coalesce(e.workflow_id, '') AS "workflowId", e.workflow_problem AS "workflowProblem", e.rows_to_run AS "rowsToRun", e.rerun, e.selected_rows AS "selectedRows", e.trials, e.row_count AS "rowCount"
  FROM experiments e JOIN runs r ON r.id = e.run_id JOIN projects p ON p.id = e.project_id JOIN experiment_groups g ON g.id = e.group_id`;

/** The states of experiment runs: Postgres, not Temporal's retention, decides whether a run has ended. */
export function postgresRunLedger(database: Database): RunLedger {
  const find = async (queries: Queries, experimentId: string) =>
    toRun(await queries.maybeOne(`${SELECT_RUN} WHERE e.run_id = $1`, [experimentId]));
  return {
    find: (experimentId) => find(database, experimentId),

    async wantedRows(experimentId) {
      const row = await database.maybeOne('SELECT wanted_rows FROM experiments WHERE run_id = $1', [experimentId]);
      return z.custom<RowSelection>().nullish().parse(row?.wanted_rows) ?? undefined;
    },

    exists: async (experimentId) =>
      (await database.maybeOne('SELECT 1 FROM experiments WHERE run_id = $1', [experimentId])) !== undefined,

    goesOn: async (experimentId, number) =>
      (await database.maybeOne(
        `SELECT 1 FROM experiments WHERE run_id = $1 AND workflow_number = $2 AND state IN ('requested', 'running', 'paused')`,
        [experimentId, number],
      )) !== undefined,

    async request(experimentId, after, definition) {
      const { change } = definition;
      return database.transaction(async (tx) => {
        const started = await tx.query(
          `UPDATE experiments SET state = 'requested', workflow_number = workflow_number + 1,
                  scores_left_from = CASE WHEN state = 'completed' AND rows_to_run != 'scores' THEN workflow_number + 1 ELSE scores_left_from END, rows_to_run = $3, rerun = $12::jsonb,
                  runner = coalesce($4::jsonb, runner), settings = settings || $5::jsonb, row_count = coalesce($6, row_count),
                  trials = coalesce($9, trials), selected_rows = coalesce($11::jsonb, selected_rows),
                  logged_metrics = logged_metrics || $8::jsonb, failed_rows = coalesce($10, failed_rows),
                  task_type = coalesce($13, task_type), dataset_id = coalesce($14, dataset_id),
                  dataset_version_index = coalesce($15, dataset_version_index), dataset_name = coalesce($16, dataset_name),
                  prompt_template_version_id = coalesce($17, prompt_template_version_id), prompt_settings = coalesce($18::jsonb, prompt_settings),
                  caller_process = coalesce($7, caller_process), caller_seen_at = CASE WHEN $7::text IS NULL THEN caller_seen_at ELSE now() END,
                  gate_status = NULL, gated_at = NULL, approved_at = NULL, approved_by = NULL,
                  error = NULL, pause_reason = NULL, workflow_problem = NULL, ended_at = NULL, started_at = coalesce(started_at, now())
            WHERE run_id = $1 AND workflow_number = $2 AND state NOT IN ('requested', 'running', 'paused')
            RETURNING run_id`,
          [
            experimentId,
            after,
            definition.rowsToRun,
            definition.runner ? JSON.stringify(definition.runner) : null,
            JSON.stringify(definition.settings ?? {}),
            definition.rowCount ?? null,
            definition.callerProcess ?? null,
            JSON.stringify(definition.loggedMetrics ?? {}),
            definition.trials ?? null,
            definition.failedRows ?? null,
            definition.selectedRows ? JSON.stringify(definition.selectedRows) : null,
            definition.rerun ? JSON.stringify(definition.rerun) : null,
            change?.taskType ?? null,
            change?.dataset?.id ?? null,
            change?.dataset?.versionIndex ?? null,
            change?.dataset?.name ?? null,
            change?.promptTemplateVersionId ?? null,
            change?.promptSettings ? JSON.stringify(change.promptSettings) : null,
          ],
        );
        const run = await find(tx, experimentId);
        if (!run || started.length === 0) return run && { run, started: false };
        await tx.query('DELETE FROM rerun_rows WHERE run_id = $1', [experimentId]);
        if (definition.chosen) await insertChosen(tx, experimentId, definition.chosen);
        if (change?.scorers || change?.segmentFilters)
          await saveRunSettings(tx, run.projectId, experimentId, {
            ...(change.scorers ? { scorers: [...change.scorers] } : {}),
            ...(change.segmentFilters ? { segmentFilters: [...change.segmentFilters] } : {}),
          });
        const workflowId = newWorkflowId(run, run.workflowNumber);
        await tx.query('UPDATE experiments SET workflow_id = $2 WHERE run_id = $1', [experimentId, workflowId]);
        return { run: { ...run, workflowId }, started: true };
      });
    },

    async freezeChosen(experimentId, number, chosen) {
      await database.transaction(async (tx) => {
        const frozen = await tx.query(
          `UPDATE experiments SET rerun = coalesce(rerun, '{}'::jsonb) || $3::jsonb
            WHERE run_id = $1 AND workflow_number = $2 AND rows_to_run = 'chosen' AND (rerun ->> 'executions') IS NULL RETURNING run_id`,
          [experimentId, number, JSON.stringify({ executions: executionsIn(chosen) })],
        );
        if (frozen.length > 0) await insertChosen(tx, experimentId, chosen);
      });
    },

    async chosenIn(experimentId, from, to) {
      // Ranges do not overlap: none before the last one that begins at or before $2 reaches it, so the key finds them all.
      const rows = await database.query(
        `SELECT greatest(first, $2) AS "from", least(past, $3) AS "to" FROM rerun_rows
          WHERE run_id = $1 AND first >= coalesce((SELECT max(first) FROM rerun_rows WHERE run_id = $1 AND first <= $2), $2)
            AND past > $2 AND first < $3 ORDER BY first LIMIT ${MAX_CHOSEN_READ}`,
        [experimentId, from, to],
      );
      return rows.map((row) => Range.parse(row));
    },

    async setState(experimentId, from, to, pauseReason = null) {
      const rows = await database.query(
        'UPDATE experiments SET state = $3, pause_reason = $4 WHERE run_id = $1 AND state = ANY($2::text[]) RETURNING run_id',
        [experimentId, from, to, pauseReason],
      );
      return rows.length > 0;
    },

    async reopen(experimentId, number) {
      await database.query(
        `UPDATE experiments SET state = 'running', error = NULL, ended_at = NULL
          WHERE run_id = $1 AND workflow_number = $2 AND state IN ('completed', 'failed', 'cancelled')`,
        [experimentId, number],
      );
    },

    async setWorkflowProblem(experimentId, problem) {
      await database.query('UPDATE experiments SET workflow_problem = $2 WHERE run_id = $1', [experimentId, problem]);
    },

    async setFigureSettings(experimentId, { failedRows, loggedMetrics }) {
      await database.query(
        `WITH changed AS (
           UPDATE experiments SET failed_rows = coalesce($2, failed_rows), logged_metrics = logged_metrics || $3::jsonb WHERE run_id = $1 RETURNING run_id)
         ${noteOutdatedSql('SELECT run_id FROM changed')}`,
        [experimentId, failedRows ?? null, JSON.stringify(loggedMetrics ?? {})],
      );
    },

    async setSettings(experimentId, settings) {
      await database.query('UPDATE experiments SET settings = settings || $2::jsonb WHERE run_id = $1', [
        experimentId,
        JSON.stringify(settings),
      ]);
    },

    async end(experimentId, number, state, { error, aggregates }) {
      await database.query(
        `WITH ended AS (
           UPDATE experiments SET state = $3, error = $4, pause_reason = NULL, workflow_problem = NULL, aggregates = coalesce($5::jsonb, aggregates), ended_at = now()
            WHERE run_id = $1 AND workflow_number = $2 AND state IN ('requested', 'running', 'paused') RETURNING run_id)
         UPDATE runs SET updated_at = now() WHERE id IN (SELECT run_id FROM ended)`,
        [experimentId, number, state, error, aggregates === undefined ? null : JSON.stringify(aggregates)],
      );
    },

    async setAggregates(experimentId, aggregates) {
      // A computation that is under way may have read older values than these: it loses its claim.
      await database.query(
        `WITH lost AS (UPDATE outdated_aggregates SET claim = NULL, free_at = clock_timestamp() WHERE run_id = $1 AND claim IS NOT NULL)
         UPDATE experiments SET aggregates = $2::jsonb WHERE run_id = $1 AND ${AT_REST}`,
        [experimentId, JSON.stringify(aggregates)],
      );
    },

    async times(experimentId) {
      const row = await database.maybeOne(
        'SELECT started_at, ended_at, error, coalesce(workflow_problem, pause_reason) AS message FROM experiments WHERE run_id = $1',
        [experimentId],
      );
      return Times.parse(row ?? { started_at: null, ended_at: null, error: null, message: null });
    },

    async unended() {
      const rows = await database.query(`${SELECT_RUN} WHERE e.state IN ('requested', 'running', 'paused')`);
      return rows.map((row) => toRun(row) as ExperimentRun);
    },
  };
}

/** Ranges in one statement. */
const RANGES_AT_ONCE = 10_000;

async function insertChosen(tx: Queries, experimentId: string, chosen: readonly OrdinalRange[]): Promise<void> {
  for (let at = 0; at < chosen.length; at += RANGES_AT_ONCE) {
    const some = chosen.slice(at, at + RANGES_AT_ONCE);
    await tx.query('INSERT INTO rerun_rows (run_id, first, past) SELECT $1, * FROM unnest($2::integer[], $3::integer[])', [
      experimentId,
      some.map(({ from }) => from),
      some.map(({ to }) => to),
    ]);
  }
}

function toRun(row: Record<string, unknown> | undefined): ExperimentRun | undefined {
  if (!row) return undefined;
  const { datasetId, datasetVersionIndex, runner, settings, rowCount, ...run } = RunRow.parse(row);
  return {
    ...run,
    runner: runner ?? { kind: 'caller_function' },
    settings: { ...defaultRunSettings, ...settings },
    source: datasetId === null ? { kind: 'run' } : { kind: 'dataset', datasetId, versionIndex: datasetVersionIndex ?? 0 },
    rowCount: rowCount ?? 0,
  };
}
