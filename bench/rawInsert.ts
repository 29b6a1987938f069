import { newId } from '../shared/identifiers/ids.ts';
import { LoggedTraces } from '../shared/recordSchemas/ingest.ts';
import { ingestTraces } from '../shared/records/ingest.ts';
import type { Block, NewRows, NewVersion, RecordStore } from '../shared/records/recordStore.ts';
import { RecordWriter } from '../shared/records/recordWriter.ts';
import { openClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { NativeBlock, nativeTypes } from '../shared/stores/clickhouse/tables/nativeBlock.ts';
import { addRecord } from '../shared/stores/clickhouse/tables/recordRow.ts';
import { lateIndexes, migrateTables, records } from '../shared/stores/clickhouse/tables/tables.ts';
import { traceMaker } from './payload.ts';

// The rows that ingest would store, inserted in the engine's own format in large batches: what it alone costs. Every index is built at once, so that
// the rows can be searched as those of the service can; with a third argument `late`, text indexes are left to merges. Prints one line of JSON.
const [dataDir, wanted, late] = process.argv.slice(2);
const BATCH = 10_000;
const BATCHES = Math.ceil(Number(wanted) / BATCH);

const types = nativeTypes(records.columns);
const blocks: Buffer[][] = [];
let rows: NewVersion[] = [];
const nothing: Block = { send: async () => {} };
const keep = ({ records: stored }: NewRows): Block => {
  rows.push(...stored);
  if (rows.length >= BATCH) {
    const block = new NativeBlock(types);
    for (const row of rows.splice(0, BATCH)) addRecord(block, row);
    blocks.push(block.finish());
  }
  return nothing;
};
const store: RecordStore = {
  keys: async () => [],
  spanKeys: async () => [],
  usageKeys: async () => [],
  deleted: async () => [],
  records: async () => [],
  recordsById: async () => [],
  places: async () => [],
  block: keep,
  removeMisplaced: async () => {},
};
const writer = new RecordWriter({ store });
const run = { projectId: newId(), runId: newId() };
const makeTrace = traceMaker(7);
for (let second = 0; blocks.length <= BATCHES; second += 100) {
  const traces = Array.from({ length: 100 }, (_, i) => makeTrace(new Date(Date.UTC(2026, 0, 1) + (second + i) * 1000)));
  await ingestTraces(writer, run, { traces: LoggedTraces.parse(traces), isComplete: true });
}

const clickhouse = openClickHouse({ dataDir: dataDir as string });
await migrateTables(clickhouse);
rows = [];
const bytes = blocks.flat().reduce((sum, piece) => sum + piece.length, 0);
const bytesPerRow = bytes / ((BATCHES + 1) * BATCH);
const leftToMerges = late === 'late' ? lateIndexes(records) : [];
const insert = (native: Buffer[]) =>
  clickhouse.insertInOrder([[{ table: 'records', native, token: newId(), lateIndexes: leftToMerges }]]);
const cpuUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
const untilIdle = async () => {
  for (let before = cpuUs(), used = Number.POSITIVE_INFINITY; used > 25_000; ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    used = cpuUs() - before;
    before += used;
  }
};
await insert(blocks.pop() as Buffer[]); // warms up, as the service is
await untilIdle();
const before = cpuUs();
for (const block of blocks) await insert(block);
await untilIdle();
console.log(
  JSON.stringify({
    rows: BATCH * BATCHES,
    cpuUs: (cpuUs() - before) / (BATCH * BATCHES),
    bytesPerRow,
  }),
);
process.exit(0);
