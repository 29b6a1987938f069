import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { recordApp } from './recordService.ts';

// A process that serves the record routes over the data folder it is given, and says on which port.
const [dataDir] = process.argv.slice(2);
const clickhouse = openClickHouse({ dataDir: dataDir as string });
await migrateTables(clickhouse);
const server = recordApp(clickhouse, { checkReplies: false }).app.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
