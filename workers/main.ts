import { pino } from 'pino';
import { assembleDomain } from '../shared/assemble.ts';
import { readConfig } from '../shared/config.ts';
import { runProcess } from '../shared/runProcess.ts';
import { openServers } from '../shared/stores/openServers.ts';
import { connectTemporalWorker } from '../shared/stores/temporal/connect.ts';
import { temporalRunWorkflows } from '../shared/stores/temporal/runWorkflows.ts';
import { assembleActivities } from './assembleActivities.ts';
import { logTemporalTo, startWorker } from './worker.ts';

/** One worker process beside others, over servers. */
async function start() {
  const config = readConfig(process.env);
  const log = pino({ level: config.LOG_LEVEL, base: null });
  logTemporalTo(log);
  const opened = new AsyncDisposableStack();
  const servers = opened.adopt(await openServers(config), (those) => those.close());
  const workflows = temporalRunWorkflows(servers.client);
  const domain = assembleDomain(servers.stores, workflows, config, config.SECRET_KEYS as string, log);
  opened.defer(() => domain.outbound.close());
  const at = { address: config.TEMPORAL_ADDRESS as string, apiKey: config.TEMPORAL_API_KEY };
  const connection = opened.adopt(await connectTemporalWorker(at), (it) => it.close());
  const activities = assembleActivities(domain, process.env);
  const worker = opened.adopt(await startWorker(connection, config.TEMPORAL_NAMESPACE, activities), (it) => it.stop());
  worker.finished.catch((err: unknown) => log.fatal({ err }, 'the worker broke'));
  log.info({ namespace: config.TEMPORAL_NAMESPACE }, 'the worker is ready');
  return { broken: worker.finished, stop: () => opened.disposeAsync() };
}

await runProcess(start, { underNpm: process.env.npm_lifecycle_event !== undefined });
