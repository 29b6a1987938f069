import { pino } from 'pino';
import { assembleDomain } from '../shared/assemble.ts';
import { readConfig } from '../shared/config.ts';
import { runProcess } from '../shared/runProcess.ts';
import { openServers } from '../shared/stores/openServers.ts';
import { temporalRunWorkflows } from '../shared/stores/temporal/runWorkflows.ts';
import { assembleApi } from './assembleApi.ts';
import { listen } from './server.ts';

/** One api process beside others, over servers. */
async function start() {
  const config = readConfig(process.env);
  const log = pino({ level: config.LOG_LEVEL, base: null });
  const servers = await openServers(config);
  const secretKeys = config.SECRET_KEYS as string;
  const domain = assembleDomain(servers.stores, temporalRunWorkflows(servers.client), config, secretKeys, log);
  const pingTemporal = async () =>
    void (await servers.connection.workflowService.describeNamespace({ namespace: config.TEMPORAL_NAMESPACE }));
  const api = await assembleApi(domain, servers.stores, config, secretKeys, { pingTemporal });
  if (api.administrator.created && !config.ADMIN_PASSWORD)
    log.info(
      { email: api.administrator.email, password: api.administrator.password },
      'the first administrator, shown this once',
    );
  if (api.administrator.created && !config.ADMIN_API_KEY)
    log.info({ apiKey: api.administrator.apiKey }, "the first administrator's API key, shown this once");
  const server = await listen(api.app, config.HOST, config.PORT);
  log.info({ url: server.url }, 'the api is ready');
  return {
    stop: async () => {
      await server.close();
      await api.stop();
      await domain.outbound.close();
      await servers.close();
    },
  };
}

await runProcess(start, { underNpm: process.env.npm_lifecycle_event !== undefined });
