import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceClient } from '../../client/http.ts';
import { startTemporalDevServer } from '../../shared/stores/temporal/devServer.ts';
import { startClickHouseServer } from './clickhouseServer.ts';
import { findTestTemporal } from './findTestTemporal.ts';
import { ownPort } from './ownPort.ts';
import { startPostgresServer } from './postgresServer.ts';
import { startRedisServer } from './redisServer.ts';
import { API_KEY } from './testService.ts';

const ROOT = join(import.meta.dirname, '../..');

/** One api or worker process. After `kill` it can be started again, on its port. */
export interface ServicePart {
  pid(): number;
  start(): Promise<void>;
  /** Ends it with a signal and waits until it is gone. */
  end(signal: NodeJS.Signals): Promise<{ exitCode: number | null; output: string }>;
}

export interface ServiceApi extends ServicePart {
  url: string;
  client: ServiceClient;
}

/**
 * The servers that the processes of a distributed service share, each a process of its own that can be killed and started again.
 * @param root the checkout whose service it is
 */
export async function startServiceServers(
  programs: { postgres: string; redis: string },
  extra: Record<string, string> = {},
  root = ROOT,
) {
  const folder = await mkdtemp(join(tmpdir(), 'assay-servers-'));
  const clickhousePort = await ownPort();
  const startClickHouse = () => startClickHouseServer({ dataDir: join(folder, 'clickhouse'), port: clickhousePort });
  const path = await findTestTemporal(folder);
  const [postgres, redisAtFirst, clickhouseAtFirst, temporal] = await Promise.all([
    startPostgresServer(programs.postgres),
    startRedisServer(programs.redis),
    startClickHouse(),
    startTemporalDevServer({
      path,
      dataDir: folder,
      ip: '127.0.0.1',
      port: 0,
      uiPort: 0,
      namespace: 'default',
      environment: process.env,
      log: { info: console.log, warn: console.log },
    }),
  ]);
  let redis = redisAtFirst;
  let clickhouse = clickhouseAtFirst;
  const environment = {
    CLICKHOUSE_URL: clickhouse.url,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    TEMPORAL_ADDRESS: temporal.address,
    SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    ADMIN_API_KEY: API_KEY,
    ADMIN_EMAIL: 'admin@example.com',
    ADMIN_PASSWORD: 'Eight-characters-1',
    ...extra,
  };
  const parts: ServicePart[] = [];
  const part = (entry: string, ready: string, own: Record<string, string> = {}): ServicePart => {
    let child: ChildProcess | undefined;
    let output = '';
    const it: ServicePart = {
      pid: () => child?.pid ?? -1,
      async start() {
        output = '';
        const started = spawn(process.execPath, [join(root, entry)], {
          cwd: root,
          env: {
            PATH: process.env.PATH,
            HOME: process.env.HOME,
            NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
            ...environment,
            ...own,
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        child = started;
        await new Promise<void>((resolve, reject) => {
          for (const stream of [started.stdout, started.stderr])
            stream?.on('data', (chunk: Buffer) => {
              output += chunk;
              if (output.includes(ready)) resolve();
            });
          started.once('exit', (code) => reject(new Error(`${entry} ended (${code}) before it was ready:\n${output}`)));
        });
      },
      async end(signal) {
        if (child && child.exitCode === null && child.signalCode === null) {
          const gone = once(child, 'exit');
          child.kill(signal);
          await gone;
        }
        return { exitCode: child?.exitCode ?? null, output };
      },
    };
    parts.push(it);
    return it;
  };
  return {
    redis: {
      url: () => redis.url,
      kill: () => redis.kill(),
      async restart(): Promise<void> {
        redis = await startRedisServer(programs.redis, { port: redis.port });
      },
    },
    clickhouse: {
      url: () => clickhouse.url,
      pid: () => clickhouse.pid,
      kill: () => clickhouse.kill(),
      async restart(): Promise<void> {
        clickhouse = await startClickHouse();
      },
    },
    postgres,
    worker: (own: Record<string, string> = {}): ServicePart => part('workers/main.ts', 'the worker is ready', own),
    temporal: {
      address: temporal.address,
      program: path,
      /** It is started again by its guard. */
      kill: () => void process.kill(temporal.pid, 'SIGKILL'),
    },
    async api(own: Record<string, string> = {}): Promise<ServiceApi> {
      const port = await ownPort();
      const url = `http://127.0.0.1:${port}`;
      const client = new ServiceClient({ apiUrl: url, apiKey: API_KEY });
      return { ...part('api/main.ts', 'the api is ready', { PORT: String(port), ...own }), url, client };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(parts.map((one) => one.end('SIGKILL')));
      await Promise.all([redis.stop(), clickhouse.stop(), postgres.remove(), temporal.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A client behind a balancer that sends each request to the next api, and on to another when that one is away or not ready. */
export function balancedClient(apis: readonly ServiceApi[]): ServiceClient {
  const apiUrl = 'http://balanced';
  let turn = 0;
  return new ServiceClient({
    apiUrl,
    apiKey: API_KEY,
    async fetch(request, init) {
      const first = turn++;
      const send = (offset: number) => {
        const { url } = apis[(first + offset) % apis.length] as ServiceApi;
        return fetch(String(request).replace(apiUrl, url), init);
      };
      const answer = await send(0).catch(() => undefined);
      return answer === undefined || answer.status === 503 ? send(1) : answer;
    },
  });
}
