import type { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { parseSecretKeys } from '../integrations/secrets.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { openStores, type Stores } from './open.ts';
import { connectTemporal, type TemporalAddress, temporalAddress } from './temporal/connect.ts';

export interface Servers {
  stores: Stores;
  temporal: TemporalAddress;
  client: Client;
  connection: Connection;
  close(): Promise<void>;
}

const needed = ['CLICKHOUSE_URL', 'DATABASE_URL', 'REDIS_URL', 'TEMPORAL_ADDRESS', 'SECRET_KEYS'] as const;

/**
 * Connects the servers that an api or worker process of its own shares with the others. The embedded stores belong to one process alone.
 * @throws Error naming every setting that is missing, or the server that does not answer.
 */
export async function openServers(config: Config, log: Pick<Logger, 'error' | 'warn'>, telemetry: Telemetry): Promise<Servers> {
  const missing = needed.filter((name) => config[name] === undefined);
  if (missing.length > 0)
    throw new Error(
      `not set: ${missing.join(', ')}. A process of its own needs servers that it can share; "npm start" runs everything in one process without any`,
    );
  parseSecretKeys(config.SECRET_KEYS as string);
  const temporal = temporalAddress(config) as TemporalAddress;
  const opened = new AsyncDisposableStack();
  try {
    const stores = opened.adopt(await openStores(config, log, telemetry), (those) => those.close());
    const { connection, client } = await connectTemporal({ ...temporal, namespace: config.TEMPORAL_NAMESPACE });
    opened.defer(() => connection.close());
    return { stores, temporal, client, connection, close: () => opened.disposeAsync() };
  } catch (err) {
    await opened.disposeAsync().catch(() => undefined); // the first failure is the one to tell
    throw err;
  }
}
