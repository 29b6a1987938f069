import { join } from 'node:path';
import type { Logger } from 'pino';
import { together } from '../concurrency/together.ts';
import type { Config } from '../config/config.ts';
import type { Coordination } from '../coordination/coordination.ts';
import { inProcessCoordination } from '../coordination/inProcess.ts';
import { folderProblem } from '../disk/diskProblem.ts';
import { keepSynced, syncDisk } from '../disk/diskSync.ts';
import type { Notices } from '../experiments/callerRows.ts';
import { inProcessNotices } from '../experiments/notices.ts';
import type { UpdateJournal } from '../records/notedUpdates.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { ClickHouse } from './clickhouse/clickHouse.ts';
import { openClickHouse } from './clickhouse/connect.ts';
import { brokenParts } from './clickhouse/tables/brokenParts.ts';
import { changeSettings, migrateTables, SAFE_MERGES } from './clickhouse/tables/tables.ts';
import { datasetRowTables } from './clickhouse/writes/datasetRows.ts';
import { rowAttemptsTable } from './clickhouse/writes/experimentRecords.ts';
import { openUpdateJournal } from './files/updateJournal.ts';
import { lockFolder } from './folderLock.ts';
import { openDatabase } from './postgres/connect.ts';
import type { Database } from './postgres/database.ts';
import { connectRedis } from './redis/connect.ts';
import { redisCoordination } from './redis/coordination.ts';
import { redisNotices } from './redis/notices.ts';

type StoreSettings = Pick<
  Config,
  | 'CLICKHOUSE_URL'
  | 'CLICKHOUSE_CONNECTIONS'
  | 'QUERY_MEMORY_MB'
  | 'DATABASE_URL'
  | 'POSTGRES_CONNECTIONS'
  | 'REDIS_URL'
  | 'DATA_DIR'
>;

type StoreTelemetry = Pick<Telemetry, 'add' | 'record'>;

export interface Stores {
  clickhouse: ClickHouse;
  database: Database;
  coordination: Coordination;
  notices: Notices;
  /** Where updates are noted before they are answered; absent where several processes may write. */
  updates?: UpdateJournal;
  /** Names the damage that the stores found when they were opened, a sentence each. */
  warnings: readonly string[];
  /** Says why the data folder cannot be written now; undefined when it can, and always over servers. */
  diskProblem(): string | undefined;
  close(): Promise<void>;
}

/**
 * Opens every store: a server where the configuration names one, else the embedded one in `DATA_DIR`. Schemas are brought up to date.
 * @param log hears of statements that were not answered in their time, and of connections that broke
 */
export async function openStores(
  config: StoreSettings,
  log?: Pick<Logger, 'error' | 'warn'>,
  telemetry?: StoreTelemetry,
): Promise<Stores> {
  const opened = new AsyncDisposableStack();
  try {
    const isEmbedded = !config.CLICKHOUSE_URL || !config.DATABASE_URL;
    if (isEmbedded) {
      opened.adopt(lockFolder(config.DATA_DIR), (lock) => lock.release());
      // A process that was killed may have left writes unsynced. They reach the disk before the stores replace any of them.
      await syncDisk(config.DATA_DIR);
      opened.defer(() => syncDisk(config.DATA_DIR));
    }
    const opening = [
      openRecords(config, opened, log, telemetry),
      openMetadata(config, opened, log, telemetry),
      openCoordination(config, opened),
    ] as const;
    const [{ clickhouse, warnings }, database, { coordination, notices }] = await together(opening);
    if (isEmbedded) {
      await syncDisk(config.DATA_DIR);
      opened.adopt(keepSynced(config.DATA_DIR, log), (syncing) => syncing.stop());
    }
    const isOnlyProcess = !config.CLICKHOUSE_URL && !config.DATABASE_URL;
    return {
      ...(isOnlyProcess && {
        updates: opened.adopt(openUpdateJournal(join(config.DATA_DIR, 'updates')), (journal) => journal.close()),
      }),
      clickhouse,
      database,
      coordination,
      notices,
      warnings,
      diskProblem: () => (isEmbedded ? folderProblem(config.DATA_DIR) : undefined),
      close: () => opened.disposeAsync(),
    };
  } catch (err) {
    await opened.disposeAsync().catch(() => undefined); // the first failure is the one to tell
    throw err;
  }
}

async function openRecords(
  { CLICKHOUSE_URL: url, CLICKHOUSE_CONNECTIONS, QUERY_MEMORY_MB, DATA_DIR }: StoreSettings,
  opened: AsyncDisposableStack,
  log: Pick<Logger, 'error' | 'warn'> | undefined,
  telemetry: StoreTelemetry | undefined,
): Promise<{ clickhouse: ClickHouse; warnings: string[] }> {
  const clickhouse = openClickHouse({
    ...(url ? { url, connections: CLICKHOUSE_CONNECTIONS } : { dataDir: join(DATA_DIR, 'clickhouse') }),
    ...(QUERY_MEMORY_MB !== undefined && { queryMemoryBytes: QUERY_MEMORY_MB * 1024 ** 2 }),
    onHang(statement, err) {
      telemetry?.add('assay_hung_statements_total', 1, { store: 'clickhouse' });
      log?.error({ err, statement }, 'a statement of the record store hangs and was given up');
    },
    onInsert: (table, seconds, stored) =>
      telemetry?.record('assay_insert_duration_seconds', seconds, { table, outcome: stored ? 'stored' : 'failed' }),
    onWait: (seconds) => telemetry?.record('assay_pool_wait_seconds', seconds, { store: 'clickhouse' }),
  });
  opened.defer(() => clickhouse.close());
  if (url) {
    await clickhouse.ping().catch((cause: unknown) => {
      const reason = rootMessage(cause).split('\n')[0];
      throw new Error(`cannot reach ClickHouse at ${new URL(url).host}: start it or correct CLICKHOUSE_URL (${reason})`, {
        cause,
      });
    });
  }
  await migrateTables(clickhouse);
  await datasetRowTables(clickhouse);
  await clickhouse.command({ name: 'create row_attempts', sql: rowAttemptsTable });
  for (const table of ['dataset_rows', 'dataset_row_ranges', 'row_attempts'])
    await changeSettings(clickhouse, table, SAFE_MERGES);
  const warnings = await brokenParts(clickhouse);
  for (const warning of warnings) log?.warn({ store: 'clickhouse' }, warning);
  return { clickhouse, warnings };
}

async function openMetadata(
  { DATABASE_URL: url, POSTGRES_CONNECTIONS, DATA_DIR }: StoreSettings,
  opened: AsyncDisposableStack,
  log: Pick<Logger, 'error' | 'warn'> | undefined,
  telemetry: StoreTelemetry | undefined,
): Promise<Database> {
  const server = url && {
    url,
    connections: POSTGRES_CONNECTIONS,
    onLate(statement: string, err: Error) {
      telemetry?.add('assay_hung_statements_total', 1, { store: 'postgres' });
      log?.error({ err, statement }, 'a statement of the metadata store was given up');
    },
    onWait: (seconds: number) => telemetry?.record('assay_pool_wait_seconds', seconds, { store: 'postgres' }),
    onLost: (err: Error) => log?.warn({ err }, 'a connection to the metadata store broke; it is made anew when it is needed'),
  };
  const database = await openDatabase(server || { directory: join(DATA_DIR, 'postgres') });
  opened.defer(() => database.close());
  return database;
}

async function openCoordination({ REDIS_URL: url }: StoreSettings, opened: AsyncDisposableStack) {
  if (!url) return { coordination: inProcessCoordination(), notices: inProcessNotices() };
  const redis = await connectRedis(url);
  const coordination = redisCoordination(redis);
  opened.defer(() => coordination.close());
  return { coordination, notices: await redisNotices(redis) };
}

function rootMessage(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause instanceof Error ? rootMessage(err.cause) : err.message || err.name;
}
