import type { Express } from 'express';
import type { Administrator } from '../shared/accounts/administrator.ts';
import type { Domain } from '../shared/assemble.ts';
import { LiveStreams } from '../shared/concurrency/liveStreams.ts';
import type { Config } from '../shared/config/config.ts';
import type { QueueName } from '../shared/config/taskQueues.ts';
import { VERSION } from '../shared/config/version.ts';
import type { RecurringJob } from '../shared/maintenance/recurringJob.ts';
import { repeat } from '../shared/maintenance/repeat.ts';
import { createApp } from './app.ts';
import { createGate } from './callers/authenticate.ts';
import { createClientAddresses } from './callers/clientAddress.ts';
import { consoleLinks } from './console/consoleLinks.ts';
import { consoleLogin } from './console/consoleLogin.ts';
import { accountEndpoints } from './endpoints/accountEndpoints.ts';
import { assetEndpoints } from './endpoints/assetEndpoints.ts';
import { experimentEndpoints } from './endpoints/experimentEndpoints.ts';
import { judgeEndpoints } from './endpoints/judgeEndpoints.ts';
import { projectEndpoints } from './endpoints/projectEndpoints.ts';
import { recordEndpoints } from './endpoints/recordEndpoints.ts';
import { createHealth } from './health/health.ts';
import { createServiceState } from './health/serviceState.ts';
import { openBodyBounds } from './http/bodyBounds.ts';
import type { Gate } from './http/route.ts';
import { healthRoutes } from './routes/health.ts';
import { playgroundRoutes } from './routes/playground.ts';
import { serviceStateRoutes } from './routes/serviceState.ts';

export interface Api {
  app: Express;
  /** Authorizes callers; servers beside `app` use it too. */
  gate: Gate;
  administrator: Administrator;
  /** Ends the work that the api does by itself. */
  stop(): Promise<void>;
}

export interface ApiSurroundings {
  pingTemporal(): Promise<void>;
  /** Worker processes by queue; null where Temporal does not say. */
  queueWorkers(): Promise<[QueueName, number | null][]>;
  /** Sees to what our workflows find in Temporal, the schedules of these jobs among it. */
  prepareTemporal(jobs: readonly RecurringJob[]): Promise<void>;
  /** Runs the jobs that are run at each start. */
  startJobs(jobs: readonly RecurringJob[]): Promise<void>;
  /** Where the pages of the embedded Temporal server are; undefined where there is none. */
  temporalPagesUrl: string | undefined;
  /** Called with the first administrator's credentials before that account is created. */
  keepCredentials(credentials: { email: string; password: string; apiKey: string }): void;
  /** Aborts when the process is about to end: answers that wait for something end then. */
  stopping: AbortSignal;
  /** Parse every reply with its schema (tests). */
  checkReplies?: boolean;
}

/** Milliseconds between two looks at runs and their workflows: a user who terminates one in Temporal's own pages sees the run end within this time. */
const RECONCILE_RUNS_MS = 10_000;
/** Milliseconds between two looks at what Temporal knows of us. */
const PREPARE_MS = 30_000;

/** Builds the api over the modules: the gate, the routes, and what an api process does by itself. */
export async function assembleApi(domain: Domain, config: Config, around: ApiSurroundings): Promise<Api> {
  const { log, stores, experiments, records } = domain;
  const clients = createClientAddresses(config.TRUSTED_PROXIES);
  const gate = createGate({
    credentials: domain.accounts.credentials,
    access: domain.projects.access,
    runs: domain.projects.runs,
    assets: domain.assets,
    apiKeyHeaders: config.API_KEY_HEADERS,
    clients,
  });
  const bodies = openBodyBounds({
    memoryBytes: config.BODIES_MB * 1024 * 1024,
    bytesPerSecond: config.BODY_BYTES_PER_SECOND,
  });
  const administrator = await domain.accounts.ensureAdministrator(
    { email: config.ADMIN_EMAIL, password: config.ADMIN_PASSWORD, apiKey: config.ADMIN_API_KEY },
    around.keepCredentials,
  );
  records.writer.whenStored(domain.scoring.written);
  const following = { streams: new LiveStreams(), stopping: around.stopping };
  const temporal = { url: config.TEMPORAL_UI_URL ?? around.temporalPagesUrl, namespace: config.TEMPORAL_NAMESPACE };
  const health = createHealth(stores, around.pingTemporal, experiments.stuckRuns, records.writer, records.sweeps.held);
  const app = createApp({
    endpoints: [
      ...healthRoutes({
        health,
        version: VERSION,
      }),
      ...serviceStateRoutes({
        state: createServiceState({
          ...{ health, version: VERSION, config, bodies },
          queueWorkers: around.queueWorkers,
          writer: records.writer,
          startedAt: new Date(),
        }),
      }),
      ...accountEndpoints(domain, clients),
      ...projectEndpoints(domain),
      ...recordEndpoints(domain, gate, bodies, following),
      ...assetEndpoints(domain, gate),
      ...judgeEndpoints(domain, gate),
      ...experimentEndpoints(domain, gate, { ...following, temporal }),
      ...playgroundRoutes({
        playground: domain.playground,
        calls: new LiveStreams({ what: 'playground calls', ofAccount: 5, ofAll: 200 }),
        ...{ gate, stopping: around.stopping },
      }),
    ],
    gate,
    log,
    apiKeyHeaders: config.API_KEY_HEADERS,
    checkReplies: around.checkReplies ?? false,
    requests: { telemetry: domain.telemetry, slowMs: config.SLOW_REQUEST_SECONDS * 1_000 },
    publicUrl: config.PUBLIC_URL,
    bodies,
    console: [consoleLogin({ credentials: domain.accounts.credentials, clients, pace: bodies.pace }), consoleLinks],
  });

  const warn = (message: string) => (err: unknown) => log.warn({ err }, message);
  const prepare = () => around.prepareTemporal(domain.jobs).catch(warn('Temporal is not prepared; it is tried again'));
  await prepare();
  if (!config.DATABASE_URL) await domain.takeOver();
  await around.startJobs(domain.jobs).catch(warn('jobs were not run at the start; they run at their next time'));
  await experiments.reconcile();
  await experiments.start();
  domain.comparisons.prepare();
  // All else that recurs has a schedule. These two see to it that there are schedules and workflows, so they cannot be ones themselves.
  const stops = [
    repeat(RECONCILE_RUNS_MS, experiments.reconcile, log, 'looking after runs'),
    repeat(PREPARE_MS, prepare, log, 'preparing Temporal'),
  ];
  return {
    app,
    gate,
    administrator,
    async stop() {
      for (const stop of stops) await stop();
      await domain.stop();
    },
  };
}
