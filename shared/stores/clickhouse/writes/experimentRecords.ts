import { z } from 'zod';
import type { ExperimentRun } from '../../../experiments/experiment.ts';
import type { RunTally } from '../../../experiments/progress.ts';
import type { RecordedRow } from '../../../experiments/rowLog.ts';
import type { AttemptLog, RowAttempt } from '../../../experiments/runRows.ts';
import type { RunSummary } from '../../../experiments/workflow.ts';
import { newId } from '../../../identifiers/ids.ts';
import type { DeleteRecords } from '../../../projects/runs.ts';
import { errorOf, FAILED } from '../../../records/failed.ts';
import { IN_RUN } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { runUsage } from '../reads/runUsage.ts';
import { TAKEN_BACK } from '../tables/metricRow.ts';
import { tracesWithUsageSql } from '../tables/usageSql.ts';

type RunOf = Pick<ExperimentRun, 'projectId' | 'experimentId'>;

const scope = (run: RunOf) => ({ project: run.projectId, run: run.experimentId });
/** The keys have the times of the records, by which the record table is ordered. */
const BY_IDS = `(created_at, id) IN (SELECT created_at, id FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)})`;

const ERROR_LENGTH = 300;
const Recorded = z
  .object({
    id: z.string(),
    error_message: z.string(),
    status_code: z.number().nullable(),
    attempt: z.number(),
    attempts: z.number().nullable(),
  })
  .transform(({ id, attempt, attempts, ...outcome }) => ({ id, error: errorOf(outcome), attempt, attempts }));

/** Returns the recorded ones among these traces, with the attempt that wrote each. */
export async function recordedRows(clickhouse: ClickHouse, run: RunOf, ids: string[]): Promise<Map<string, RecordedRow>> {
  if (ids.length === 0) return new Map();
  const rows = await clickhouse.query({
    name: 'rows recorded',
    sql: `SELECT toString(id) AS id, substringUTF8(error_message, 1, ${ERROR_LENGTH}) AS error_message, status_code, attempt, attempts FROM records FINAL WHERE ${IN_RUN} AND type = 'trace' AND ${BY_IDS}`,
    params: { ...scope(run), ids },
    row: Recorded,
  });
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

const Tally = z.object({
  rows: z.string().transform(Number),
  failed: z.string().transform(Number),
  scores: z.string().transform(Number),
});

export async function runTally(clickhouse: ClickHouse, run: RunOf, metrics: string[]): Promise<RunTally> {
  const tallying = clickhouse.query({
    name: 'tally of a run',
    sql: `SELECT count() AS rows, countIf(${FAILED}) AS failed,
                 (SELECT count() FROM metric_values FINAL WHERE ${IN_RUN} AND metric IN {metrics:Array(String)} AND record_type = 'trace'
                    AND status NOT IN ('pending', 'computing') AND NOT ${TAKEN_BACK}) AS scores
            FROM records FINAL WHERE ${IN_RUN} AND type = 'trace'`,
    params: { ...scope(run), metrics },
    row: Tally,
  });
  const usage = runUsage(clickhouse, { projectId: run.projectId, runId: run.experimentId });
  const [[tally = { rows: 0, failed: 0, scores: 0 }], used] = await Promise.all([tallying, usage]);
  return { ...tally, usage: used };
}

const Summary = z.object({ rows: z.string().transform(Number), failedRows: z.string().transform(Number), costUsd: z.number() });

/** Rows recorded, those of them that failed, and what they cost. */
export async function runSummary(clickhouse: ClickHouse, run: RunOf): Promise<RunSummary> {
  const [summary] = await clickhouse.query({
    name: 'summary of a run',
    sql: `SELECT count() AS rows, countIf(failed) AS failedRows, toFloat64(ifNull(sum(cost), 0)) AS costUsd
            FROM (${tracesWithUsageSql(['cost'], IN_RUN)})`,
    params: scope(run),
    row: Summary,
  });
  return summary ?? { rows: 0, failedRows: 0, costUsd: 0 };
}

const OpenTally = z.object({ id: z.string(), rows: z.string().transform(Number), scores: z.string().transform(Number) });

/** Rows of each of these runs, and their values of the metrics with these ids, in one statement. */
export async function runTallies(
  clickhouse: ClickHouse,
  runs: readonly { id: string; projectId: string }[],
  metricIds: readonly string[],
): Promise<Map<string, Pick<RunTally, 'rows' | 'scores'>>> {
  const inRuns = 'project_id IN {projects:Array(UUID)} AND run_id IN {runs:Array(UUID)}';
  const tallies = await clickhouse.query({
    name: 'tallies of runs',
    sql: `SELECT toString(run_id) AS id, toUInt64(sum(row)) AS rows, toUInt64(sum(score)) AS scores
            FROM (SELECT run_id, 1 AS row, 0 AS score FROM records FINAL WHERE ${inRuns} AND type = 'trace'
                  UNION ALL
                  SELECT run_id, 0 AS row, 1 AS score FROM metric_values FINAL
                   WHERE ${inRuns} AND record_type = 'trace' AND scorer_id IN {metrics:Array(UUID)}
                     AND status NOT IN ('pending', 'computing'))
           GROUP BY run_id`,
    params: {
      projects: [...new Set(runs.map((run) => run.projectId))],
      runs: runs.map((run) => run.id),
      metrics: [...metricIds],
    },
    row: OpenTally,
  });
  return new Map(tallies.map(({ id, ...tally }) => [id, tally]));
}

export const rowAttemptsTable = `
  CREATE TABLE IF NOT EXISTS row_attempts (
    project_id UUID, run_id UUID, ordinal UInt32, attempt UInt32, started_at DateTime64(3, 'UTC'), ended_at Nullable(DateTime64(3, 'UTC')),
    row_id String, outcome LowCardinality(String), version UInt8
  ) ENGINE = ReplacingMergeTree(version) ORDER BY (project_id, run_id, ordinal, attempt, started_at)`;

/** The lines of a project, or of one run of it. */
export const deleteAttempts =
  (clickhouse: ClickHouse): DeleteRecords =>
  async (projectId, runId) =>
    clickhouse.deleteFrom({
      table: 'row_attempts',
      where: `project_id = {project:UUID}${runId === undefined ? '' : ' AND run_id = {run:UUID}'}`,
      params: { project: projectId, ...(runId === undefined ? {} : { run: runId }) },
    }).gone;

/** Lines are written together this often, in milliseconds: the log is for people and bills, and no row waits for it. */
const FLUSH_MS = 500;

/** One line per attempt of a row: what was started, when it ended and how. A crash loses at most the lines of the last moment. */
export function attemptLog(clickhouse: ClickHouse, onError: (err: unknown) => void): AttemptLog {
  let lines: object[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const batch = lines;
    lines = [];
    if (batch.length > 0)
      writing = writing.then(() => clickhouse.insert({ table: 'row_attempts', rows: batch, token: newId() })).catch(onError);
    return writing;
  };
  return {
    note(run, attempt) {
      lines.push(attemptLine(run, attempt));
      timer ??= setTimeout(flush, FLUSH_MS);
    },
    flush,
  };
}

const attemptLine = (run: RunOf, { rowId, ordinal, attempt, startedAt, endedAt, outcome }: RowAttempt) => ({
  project_id: run.projectId,
  run_id: run.experimentId,
  ordinal,
  attempt,
  started_at: timeText(startedAt),
  ended_at: endedAt && timeText(endedAt),
  row_id: rowId,
  outcome,
  version: outcome === 'started' ? 0 : 1,
});

// A DateTime64 reads `2026-07-07 15:55:01.110`.
const timeText = (time: Date): string => time.toISOString().slice(0, -1).replace('T', ' ');
