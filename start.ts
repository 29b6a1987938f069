import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { assembleApi } from './api/assembleApi.ts';
import { listen } from './api/server.ts';
import { assembleDomain } from './shared/assemble.ts';
import { type Config, readConfig } from './shared/config.ts';
import { runProcess } from './shared/runProcess.ts';
import { secretKeysOf } from './shared/secretKeys.ts';
import { openStores } from './shared/stores/open.ts';
import { connectTemporal, connectTemporalWorker, ensureSearchAttributes } from './shared/stores/temporal/connect.ts';
import { startTemporalDevServer } from './shared/stores/temporal/devServer.ts';
import { defaultCacheDir, findTemporal, temporalDownloads } from './shared/stores/temporal/findTemporal.ts';
import { temporalRunWorkflows } from './shared/stores/temporal/runWorkflows.ts';
import { assembleActivities } from './workers/assembleActivities.ts';
import { logTemporalTo, startWorker } from './workers/worker.ts';

export interface Service {
  url: string;
  /** Temporal's own pages, where the service runs its own Temporal. */
  temporalUiUrl: string | undefined;
  email: string;
  /** Set by the start that created the administrator. */
  created: { password: string; apiKey: string } | undefined;
  stop(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The embedded service: stores, Temporal, API and worker in this one process (Temporal's server as its child). A part that the environment names
 * a server for is used from there instead.
 * @param say lines for the person who starts it
 * @param options.checkReplies parse every reply with its schema (tests)
 */
export async function startService(
  environment: Environment,
  say: (line: string) => void,
  options: { checkReplies?: boolean } = {},
): Promise<Service> {
  const config = readConfig(environment);
  const log = pino({ level: config.LOG_LEVEL, base: null }, pino.destination({ fd: 2, sync: true }));
  const opened: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of opened.splice(0).reverse()) await close();
  };
  try {
    logTemporalTo(log);
    const stores = await openStores(config);
    opened.push(() => stores.close());
    const secretKeys = secretKeysOf(config.SECRET_KEYS, config.DATA_DIR);
    const temporal = await openTemporal(config, environment, say, opened);
    const workflows = temporalRunWorkflows(temporal.client);
    const domain = assembleDomain(stores, workflows, config, secretKeys, log);
    opened.push(() => domain.outbound.close());

    const api = await assembleApi(domain, stores, config, secretKeys, { pingTemporal: temporal.ping, ...options });
    opened.push(() => api.stop());
    if (api.administrator.created) keepCredentials(config.DATA_DIR, api.administrator);

    const nativeConnection = await connectTemporalWorker(temporal.address);
    opened.push(() => nativeConnection.close());
    const worker = await startWorker(nativeConnection, config.TEMPORAL_NAMESPACE, assembleActivities(domain, environment));
    opened.push(() => worker.stop());

    const server = await listen(api.app, config.HOST, config.PORT);
    opened.push(() => server.close());
    worker.finished.catch((err: unknown) => {
      log.fatal({ err }, 'the worker broke');
      process.exitCode = 1;
      return stop();
    });
    return {
      url: server.url,
      temporalUiUrl: temporal.uiUrl,
      email: api.administrator.email,
      created: api.administrator.created ? { password: api.administrator.password, apiKey: api.administrator.apiKey } : undefined,
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
  opened: (() => Promise<unknown>)[],
) {
  let uiUrl: string | undefined;
  let address = config.TEMPORAL_ADDRESS;
  if (!address) {
    const path = await findTemporal({
      dataDir: config.DATA_DIR,
      cacheDir: defaultCacheDir(environment.XDG_CACHE_HOME),
      searchPath: environment.PATH,
      downloads: temporalDownloads,
      onProgress: say,
    });
    const server = await startTemporalDevServer({
      path,
      dataDir: config.DATA_DIR,
      ip: '127.0.0.1',
      port: config.TEMPORAL_PORT,
      uiPort: config.TEMPORAL_UI_PORT,
      namespace: config.TEMPORAL_NAMESPACE,
      log: { info: say, warn: say },
    });
    opened.push(() => server.stop());
    address = server.address;
    uiUrl = server.uiUrl;
  }
  const at = { address, apiKey: config.TEMPORAL_API_KEY };
  const { connection, client } = await connectTemporal({ ...at, namespace: config.TEMPORAL_NAMESPACE });
  opened.push(() => connection.close());
  await ensureSearchAttributes(connection, config.TEMPORAL_NAMESPACE);
  const ping = async () => void (await connection.workflowService.describeNamespace({ namespace: config.TEMPORAL_NAMESPACE }));
  return { address: at, client, uiUrl, ping };
}

/** The first administrator's credentials, for the person who started the service: shown once, and kept where only they can read. */
function keepCredentials(
  dataDir: string,
  { email, password, apiKey }: { email: string; password: string; apiKey: string },
): void {
  writeFileSync(join(dataDir, 'credentials.json'), `${JSON.stringify({ email, password, api_key: apiKey }, null, 2)}\n`, {
    mode: 0o600,
  });
}

if (import.meta.main) {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const start = async () => {
    const began = performance.now();
    const service = await startService(process.env, say);
    say(`Assay is ready after ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    say(`  API         ${service.url}`);
    say(`  API docs    ${service.url}/docs`);
    if (service.temporalUiUrl) say(`  Temporal UI ${service.temporalUiUrl}`);
    say(`  account     ${service.email}`);
    if (service.created) {
      say(`  password    ${service.created.password}   (shown this once; kept in credentials.json of the data folder)`);
      say(`  API key     ${service.created.apiKey}`);
    }
    return service;
  };
  await runProcess(start, { underNpm: process.env.npm_lifecycle_event !== undefined });
}
