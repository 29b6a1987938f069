import { pino } from 'pino';
import { assembleDomain } from '../shared/assemble.ts';
import type { Environment } from '../shared/childProcesses/childEnvironment.ts';
import { runProcess } from '../shared/childProcesses/runProcess.ts';
import { eventLoopLimits, watchEventLoop } from '../shared/concurrency/eventLoopWatch.ts';
import { readConfig } from '../shared/config/config.ts';
import { openServers } from '../shared/stores/openServers.ts';
import { pingTemporal } from '../shared/stores/temporal/connect.ts';
import { temporalNamespace } from '../shared/stores/temporal/prepareNamespace.ts';
import { queueWorkers } from '../shared/stores/temporal/queueWorkers.ts';
import { temporalRunWorkflows } from '../shared/stores/temporal/runWorkflows.ts';
import { openMetricsServer } from '../shared/telemetry/metricsServer.ts';
import { openTelemetry } from '../shared/telemetry/telemetry.ts';
import { assembleApi } from './assembleApi.ts';
import { listen } from './server.ts';

/** One api process beside others, over servers. */
async function start(environment: Environment) {
  const config = readConfig(environment);
  const log = pino({ level: config.LOG_LEVEL, base: null });
  const server = await listen(config.HOST, config.PORT);
  const telemetry = openTelemetry();
  const opened = new AsyncDisposableStack();
  const metrics = opened.adopt(await openMetricsServer(config, telemetry), (it) => it.close());
  const servers = opened.adopt(await openServers(config, log, telemetry), (those) => those.close());
  const secretKeys = config.SECRET_KEYS as string;
  const namespace = temporalNamespace(servers.connection, servers.client, config.TEMPORAL_NAMESPACE, log);
  const workflows = temporalRunWorkflows(servers.client, namespace.searchAttributes);
  const domain = assembleDomain(servers.stores, workflows, config, secretKeys, log, telemetry, environment);
  opened.defer(() => domain.integrations.outbound.close());
  const api = await assembleApi(domain, config, {
    stopping: server.stopping,
    pingTemporal: () => pingTemporal(servers.connection, config.TEMPORAL_NAMESPACE),
    queueWorkers: queueWorkers(servers.client),
    prepareTemporal: namespace.prepare,
    startJobs: namespace.startJobs,
    temporalPagesUrl: undefined,
    keepCredentials() {},
  });
  opened.defer(() => api.stop());
  const { administrator } = api;
  if (administrator.created) {
    // Not through the log, whose level could hide the only chance to read them.
    const { email, password, apiKey } = administrator;
    if (!config.ADMIN_PASSWORD) process.stdout.write(`first administrator, shown this once: ${email}, password ${password}\n`);
    if (!config.ADMIN_API_KEY) process.stdout.write(`first administrator's API key, shown this once: ${apiKey}\n`);
  }
  opened.adopt(await watchEventLoop(eventLoopLimits(config, 1)), (watch) => watch.stop());
  server.serve(api.app);
  log.info({ url: config.PUBLIC_URL ?? server.url, metrics: metrics.url }, 'the api is ready');
  return {
    async stop() {
      await server.close();
      await opened.disposeAsync();
    },
  };
}

export const runApi = (environment: Environment): Promise<void> =>
  runProcess(() => start(environment), { underNpm: environment.npm_lifecycle_event !== undefined });
