import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { newId } from '../shared/identifiers/ids.ts';
import { metricColumn } from '../shared/metrics/metricColumn.ts';
import { toxicity } from '../shared/metrics/toxicity.ts';
import { columnFinder } from '../shared/records/findColumn.ts';
import { readTrace } from '../shared/records/read.ts';
import {
  findKeys,
  type PageView,
  type RecordPageQuery,
  type RecordReads,
  searchRecords,
} from '../shared/records/searchRecords.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import type { ClickHouse } from '../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { clickhouseRecordReader } from '../shared/stores/clickhouse/reads/recordReader.ts';
import { clickHouseRecordReads } from '../shared/stores/clickhouse/reads/recordReads.ts';
import { migrateTables } from '../shared/stores/clickhouse/tables/tables.ts';
import { type ColumnFilter, FilterList } from '../shared/wire/filters.ts';
import { recordKinds, spanKinds } from '../shared/wire/recordKinds.ts';
import { type GeneratedRun, generateLongTrace, generateRecords, mergesDone, rareWords } from './recordData.ts';

const findColumn = columnFinder([metricColumn(toxicity)]);
const PAGE = 50;
const LONG_TRACE = 10_000;

/**
 * Times pages of 50 with exact num_rows over one run of `--records N` (default 1,000,000), warm, `--rounds R` times each (default 20), with what
 * each question reads and how long a bare scan of the columns it names takes. `--runs K` spreads the records over K runs and asks one of them.
 * `--data FOLDER` keeps the records for the next call. `--as-merged` asks the parts that the engine's own merges leave; without it they are merged
 * further until that changes nothing, which takes half an hour at 20 M. `--against CHECKOUT` asks the code of another checkout the same, in turns.
 * `--live` asks the whole service over HTTP what a page of traces asks, over `--records N` spans (default 100,000), while new ones arrive.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      records: { type: 'string' },
      runs: { type: 'string', default: '1' },
      rounds: { type: 'string', default: '20' },
      live: { type: 'boolean', default: false },
      data: { type: 'string' },
      'as-merged': { type: 'boolean', default: false },
      against: { type: 'string' },
    },
  });
  const [runs, rounds] = [Number(values.runs), Number(values.rounds)];
  if (values.live) return (await import('./searchLive.ts')).searchLive(Number(values.records ?? 100_000), rounds);
  const records = Number(values.records ?? 1_000_000);
  const dataDir = values.data ?? (await mkdtemp(join(tmpdir(), 'assay-bench-search-')));
  const clickhouse = openClickHouse({ dataDir });
  try {
    const target = (await kept(clickhouse)) ?? (await fill(clickhouse, Math.round(records / runs), runs));
    await mergesDone(clickhouse, { furtherToo: !values['as-merged'] });
    await printSizes(clickhouse, dataDir);
    if (values.against) await askInTurns(clickhouse, target, rounds, resolve(values.against));
    else await ask(clickhouse, target, rounds);
    console.log(`memory of the process: ${(process.memoryUsage.rss() / 1024 ** 2).toFixed(0)} MB`);
  } finally {
    await clickhouse.close();
    if (values.data === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

const PROJECT = '7c1a3c52-5a3e-4e0e-9f0b-0a7f9a0a5d11';

/** The largest run of a folder that was filled before, maybe by an older release: its tables are brought up to date first. */
async function kept(clickhouse: ClickHouse): Promise<GeneratedRun | undefined> {
  await migrateTables(clickhouse);
  const [largest] = await clickhouse.query({
    name: 'largest run',
    sql: `SELECT run_id AS runId, toUInt32(count()) AS records FROM records WHERE project_id = '${PROJECT}' GROUP BY project_id, run_id ORDER BY records DESC, run_id LIMIT 1`,
    row: (row) => row as { runId: string; records: number },
  });
  return largest && { projectId: PROJECT, ...largest };
}

async function fill(clickhouse: ClickHouse, records: number, runs: number): Promise<GeneratedRun> {
  console.log(`making ${(records * runs).toLocaleString('en')} records in ${runs} runs …`);
  const started = performance.now();
  const all = Array.from({ length: runs }, () => ({ projectId: PROJECT, runId: newId(), records }));
  for (const one of all) await generateRecords(clickhouse, one);
  const target = all[Math.floor(runs / 2)] as GeneratedRun;
  await generateLongTrace(clickhouse, target, LONG_TRACE);
  console.log(`made in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return target;
}

async function printSizes(clickhouse: ClickHouse, dataDir: string): Promise<void> {
  const parts = await clickhouse.query({
    name: 'size on disk',
    sql: "SELECT table, toUInt32(count()) AS parts, toUInt32(sum(rows)) AS rows, sum(bytes_on_disk) AS bytes, sum(secondary_indices_compressed_bytes) AS indexes FROM system.parts WHERE active AND table IN ('records', 'record_keys', 'trace_members', 'metric_values') GROUP BY table ORDER BY bytes DESC",
    row: (row) => row as { table: string; parts: number; rows: number; bytes: string; indexes: string },
  });
  const records = parts.find(({ table }) => table === 'records')?.rows ?? 1;
  const bytes = parts.reduce((sum, part) => sum + Number(part.bytes), 0);
  console.log(`${records.toLocaleString('en')} records, ${(bytes / records).toFixed(0)} bytes on disk a record:`);
  for (const { table, parts: count, rows, bytes: size, indexes } of parts) {
    const ofIt = Number(indexes) > 0 ? `, ${(Number(indexes) / records).toFixed(0)} of them indexes` : '';
    console.log(
      `  ${table.padEnd(14)} ${rows} rows in ${count} parts, ${(Number(size) / records).toFixed(0)} bytes a record${ofIt}`,
    );
  }
  const { bsize, blocks, bavail } = await statfs(dataDir);
  console.log(`disk ${((1 - bavail / blocks) * 100).toFixed(0)} % full of ${((blocks * bsize) / 1e9).toFixed(0)} GB`);
}

const noAnnotations = {
  annotations: async () => new Map(),
  fullyAnnotated: async () => [],
  annotationTemplates: async () => [],
};

async function ask(clickhouse: ClickHouse, target: GeneratedRun, rounds: number): Promise<void> {
  const reads = readsOf(clickhouse, { clickHouseRecordReads });
  const columns = ['question', 'p50 ms', 'p95 ms', 'num_rows', '× newest', 'rows read', 'MB read', 'bare scan ms'];
  console.log(columns.map((name, position) => (position === 0 ? name.padEnd(28) : name.padStart(13))).join(''));
  let newest: number | undefined;
  for (const { name, change, scan } of questions(await someId(reads, target))) {
    const query = { ...everything(target), ...change };
    let total = 0;
    const search = async () => {
      total = (await searchRecords(reads, query, wholeRecords)).total;
    };
    const { p50, p95 } = await timed(search, rounds);
    newest ??= p95;
    const read = await readBy(clickhouse, search);
    const bare = scan && (await timed(() => bareScan(clickhouse, target, scan), Math.min(rounds, 5))).p50;
    const figures = [
      p50.toFixed(1),
      p95.toFixed(1),
      total,
      (p95 / newest).toFixed(1),
      read.rows,
      (read.bytes / 1e6).toFixed(1),
      bare?.toFixed(1) ?? '',
    ];
    console.log(name.padEnd(28) + figures.map((figure) => String(figure).padStart(13)).join(''));
  }
  const [longest] = await clickhouse.query({
    name: 'longest trace',
    sql: `SELECT trace_id AS id, count() AS held FROM trace_members WHERE project_id = {project:UUID} AND run_id = {run:UUID} GROUP BY trace_id ORDER BY held DESC LIMIT 1`,
    params: { project: target.projectId, run: target.runId },
    row: (row) => row as { id: string; held: string },
  });
  if (!longest) return;
  const deps = { reader: clickhouseRecordReader(clickhouse), reads };
  const { p50, p95 } = await timed(async () => {
    JSON.stringify(await readTrace(deps, target.projectId, longest.id));
  }, rounds);
  console.log(`a trace of ${longest.held} records, read whole as JSON: p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`);
}

/**
 * Asks each question in turns of the code of the checkout in `folder`, with its packages installed, and of this one, over one engine in one process:
 * so neither the machine's moods nor the parts of the tables favour one of them. It must know the tables as they are here.
 */
async function askInTurns(clickhouse: ClickHouse, target: GeneratedRun, rounds: number, folder: string): Promise<void> {
  const load = async (path: string) => import(pathToFileURL(join(folder, path)).href);
  const there: Searching = {
    ...(await load('shared/stores/clickhouse/reads/recordReads.ts')),
    ...(await load('shared/records/searchRecords.ts')),
  };
  const ours = { clickHouseRecordReads, searchRecords };
  const sides = [there, ours].map((code) => ({ code, reads: readsOf(clickhouse, code) }));
  const id = await someId(readsOf(clickhouse, ours), target);
  console.log('question                    p50 ms there    here   ratio');
  for (const { name, change } of questions(id)) {
    const query = { ...everything(target), ...change };
    const searches = sides.map(
      ({ code, reads }) =>
        () =>
          code.searchRecords(reads, query, wholeRecords),
    );
    // A former release may not know the columns of a question.
    if (!(await searches[0]?.().then(Boolean, () => false))) {
      console.log(`${name.padEnd(28)}  not answered there`);
      continue;
    }
    const [before = Number.NaN, now = Number.NaN] = (await timedInTurns(searches, rounds)).map(({ p50 }) => p50);
    const figures = [before.toFixed(1).padStart(12), now.toFixed(1).padStart(8), (now / before).toFixed(2).padStart(8)];
    console.log(name.padEnd(28) + figures.join(''));
  }
}

/** The parts of a checkout that answer searches. */
interface Searching {
  clickHouseRecordReads: typeof clickHouseRecordReads;
  searchRecords: typeof searchRecords;
}

const readsOf = (clickhouse: ClickHouse, code: Pick<Searching, 'clickHouseRecordReads'>): RecordReads => ({
  ...code.clickHouseRecordReads(clickhouse),
  ...noAnnotations,
  files: async () => new Map(),
});

/** Returns the id of a record amid the run. */
async function someId(reads: RecordReads, target: GeneratedRun): Promise<string> {
  const { keys } = await findKeys(reads, { ...everything(target), offset: Math.floor(target.records / 3), limit: 1 });
  return keys[0]?.id ?? newId();
}

/** Calls before the first that counts: until the caches are filled and the code is compiled. */
const WARM_UP = 5;

interface Times {
  p50: number;
  p95: number;
}

async function timed(work: () => Promise<unknown>, rounds: number): Promise<Times> {
  const [times] = await timedInTurns([work], rounds);
  return times as Times;
}

/** Milliseconds of each of these, which take turns in every round. */
async function timedInTurns(works: readonly (() => Promise<unknown>)[], rounds: number): Promise<Times[]> {
  const taken = works.map((work) => ({ work, times: [] as number[] }));
  for (let round = 0; round < rounds + WARM_UP; round++)
    for (const { work, times } of taken) {
      const started = performance.now();
      await work();
      if (round >= WARM_UP) times.push(performance.now() - started);
    }
  return taken.map(({ times }) => {
    times.sort((a, b) => a - b);
    return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
  });
}

/** Rows and bytes (decompressed) that the engine reads for one question, by its own counters. */
async function readBy(clickhouse: ClickHouse, search: () => Promise<void>): Promise<{ rows: number; bytes: number }> {
  const counters = async () => {
    const rows = await clickhouse.query({
      name: 'counters',
      sql: "SELECT event, value FROM system.events WHERE event IN ('SelectedRows', 'SelectedBytes')",
      row: (row) => row as { event: string; value: string },
    });
    const value = (event: string) => Number(rows.find((row) => row.event === event)?.value ?? 0);
    return { rows: value('SelectedRows'), bytes: value('SelectedBytes') };
  };
  await counters();
  const before = await counters();
  const itself = await counters();
  await search();
  const after = await counters();
  return {
    rows: after.rows - itself.rows - (itself.rows - before.rows),
    bytes: after.bytes - itself.bytes - (itself.bytes - before.bytes),
  };
}

/** Columns of one table that a question names: what has to be read to answer it without an index. */
interface Scan {
  table: 'records' | 'metric_values';
  columns: string;
  where?: string;
}

async function bareScan(clickhouse: ClickHouse, target: GeneratedRun, { table, columns, where }: Scan): Promise<void> {
  await clickhouse.query({
    name: 'bare scan',
    sql: `SELECT count() FROM ${table} WHERE project_id = {project:UUID} AND run_id = {run:UUID}${where ? ` AND ${where}` : ''} AND NOT ignore(${columns})`,
    params: { project: target.projectId, run: target.runId },
    maxSeconds: MAX_SCAN_SECONDS,
    row: (row) => row,
  });
}

/** Texts of 20 M records, from a disk that does not hold them in memory, take more than a question may. */
const MAX_SCAN_SECONDS = 600;

const wholeRecords: PageView = { metrics: 'all', includeCounts: false, includeMetricMetadata: false, truncate: false };

export const everything = (run: { projectId: string; runId: string }): RecordPageQuery => ({
  run,
  kinds: recordKinds,
  filter: { and: [] },
  findColumn,
  offset: 0,
  limit: PAGE,
});

interface Question {
  name: string;
  change: Partial<RecordPageQuery>;
  scan?: Scan;
}

export function questions(someId: string): Question[] {
  const where = (...leaves: object[]) => ({ filter: { and: FilterList.parse(leaves) as ColumnFilter[] } });
  const number = (column_id: string, operator: string, value: number) => ({ type: 'number', column_id, operator, value });
  const input = (value: string) => where({ type: 'text', column_id: 'input', operator: 'contains', value });
  const sort = (id: string, ascending: boolean) => ({ sort: { column: findColumn(id), ascending } });
  const values: Scan = { table: 'metric_values', columns: 'number, record_type, status', where: "metric = 'toxicity'" };
  const scan = (columns: string): Scan => ({ table: 'records', columns });
  return [
    { name: 'newest page', change: {} },
    { name: 'newest traces', change: { kinds: ['trace'] } },
    {
      name: 'two-leaf filter',
      change: {
        kinds: spanKinds,
        ...where({ type: 'text', column_id: 'model', operator: 'eq', value: 'model-3' }, number('status_code', 'eq', 500)),
      },
      scan: scan('type, model, status_code'),
    },
    { name: 'sort by name', change: sort('name', true), scan: scan('type, name') },
    {
      name: 'sort by tokens',
      change: { kinds: spanKinds, ...sort('metrics/num_total_tokens', false) },
      scan: scan('type, num_total_tokens'),
    },
    { name: 'sort by a metric', change: sort('metrics/toxicity', false), scan: values },
    { name: 'by id', change: where({ type: 'id', column_id: 'id', operator: 'eq', value: someId }) },
    { name: 'metric range, 0.1 %', change: where(number('metrics/toxicity', 'gt', 0.999)) },
    { name: 'metric range, 10 %', change: where(number('metrics/toxicity', 'gt', 0.9)), scan: values },
    { name: 'metric range, 90 %', change: where(number('metrics/toxicity', 'gt', 0.1)), scan: values },
    {
      name: 'incomplete',
      change: where({ type: 'boolean', column_id: 'is_complete', operator: 'eq', value: false }),
      scan: scan('type, trace_id, trace_is_complete'),
    },
    {
      name: 'incomplete traces',
      change: { kinds: ['trace'], ...where({ type: 'boolean', column_id: 'is_complete', operator: 'eq', value: false }) },
    },
    { name: 'offset 10,000', change: { offset: 10_000 } },
    { name: 'text contains, 0.001 %', change: input(rareWords.rare) },
    { name: 'text contains, 1 %', change: input(rareWords.uncommon), scan: scan('input') },
    { name: 'text contains, 30 %', change: input(rareWords.common), scan: scan('input') },
    { name: 'text contains, no record', change: input('nosuchwordhere') },
  ];
}
