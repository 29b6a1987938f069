import { newId } from '../shared/ids.ts';
import { ingestTraces } from '../shared/records/ingest.ts';
import type { StoredRecord } from '../shared/records/record.ts';
import type { Block, RecordStore } from '../shared/records/recordStore.ts';
import { RecordWriter } from '../shared/records/recordWriter.ts';
import { openClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { toRow } from '../shared/stores/clickhouse/recordRow.ts';
import { migrateTables } from '../shared/stores/clickhouse/tables.ts';
import { LoggedTraces } from '../shared/wire/ingest.ts';
import { traceMaker } from './payload.ts';

// The rows that ingest would store, inserted as bytes in large batches: what the engine alone costs. Prints one line of JSON.
const [dataDir, wanted] = process.argv.slice(2);
const BATCH = 10_000;
const BATCHES = Math.ceil(Number(wanted) / BATCH);

const rows: string[] = [];
const nothing: Block = { send: async () => {} };
const keep = (records: readonly StoredRecord[]): Block => {
  for (const record of records) rows.push(JSON.stringify(toRow(record)));
  return nothing;
};
const store: RecordStore = {
  keys: async () => [],
  spanKeys: async () => [],
  records: async () => [],
  keyBlock: () => nothing,
  valueBlock: () => nothing,
  recordBlock: keep,
};
const writer = new RecordWriter({ store });
const run = { projectId: newId(), runId: newId() };
const makeTrace = traceMaker(7);
for (let second = 0; rows.length < BATCH * (BATCHES + 1); second += 100) {
  const traces = Array.from({ length: 100 }, (_, i) => makeTrace(new Date(Date.UTC(2026, 0, 1) + (second + i) * 1000)));
  await ingestTraces(writer, run, { traces: LoggedTraces.parse(traces), isComplete: true });
}

const clickhouse = openClickHouse({ dataDir: dataDir as string });
await migrateTables(clickhouse);
const blocks = Array.from({ length: BATCHES + 1 }, (_, i) => Buffer.from(rows.slice(i * BATCH, (i + 1) * BATCH).join('\n')));
const bytesPerRow = blocks.reduce((sum, block) => sum + block.length, 0) / ((BATCHES + 1) * BATCH);
rows.length = 0;
const insert = (block: Buffer) => clickhouse.insert({ table: 'records', rows: block, token: newId() });
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
await insert(blocks.pop() as Buffer); // warms up, as the service is
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
