import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Coordination } from '../coordination/coordination.ts';
import { inProcessCoordination } from '../coordination/inProcess.ts';
import type { Notices } from '../experiments/callerRows.ts';
import { inProcessNotices } from '../experiments/notices.ts';
import { type ClickHouse, openClickHouse } from './clickhouse/connect.ts';
import { datasetRowTables } from './clickhouse/datasetRows.ts';
import { rowAttemptsTable } from './clickhouse/experimentRecords.ts';
import { migrateTables } from './clickhouse/tables.ts';
import { lockFolder } from './folderLock.ts';
import { type Database, openDatabase } from './postgres/connect.ts';
import { connectRedis } from './redis/connect.ts';
import { redisCoordination } from './redis/coordination.ts';
import { redisNotices } from './redis/notices.ts';

export interface Stores {
  clickhouse: ClickHouse;
  database: Database;
  coordination: Coordination;
  notices: Notices;
  close(): Promise<void>;
}

/** Opens every store: a server where the configuration names one, else the embedded one in `DATA_DIR`. Schemas are brought up to date. */
export async function openStores(
  config: Pick<Config, 'CLICKHOUSE_URL' | 'DATABASE_URL' | 'REDIS_URL' | 'DATA_DIR'>,
): Promise<Stores> {
  const opened: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const closeOne of opened.reverse()) await closeOne();
  };
  try {
    if (!config.CLICKHOUSE_URL || !config.DATABASE_URL) {
      const lock = await lockFolder(config.DATA_DIR);
      opened.push(() => lock.release());
    }
    const openRecords = async () => {
      const clickhouse = openClickHouse(
        config.CLICKHOUSE_URL ? { url: config.CLICKHOUSE_URL } : { dataDir: join(config.DATA_DIR, 'clickhouse') },
      );
      opened.push(() => clickhouse.close());
      await migrateTables(clickhouse);
      await datasetRowTables(clickhouse);
      await clickhouse.command({ name: 'create row_attempts', sql: rowAttemptsTable });
      return clickhouse;
    };
    const openMetadata = async () => {
      const database = await openDatabase(
        config.DATABASE_URL ? { url: config.DATABASE_URL } : { directory: join(config.DATA_DIR, 'postgres') },
      );
      opened.push(() => database.close());
      return database;
    };
    const openCoordination = async () => {
      if (!config.REDIS_URL) return { coordination: inProcessCoordination(), notices: inProcessNotices() };
      const redis = await connectRedis(config.REDIS_URL);
      const coordination = redisCoordination(redis);
      opened.push(() => coordination.close());
      return { coordination, notices: await redisNotices(redis) };
    };
    const [clickhouse, database, { coordination, notices }] = await Promise.all([
      openRecords(),
      openMetadata(),
      openCoordination(),
    ]);
    return { clickhouse, database, coordination, notices, close };
  } catch (err) {
    await close().catch(() => undefined);
    throw err;
  }
}
