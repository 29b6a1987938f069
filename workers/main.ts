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
  const servers = await openServers(config);
  const domain = assembleDomain(servers.stores, temporalRunWorkflows(servers.client), config, config.SECRET_KEYS as string, log);
  const connection = await connectTemporalWorker({ address: config.TEMPORAL_ADDRESS as string, apiKey: config.TEMPORAL_API_KEY });
  const worker = await startWorker(connection, config.TEMPORAL_NAMESPACE, assembleActivities(domain, process.env));
  log.info({ namespace: config.TEMPORAL_NAMESPACE }, 'the worker is ready');
  worker.finished.catch((err: unknown) => {
    log.fatal({ err }, 'the worker broke');
    process.exit(1);
  });
  return {
    stop: async () => {
      await worker.stop();
      await connection.close();
      await domain.outbound.close();
      await servers.close();
    },
  };
}

await runProcess(start, { underNpm: process.env.npm_lifecycle_event !== undefined });
