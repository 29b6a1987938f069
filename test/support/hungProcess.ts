import { join } from 'node:path';
import { runProcess } from '../../shared/childProcesses/runProcess.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { namedPipe } from './namedPipe.ts';

/**
 * A process of the service whose record store hangs in some inserts, each into a pipe that no process reads and given up after half a second. Its
 * arguments are the folder of the store and the number of inserts.
 */
const [folder = '', count = '0'] = process.argv.slice(2);
await runProcess(
  async () => {
    const clickhouse = openClickHouse({
      dataDir: join(folder, 'clickhouse'),
      limits: { insertSeconds: 0.5, cancelSeconds: 0.1 },
    });
    const pipe = namedPipe(join(folder, 'pipe'));
    await clickhouse.command({ name: 'piped', sql: `CREATE TABLE piped (n UInt64) ENGINE = File(JSONEachRow, '${pipe}')` });
    for (let n = 0; n < Number(count); n++)
      await clickhouse.insert({ table: 'piped', rows: [{ n }], token: `${n}` }).catch(() => undefined);
    process.stdout.write('ready\n');
    return { broken: clickhouse.broken, stop: () => clickhouse.close() };
  },
  { underNpm: false },
);
