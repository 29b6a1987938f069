import { z } from 'zod';
import { recordKinds } from '../../columns/columnDef.ts';
import type { ExperimentRun } from '../../experiments/experiment.ts';
import type { RunTally } from '../../experiments/progress.ts';
import type { AttemptLog, RecordedRow, RowAttempt } from '../../experiments/runRows.ts';
import { type RecordedTrace, valueKey } from '../../experiments/scoreRows.ts';
import { newId } from '../../ids.ts';
import type { ScoredRecord } from '../../metrics/metric.ts';
import type { DeleteRecords } from '../../projects/runs.ts';
import type { ClickHouse } from './connect.ts';

type RunOf = Pick<ExperimentRun, 'projectId' | 'experimentId'>;

const scope = (run: RunOf) => ({ project: run.projectId, run: run.experimentId });
const IN_RUN = 'project_id = {project:UUID} AND run_id = {run:UUID}';
/** The keys tell when the records were made, which is what the record table is ordered by. */
const BY_IDS = `(created_at, id) IN (SELECT created_at, id FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)})`;

const Recorded = z.object({ id: z.string(), failed: z.boolean(), attempt: z.number() });

/** Of these trace ids, those that are recorded, with the attempt that wrote them. */
export async function recordedRows(clickhouse: ClickHouse, run: RunOf, ids: string[]): Promise<Map<string, RecordedRow>> {
  if (ids.length === 0) return new Map();
  const rows = await clickhouse.query({
    name: 'rows recorded',
    sql: `SELECT toString(id) AS id, toBool(error_message != '') AS failed, attempt FROM records FINAL WHERE ${IN_RUN} AND type = 'trace' AND ${BY_IDS}`,
    params: { ...scope(run), ids },
    row: Recorded,
  });
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

const count = z.string().transform(Number).nullable();
const Scored = z.object({
  id: z.string(),
  type: z.enum(recordKinds),
  trace_id: z.string(),
  created_at: z.string(),
  input: z.string(),
  output: z.string().nullable(),
  dataset_input: z.string().nullable(),
  dataset_output: z.string().nullable(),
  dataset_metadata: z.record(z.string(), z.string()),
  error_message: z.string(),
  status_code: z.number().nullable(),
  attempt: z.number(),
  name: z.string(),
  model: z.string().nullable(),
  duration_ns: count,
  num_input_tokens: count,
  num_output_tokens: count,
  num_total_tokens: count,
});

/** The recorded traces of these ids, as metrics see them; with the spans below them, in order of their start, where a metric looks at those. */
export async function tracesToScore(
  clickhouse: ClickHouse,
  run: RunOf,
  ids: string[],
  withSpans: boolean,
): Promise<RecordedTrace[]> {
  if (ids.length === 0) return [];
  const wanted = withSpans
    ? `(created_at, id) IN (SELECT created_at, id FROM record_keys WHERE ${IN_RUN} AND trace_id IN {ids:Array(UUID)})`
    : `type = 'trace' AND ${BY_IDS}`;
  const rows = await clickhouse.query({
    name: 'traces to score',
    sql: `SELECT toString(id) AS id, type, toString(trace_id) AS trace_id, toString(created_at) AS created_at, input, output, dataset_input, dataset_output,
                 dataset_metadata, error_message, status_code, attempt, name, model, duration_ns, num_input_tokens, num_output_tokens, num_total_tokens
            FROM records FINAL WHERE ${IN_RUN} AND ${wanted} ORDER BY created_at, id`,
    params: { ...scope(run), ids },
    row: Scored,
  });
  const spans = Map.groupBy(
    rows.filter((row) => row.type !== 'trace'),
    (row) => row.trace_id,
  );
  return rows
    .filter((row) => row.type === 'trace')
    .map((row) => ({
      id: row.id,
      createdAt: `${row.created_at.replace(' ', 'T')}Z`,
      failed: row.error_message !== '',
      attempt: row.attempt,
      name: row.name,
      record: { ...asScored(row), ...(withSpans ? { spans: (spans.get(row.id) ?? []).map(asScored) } : {}) },
    }));
}

const asScored = (row: z.output<typeof Scored>): ScoredRecord => ({
  kind: row.type,
  input: row.input,
  output: row.output,
  datasetInput: row.dataset_input,
  datasetOutput: row.dataset_output,
  metadata: row.dataset_metadata,
  durationNs: row.duration_ns,
  inputTokens: row.num_input_tokens,
  outputTokens: row.num_output_tokens,
  totalTokens: row.num_total_tokens,
  // A span that its caller logged says by its status that it failed.
  errorMessage: row.error_message || (row.status_code !== null && row.status_code >= 400 ? `status ${row.status_code}` : null),
  model: row.model,
});

/** `<record id>/<metric>` of the values that are newer than the record they belong to: those need no computing again. */
export async function computedValues(clickhouse: ClickHouse, run: RunOf, ids: string[], metrics: string[]): Promise<Set<string>> {
  if (ids.length === 0 || metrics.length === 0) return new Set();
  const rows = await clickhouse.query({
    name: 'values computed',
    sql: `SELECT toString(v.record_id) AS id, v.metric AS metric
            FROM (SELECT record_id, metric, version FROM metric_values FINAL
                   WHERE ${IN_RUN} AND metric IN {metrics:Array(String)} AND (record_created_at, record_id) IN (SELECT created_at, id FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)})) AS v
            JOIN (SELECT id, version FROM records FINAL WHERE ${IN_RUN} AND type = 'trace' AND ${BY_IDS}) AS r ON r.id = v.record_id
           WHERE v.version >= r.version`,
    params: { ...scope(run), ids, metrics },
    row: z.object({ id: z.string(), metric: z.string() }),
  });
  return new Set(rows.map(({ id, metric }) => valueKey(id, metric)));
}

const Tally = z.object({
  rows: z.string().transform(Number),
  failed: z.string().transform(Number),
  scores: z.string().transform(Number),
});

export async function runTally(clickhouse: ClickHouse, run: RunOf, metrics: string[]): Promise<RunTally> {
  const [tally] = await clickhouse.query({
    name: 'tally of a run',
    sql: `SELECT count() AS rows, countIf(error_message != '') AS failed,
                 (SELECT count() FROM metric_values FINAL WHERE ${IN_RUN} AND metric IN {metrics:Array(String)} AND record_type = 'trace') AS scores
            FROM records FINAL WHERE ${IN_RUN} AND type = 'trace'`,
    params: { ...scope(run), metrics },
    row: Tally,
  });
  return tally ?? { rows: 0, failed: 0, scores: 0 };
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
                   WHERE ${inRuns} AND record_type = 'trace' AND scorer_id IN {metrics:Array(UUID)})
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
    clickhouse.command({
      name: 'delete from row_attempts',
      sql: `DELETE FROM row_attempts WHERE project_id = {project:UUID}${runId === undefined ? '' : ' AND run_id = {run:UUID}'}`,
      params: { project: projectId, ...(runId === undefined ? {} : { run: runId }) },
    });

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
