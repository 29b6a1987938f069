import { pino } from 'pino';
import { assembleDomain } from '../shared/assemble.ts';
import type { Environment } from '../shared/childProcesses/childEnvironment.ts';
import { codeIsolation } from '../shared/childProcesses/codeIsolation.ts';
import { runProcess } from '../shared/childProcesses/runProcess.ts';
import { eventLoopLimits, watchEventLoop } from '../shared/concurrency/eventLoopWatch.ts';
import { readConfig } from '../shared/config/config.ts';
import { openServers } from '../shared/stores/openServers.ts';
import { connectTemporalWorker } from '../shared/stores/temporal/connect.ts';
import { temporalRunWorkflows } from '../shared/stores/temporal/runWorkflows.ts';
import { openMetricsServer } from '../shared/telemetry/metricsServer.ts';
import { openTelemetry } from '../shared/telemetry/telemetry.ts';
import { assembleActivities } from './assembleActivities.ts';
import { runnerModules } from './runners/moduleProcess.ts';
import { logTemporalTo, startWorker } from './worker.ts';
import { workerSettings } from './workerSettings.ts';

/** One worker process beside others, over servers. */
async function start(environment: Environment) {
  const config = readConfig(environment);
  const log = pino({ level: config.LOG_LEVEL, base: null });
  const telemetry = openTelemetry();
  logTemporalTo(log, telemetry);
  const opened = new AsyncDisposableStack();
  const metrics = opened.adopt(await openMetricsServer(config, telemetry), (it) => it.close());
  const servers = opened.adopt(await openServers(config, log, telemetry), (those) => those.close());
  // A worker starts no run, so it need not know what runs may be searched by.
  const workflows = temporalRunWorkflows(servers.client, () => []);
  const domain = assembleDomain(servers.stores, workflows, config, config.SECRET_KEYS as string, log, telemetry, environment);
  opened.defer(() => domain.integrations.outbound.close());
  opened.defer(() => domain.stop());
  const connection = opened.adopt(await connectTemporalWorker(servers.temporal), (it) => it.close());
  const activities = assembleActivities(domain, codeIsolation(runnerModules, config, environment, log), config);
  const worker = opened.adopt(await startWorker(connection, workerSettings(config), activities), (it) => it.stop());
  worker.finished.catch((err: unknown) => log.fatal({ err }, 'the worker broke'));
  opened.adopt(await watchEventLoop(eventLoopLimits(config, 1)), (watch) => watch.stop());
  log.info({ namespace: config.TEMPORAL_NAMESPACE, queues: config.WORKER_QUEUES, metrics: metrics.url }, 'the worker is ready');
  return { broken: worker.finished, stop: () => opened.disposeAsync() };
}

export const runWorker = (environment: Environment): Promise<void> =>
  runProcess(() => start(environment), { underNpm: environment.npm_lifecycle_event !== undefined });
