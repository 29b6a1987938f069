import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { recordKinds, spanKinds } from '../shared/columns/columnDef.ts';
import { newId } from '../shared/ids.ts';
import { metricColumn } from '../shared/metrics/metricColumn.ts';
import { toxicity } from '../shared/metrics/toxicity.ts';
import { columnFinder } from '../shared/records/findColumn.ts';
import { type PageView, type RecordPageQuery, searchRecords } from '../shared/records/searchRecords.ts';
import { type ClickHouse, openClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { clickHouseRecordReads } from '../shared/stores/clickhouse/recordReads.ts';
import { FilterList } from '../shared/wire/filters.ts';
import { generateRecords, rareWords } from './recordData.ts';

const findColumn = columnFinder([metricColumn(toxicity)]);
const PAGE = 50;

/** Times pages of 50 with exact num_rows over one run of `--records N` (default 1,000,000), warm, `--rounds R` times each (default 20). */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { records: { type: 'string' }, rounds: { type: 'string' }, data: { type: 'string' } },
  });
  const records = Number(values.records ?? 1_000_000);
  const rounds = Number(values.rounds ?? 20);
  const dataDir = values.data ?? (await mkdtemp(join(tmpdir(), 'assay-bench-search-')));
  const clickhouse = openClickHouse({ dataDir });
  try {
    const target = { projectId: newId(), runId: newId(), records };
    console.log(`making ${records.toLocaleString('en')} records in one run …`);
    await generateRecords(clickhouse, target);
    await mergesDone(clickhouse);
    const [size] = await clickhouse.query({
      name: 'size on disk',
      sql: "SELECT toUInt32(sum(bytes_on_disk)) AS bytes, toUInt32(count()) AS parts FROM system.parts WHERE active AND table IN ('records', 'record_keys', 'metric_values')",
      row: (row) => row as { bytes: number; parts: number },
    });
    console.log(`${((size?.bytes ?? 0) / records).toFixed(0)} bytes on disk a record, ${size?.parts} parts`);
    const reads = clickHouseRecordReads(clickhouse);
    const someId = (await reads.page({ ...everything(target), offset: Math.floor(records / 3), limit: 1 })).keys[0]?.id;
    console.log(
      `${'question'.padEnd(34)}${'p50 ms'.padStart(9)}${'p95 ms'.padStart(9)}${'num_rows'.padStart(12)}${'× newest'.padStart(10)}`,
    );
    let newest: number | undefined;
    for (const [name, change] of questions(someId ?? newId())) {
      const query = { ...everything(target), ...change };
      const times: number[] = [];
      let total = 0;
      for (let round = 0; round < rounds + 2; round++) {
        const started = performance.now();
        total = (await searchRecords(reads, query, wholeRecords)).total;
        if (round >= 2) times.push(performance.now() - started); // the first two warm the caches
      }
      times.sort((a, b) => a - b);
      const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
      newest ??= at(0.95);
      console.log(
        `${name.padEnd(34)}${at(0.5).toFixed(1).padStart(9)}${at(0.95).toFixed(1).padStart(9)}${String(total).padStart(12)}${(at(0.95) / newest).toFixed(1).padStart(10)}`,
      );
    }
    console.log(`memory of the process: ${(process.memoryUsage.rss() / 1024 ** 2).toFixed(0)} MB`);
  } finally {
    await clickhouse.close();
    if (values.data === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** Waits for the merges that the fill started: they would take a core from every question. */
async function mergesDone(clickhouse: ClickHouse): Promise<void> {
  const merging = {
    name: 'merges',
    sql: 'SELECT count() AS running FROM system.merges',
    row: (row: unknown) => Number((row as { running: string }).running),
  };
  while (((await clickhouse.query(merging))[0] ?? 0) > 0) await setTimeout(500);
}

const wholeRecords: PageView = { metrics: 'all', includeCounts: false, includeMetricMetadata: false, truncate: false };

const everything = (run: { projectId: string; runId: string }): RecordPageQuery => ({
  run,
  kinds: recordKinds,
  filter: { and: [] },
  findColumn,
  offset: 0,
  limit: PAGE,
});

type Question = readonly [name: string, change: Partial<RecordPageQuery>];

function questions(someId: string): Question[] {
  const where = (...leaves: object[]) => ({ filter: { and: FilterList.parse(leaves) } });
  const number = (column_id: string, operator: string, value: number) => ({ type: 'number', column_id, operator, value });
  const input = (value: string) => where({ type: 'text', column_id: 'input', operator: 'contains', value });
  const sort = (id: string, ascending: boolean) => ({ sort: { column: findColumn(id), ascending } });
  return [
    ['newest page', {}],
    ['newest traces', { kinds: ['trace'] }],
    [
      'two-leaf filter',
      {
        kinds: spanKinds,
        ...where({ type: 'text', column_id: 'model', operator: 'eq', value: 'model-3' }, number('status_code', 'eq', 500)),
      },
    ],
    ['sort by name', sort('name', true)],
    ['sort by tokens', { kinds: spanKinds, ...sort('metrics/num_total_tokens', false) }],
    ['sort by a metric', sort('metrics/toxicity', false)],
    ['by id', where({ type: 'id', column_id: 'id', operator: 'eq', value: someId })],
    ['metric range, 0.1 %', where(number('metrics/toxicity', 'gt', 0.99))],
    ['metric range, 9 %', where(number('metrics/toxicity', 'gt', 0.1))],
    ['incomplete', where({ type: 'boolean', column_id: 'is_complete', operator: 'eq', value: false })],
    ['with children', where({ type: 'boolean', column_id: 'has_children', operator: 'eq', value: true })],
    ['offset 10,000', { offset: 10_000 }],
    ['text contains, 0.01 %', input(rareWords.rare)],
    ['text contains, 1 %', input(rareWords.uncommon)],
    ['text contains, 30 %', input(rareWords.common)],
    ['text contains, no record', input('no such words here')],
  ];
}
