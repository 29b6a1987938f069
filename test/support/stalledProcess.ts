import { createInterface } from 'node:readline';
import { openBodyBounds } from '../../api/http/bodyBounds.ts';
import { listen } from '../../api/server.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { recordApp } from './recordService.ts';

// A process that serves the record routes over the data folder it is given, taking so many bytes at a time, and says on which port. The line
// `close` on its input stalls the store: nothing is stored until the line `open`.
const [dataDir, bodyBytes] = process.argv.slice(2);
const clickhouse = openClickHouse({ dataDir: dataDir as string });
await migrateTables(clickhouse);
let gate = Promise.withResolvers<void>();
gate.resolve();
const store = clickhouseRecordStore(clickhouse);
const { app } = recordApp(clickhouse, {
  checkReplies: false,
  bodies: openBodyBounds({ memoryBytes: Number(bodyBytes) }),
  store: {
    ...store,
    block(rows) {
      const block = store.block(rows);
      return {
        async send() {
          await gate.promise;
          await block.send();
        },
      };
    },
  },
});
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'close') gate = Promise.withResolvers();
  else gate.resolve();
});
const server = await listen('127.0.0.1', 0);
server.serve(app);
console.log(JSON.stringify({ port: Number(new URL(server.url).port) }));
