import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { newId } from '../shared/identifiers/ids.ts';
import { columnValues, metadataKeys } from '../shared/records/columnValues.ts';
import { columnFinder } from '../shared/records/findColumn.ts';
import { recordHistogram } from '../shared/records/recordHistogram.ts';
import type { RecordQuery } from '../shared/records/searchRecords.ts';
import { traceOutline } from '../shared/records/traceOutline.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import type { ClickHouse } from '../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { clickhouseColumnValues } from '../shared/stores/clickhouse/reads/columnValues.ts';
import { clickhouseHistogram } from '../shared/stores/clickhouse/reads/recordHistogram.ts';
import { clickhouseRecordReader } from '../shared/stores/clickhouse/reads/recordReader.ts';
import { clickHouseRecordReads } from '../shared/stores/clickhouse/reads/recordReads.ts';
import { migrateTables } from '../shared/stores/clickhouse/tables/tables.ts';
import type { ColumnFilter } from '../shared/wire/filters.ts';
import { recordKinds } from '../shared/wire/recordKinds.ts';
import { generateLongTrace, generateRecords, mergesDone } from './recordData.ts';

const LONG_TRACE = 10_000;

/**
 * Times what pages of the console ask around their tables, over one run of `records` records of the embedded engine, `rounds` times each.
 * @param dataDir keeps the records for the next call
 */
export async function timeConsoleApi(records: number, rounds: number, dataDir: string | undefined): Promise<void> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'assay-bench-console-')));
  const clickhouse = openClickHouse({ dataDir: folder });
  try {
    await migrateTables(clickhouse);
    const run = (await largestRun(clickhouse)) ?? (await fill(clickhouse, records));
    for (const [name, ask] of questions(clickhouse, {
      run,
      kinds: recordKinds,
      filter: { and: [] },
      findColumn: columnFinder([]),
    }))
      console.log(`${name.padEnd(60)} ${await timed(clickhouse, ask, rounds)}`);
    const outline = outlineOf(clickhouse, run.projectId, await longestTrace(clickhouse, run));
    const { length } = gzipSync(await outline());
    const taken = await timed(clickhouse, outline, rounds);
    console.log(`${`outline of the longest trace, ${(length / 1024).toFixed(0)} KB gzip`.padEnd(60)} ${taken}`);
  } finally {
    await clickhouse.close();
    if (dataDir === undefined) await rm(folder, { recursive: true, force: true });
  }
}

interface Run {
  projectId: string;
  runId: string;
}

async function largestRun(clickhouse: ClickHouse): Promise<Run | undefined> {
  const [largest] = await clickhouse.query({
    name: 'largest run',
    sql: 'SELECT project_id AS projectId, run_id AS runId FROM records GROUP BY project_id, run_id ORDER BY count() DESC LIMIT 1',
    row: (row) => row as Run,
  });
  return largest;
}

async function longestTrace(clickhouse: ClickHouse, { projectId, runId }: Run): Promise<string> {
  const [longest] = await clickhouse.query({
    name: 'longest trace',
    sql: 'SELECT trace_id FROM trace_members WHERE project_id = {project:UUID} AND run_id = {run:UUID} GROUP BY trace_id ORDER BY count() DESC LIMIT 1',
    params: { project: projectId, run: runId },
    row: (row) => (row as { trace_id: string }).trace_id,
  });
  return longest ?? newId();
}

/** The text of the answer. */
function outlineOf(clickhouse: ClickHouse, projectId: string, traceId: string): () => Promise<string> {
  const reads = { ...clickHouseRecordReads(clickhouse), annotations: async () => new Map(), files: async () => new Map() };
  const reader = clickhouseRecordReader(clickhouse);
  return async () => JSON.stringify(await traceOutline({ reader, reads }, projectId, traceId));
}

async function fill(clickhouse: ClickHouse, records: number): Promise<Run> {
  const run = { projectId: newId(), runId: newId(), records };
  await generateRecords(clickhouse, run);
  await generateLongTrace(clickhouse, run, LONG_TRACE);
  await mergesDone(clickhouse, { furtherToo: false });
  return run;
}

function questions(clickhouse: ClickHouse, all: RecordQuery): [name: string, ask: () => Promise<unknown>][] {
  const histogram = clickhouseHistogram(clickhouse);
  const deps = { columnValues: clickhouseColumnValues(clickhouse), records: clickHouseRecordReads(clickhouse) };
  const values = (columnId: string) => () => columnValues(deps, all, { columnId, contains: undefined, limit: 20 });
  const named: ColumnFilter = {
    filter: { type: 'text', column_id: 'input', operator: 'contains', value: 'the', case_sensitive: true },
  };
  return [
    ['histogram of 60 buckets, all records', () => recordHistogram(histogram, all, { buckets: 60 })],
    ['histogram of 60 buckets, traces', () => recordHistogram(histogram, { ...all, kinds: ['trace'] }, { buckets: 60 })],
    [
      'histogram of 60 buckets, input contains a word',
      () => recordHistogram(histogram, { ...all, filter: named }, { buckets: 60 }),
    ],
    ['values of name', values('name')],
    ['values of status_code', values('status_code')],
    ['values of tags', values('tags')],
    ['metadata keys', () => metadataKeys(deps, all, 200)],
  ];
}

/** Answers are kept until the next write, so that each round begins after one. */
async function timed(clickhouse: ClickHouse, ask: () => Promise<unknown>, rounds: number): Promise<string> {
  const times = new Float64Array(rounds);
  await ask();
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round++) {
    await clickhouse.command({ name: 'a write', sql: 'INSERT INTO deleted_records SELECT * FROM deleted_records LIMIT 0' });
    const started = performance.now();
    await ask();
    times[round] = performance.now() - started;
  }
  const { user, system } = process.cpuUsage(before);
  times.sort();
  const cpu = `${((user + system) / 1000 / rounds).toFixed(0)} ms of CPU`;
  return `${cpu}, p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms`;
}
