import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { assembleApi } from './api/assembleApi.ts';
import { buildConsole } from './api/console/buildConsole.ts';
import { type Listening, listen } from './api/server.ts';
import { temporalPages } from './api/temporalPages/temporalPages.ts';
import { assembleDomain } from './shared/assemble.ts';
import type { Environment } from './shared/childProcesses/childEnvironment.ts';
import { codeIsolation } from './shared/childProcesses/codeIsolation.ts';
import { runProcess } from './shared/childProcesses/runProcess.ts';
import { eventLoopLimits, watchEventLoop } from './shared/concurrency/eventLoopWatch.ts';
import { together } from './shared/concurrency/together.ts';
import { type Config, readConfig } from './shared/config/config.ts';
import { queueNames } from './shared/config/taskQueues.ts';
import { secretKeysOf } from './shared/integrations/secretKeys.ts';
import { releaseMemoryOfStart } from './shared/processMemory/releaseMemoryOfStart.ts';
import { openDataFolder, requireRoom } from './shared/stores/dataFolder.ts';
import { openStores } from './shared/stores/open.ts';
import { connectTemporal, connectTemporalWorker, pingTemporal, temporalAddress } from './shared/stores/temporal/connect.ts';
import { startTemporalDevServer } from './shared/stores/temporal/devServer.ts';
import { defaultCacheDir, findTemporal } from './shared/stores/temporal/findTemporal.ts';
import { temporalNamespace } from './shared/stores/temporal/prepareNamespace.ts';
import { queueWorkers } from './shared/stores/temporal/queueWorkers.ts';
import { temporalRunWorkflows } from './shared/stores/temporal/runWorkflows.ts';
import { temporalRelease } from './shared/stores/temporal/temporalRelease.ts';
import { openMetricsServer } from './shared/telemetry/metricsServer.ts';
import { openTelemetry } from './shared/telemetry/telemetry.ts';
import { assembleActivities } from './workers/assembleActivities.ts';
import { runnerModules } from './workers/runners/moduleProcess.ts';
import { logTemporalTo, type RunningWorker, startWorker } from './workers/worker.ts';
import { workerSettings } from './workers/workerSettings.ts';

export interface Service {
  url: string;
  /** `PUBLIC_URL`, or where it listens: for people to open. */
  publicUrl: string;
  /** Temporal's own pages, where the service runs its own Temporal: for administrators, with their password. */
  temporalUiUrl: string | undefined;
  /** Where the metrics of the process are read, where `METRICS_PORT` is set. */
  metricsUrl: string | undefined;
  /** Address of the Temporal server that it uses: `host:port`. */
  temporalAddress: string;
  email: string;
  /** Set by the start that created the administrator. */
  created: { password: string; apiKey: string } | undefined;
  /** Rejects when the service cannot go on. */
  broken: Promise<void>;
  /** Rejects when a store is lost with which nothing can be closed. */
  lost: Promise<never>;
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Parse every reply with its schema (tests). */
  checkReplies?: boolean;
  /** Gives the start up: it then rejects, with everything closed. */
  signal?: AbortSignal;
}

/**
 * The embedded service: stores, Temporal, API and worker in this one process (Temporal's server as its child). A part that the environment names
 * a server for is used from there instead.
 * @param say lines for the person who starts it
 */
export async function startService(
  environment: Environment,
  say: (line: string) => void,
  { checkReplies = false, signal }: StartOptions = {},
): Promise<Service> {
  const config = readConfig(environment);
  const log = pino({ level: config.LOG_LEVEL, base: null }, pino.destination({ fd: 2, sync: true }));
  const server = await listen(config.HOST, config.PORT);
  const telemetry = openTelemetry();
  const opened = new AsyncDisposableStack();
  let worker: RunningWorker | undefined;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    // Requests and rows under way get their time to end at once, not one after the other.
    stopped ??= Promise.all([server.close(), worker?.stop()]).then(() => opened.disposeAsync());
    return stopped;
  };
  try {
    logTemporalTo(log, telemetry);
    const metrics = opened.adopt(await openMetricsServer(config, telemetry), (it) => it.close());
    say(`Assay is starting; its data is in ${config.DATA_DIR}`);
    openDataFolder(config.DATA_DIR);
    requireRoom(config.DATA_DIR);
    const storesFailed = new AbortController();
    const openOwn = async () => {
      try {
        const stores = opened.adopt(await openStores(config, log, telemetry), (those) => those.close());
        for (const warning of stores.warnings) say(warning);
        return { stores, secretKeys: secretKeysOf(config.SECRET_KEYS, config.DATA_DIR) };
      } catch (err) {
        storesFailed.abort(err); // the message must not wait for Temporal's download
        throw err;
      }
    };
    const givenUp = AbortSignal.any([storesFailed.signal, ...(signal ? [signal] : [])]);
    const [{ stores, secretKeys }, temporal] = await together([
      openOwn(),
      openTemporal(config, environment, say, log, opened, givenUp),
    ]);
    signal?.throwIfAborted();
    const domain = assembleDomain(
      stores,
      temporalRunWorkflows(temporal.client, temporal.namespace.searchAttributes),
      config,
      secretKeys,
      log,
      telemetry,
      environment,
    );
    opened.defer(() => domain.integrations.outbound.close());

    const api = await assembleApi(domain, config, {
      stopping: server.stopping,
      pingTemporal: temporal.ping,
      queueWorkers: queueWorkers(temporal.client),
      prepareTemporal: temporal.namespace.prepare,
      startJobs: temporal.namespace.startJobs,
      temporalPagesUrl: temporal.pages?.server.url,
      keepCredentials: (credentials) => keepCredentials(config, credentials),
      checkReplies,
    });
    opened.defer(() => api.stop());

    const connection = opened.adopt(await connectTemporalWorker(temporal.address), (it) => it.close());
    signal?.throwIfAborted();
    const activities = assembleActivities(domain, codeIsolation(runnerModules, config, environment, log), config);
    // The one process serves every queue, and its open runs never wait for another build of it.
    const settings = { ...workerSettings(config), queues: queueNames, deployment: undefined };
    worker = opened.adopt(await startWorker(connection, settings, activities), (it) => it.stop());
    worker.finished.catch((err: unknown) => log.fatal({ err }, 'the worker broke'));
    opened.adopt(await watchEventLoop(eventLoopLimits(config, 2)), (watch) => watch.stop());
    server.serve(api.app);
    opened.defer(() => rmSync(addressFile(config), { force: true }));
    writeFileSync(addressFile(config), `${JSON.stringify({ url: server.url })}\n`, { mode: 0o600 });
    if (temporal.pages) {
      const { server: pages, upstream } = temporal.pages;
      pages.serve(temporalPages({ gate: api.gate, log, upstream, url: pages.url, apiKeyHeaders: config.API_KEY_HEADERS }));
    }
    return {
      url: server.url,
      publicUrl: config.PUBLIC_URL ?? server.url,
      temporalUiUrl: temporal.pages?.server.url,
      metricsUrl: metrics.url,
      temporalAddress: temporal.address.address,
      email: api.administrator.email,
      created: api.administrator.created ? { password: api.administrator.password, apiKey: api.administrator.apiKey } : undefined,
      broken: Promise.race([worker.finished, stores.clickhouse.broken]),
      lost: stores.database.lost,
      stop,
    };
  } catch (err) {
    await stop().catch((inner: unknown) => log.error({ err: inner }, 'closing after a failed start failed too'));
    throw err;
  }
}

/** The Temporal server that the configuration names, or one of our own as a child process. */
async function openTemporal(
  config: Config,
  environment: Environment,
  say: (line: string) => void,
  log: Logger,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
) {
  let pages: { server: Listening; upstream: string } | undefined;
  let at = temporalAddress(config);
  if (!at) {
    const own = opened.adopt(await listen('127.0.0.1', config.TEMPORAL_UI_PORT, 'TEMPORAL_UI_PORT'), (it) => it.close());
    const path = await findTemporal({
      dataDir: config.DATA_DIR,
      cacheDir: defaultCacheDir(environment.XDG_CACHE_HOME),
      environment,
      release: temporalRelease,
      onProgress: say,
      signal,
    });
    signal.throwIfAborted(); // in a folder that another process has nothing is started
    const server = await startTemporalDevServer({
      path,
      dataDir: config.DATA_DIR,
      ip: '127.0.0.1',
      port: config.TEMPORAL_PORT,
      uiPort: 0, // any: people come through the login before it
      namespace: config.TEMPORAL_NAMESPACE,
      environment,
      log: { info: say, warn: say },
    });
    opened.defer(() => server.stop());
    at = { address: server.address };
    pages = { server: own, upstream: server.uiUrl };
  }
  const { connection, client } = await connectTemporal({
    ...at,
    namespace: config.TEMPORAL_NAMESPACE,
    // A server of our own is there; on a busy machine its first answer was seen to take more than thirty seconds.
    ...(config.TEMPORAL_ADDRESS ? {} : { connectTimeoutMs: 120_000 }),
  });
  opened.defer(() => connection.close());
  const ping = () => pingTemporal(connection, config.TEMPORAL_NAMESPACE);
  const namespace = temporalNamespace(connection, client, config.TEMPORAL_NAMESPACE, log);
  return { address: at, client, pages, ping, namespace };
}

/**
 * Keeps the credentials of the first administrator where only the owner of the data folder can read them, before the administrator is
 * created: a crash in between costs nothing, since the next start creates the administrator anew.
 */
function keepCredentials(config: Config, credentials: { email: string; password: string; apiKey: string }): void {
  const generated = generatedOf(config, credentials);
  if (Object.keys(generated).length === 0) return;
  const path = join(config.DATA_DIR, 'credentials.json');
  rmSync(path, { force: true }); // the mode counts only for a new file
  writeFileSync(path, `${JSON.stringify({ email: credentials.email, ...generated }, null, 2)}\n`, { mode: 0o600 });
}

/** Where the command line looks for the service of a folder: its port may be any. */
const addressFile = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'address.json');

const generatedOf = (
  { ADMIN_PASSWORD, ADMIN_API_KEY }: Pick<Config, 'ADMIN_PASSWORD' | 'ADMIN_API_KEY'>,
  { password, apiKey }: { password: string; apiKey: string },
): { password?: string; api_key?: string } => ({
  ...(ADMIN_PASSWORD ? {} : { password }),
  ...(ADMIN_API_KEY ? {} : { api_key: apiKey }),
});

/** Runs the service until it ends, and says on standard output where it is. */
export async function runService(environment: Environment): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const start = async (signal: AbortSignal) => {
    await buildConsole(say);
    const began = performance.now();
    const service = await startService(environment, say, { signal });
    releaseMemoryOfStart();
    const generated = service.created ? generatedOf(readConfig(environment), service.created) : {};
    const lines = [
      `Assay is ready after ${((performance.now() - began) / 1_000).toFixed(1)} s`,
      `  console     ${service.publicUrl}/console`,
      `  API         ${service.publicUrl}`,
      `  API docs    ${service.publicUrl}/docs`,
      ...(service.temporalUiUrl ? [`  Temporal UI ${service.temporalUiUrl} (log in with the account below)`] : []),
      ...(service.metricsUrl ? [`  metrics     ${service.metricsUrl}`] : []),
      `  account     ${service.email}`,
      ...(generated.password ? [`  password    ${generated.password}`] : []),
      ...(generated.api_key ? [`  API key     ${generated.api_key}`] : []),
      ...(Object.keys(generated).length > 0 ? ['  (shown this once; kept in credentials.json of the data folder)'] : []),
    ];
    say(lines.join('\n'));
    return service;
  };
  await runProcess(start, { underNpm: environment.npm_lifecycle_event !== undefined });
}
