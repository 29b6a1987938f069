// A service of its own: its workers are replaced.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithServer } from '../support/describeWithServer.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { newExperiment } from '../support/runs.ts';
import { type ServiceApi, startServiceServers } from '../support/serviceServers.ts';

const ROWS = 40;
const records = Array.from({ length: ROWS }, (_, index) => ({ input: `question ${index}`, output: `question ${index}` }));
/** Rows from the fifth and from the twenty-first on wait until a file is there. */
const gatedRunner = `import { existsSync } from 'node:fs';
  import { join } from 'node:path';
  import { setTimeout } from 'node:timers/promises';
  export default async (input, { row }) => {
    const gate = row.ordinal >= 20 ? 'second' : row.ordinal >= 4 ? 'first' : undefined;
    while (gate && !existsSync(join(import.meta.dirname, gate))) await setTimeout(20);
    return input;
  };`;

const DEPLOYMENT = 'assay';

describeWithServer('worker processes that are replaced', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let api: ServiceApi;
    let runners: string;
    let projectId: string;
    let connection: Connection;
    let client: Client;

    beforeAll(async () => {
      runners = await mkdtemp(join(tmpdir(), 'assay-runners-'));
      await writeFile(join(runners, 'gated.mjs'), gatedRunner);
      servers = await startServiceServers({ postgres, redis }, { RUNNERS_DIR: runners });
      api = await servers.api();
      await api.start();
      projectId = (await api.client.send<{ id: string }>('/projects', { body: { name: 'deploys' } })).id;
      connection = await Connection.connect({ address: servers.temporal.address });
      client = new Client({ connection });
    });
    afterAll(async () => {
      await connection?.close();
      await servers?.[Symbol.asyncDispose]();
      await rm(runners, { recursive: true, force: true });
    });

    const started = async (name: string, rows = ROWS) => {
      const experiment = await newExperiment(api.client, projectId, { name, metrics: ['exact_match'] });
      await experiment.start({ runner: { kind: 'module', name: 'gated' }, records: records.slice(0, rows), concurrency: 4 });
      return experiment;
    };
    const open = (gate: string) => writeFile(join(runners, gate), '');
    /** The command of docs/deploys.md: it is refused until the build has polled every queue of the one before. */
    const setCurrent = (buildId: string) => {
      const args = [
        'worker',
        'deployment',
        'set-current-version',
        '--deployment-name',
        DEPLOYMENT,
        '--build-id',
        buildId,
        '--yes',
      ];
      const command = () => promisify(execFile)(servers.temporal.program, [...args, '--address', servers.temporal.address]);
      const refusal = () => command().then(() => '', String);
      return expect.poll(refusal, { interval: 200 }).toBe('');
    };
    const versioned = (buildId: string) => servers.worker({ TEMPORAL_DEPLOYMENT_NAME: DEPLOYMENT, TEMPORAL_BUILD_ID: buildId });
    const versionOf = async (workflowId: string) => {
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
    };

    test('two processes that share the queues do one run together', { timeout: 600_000 }, async () => {
      const parts = [
        servers.worker({ WORKER_QUEUES: 'control,maintenance', WORKER_SLOTS: 'control:20' }),
        servers.worker({ WORKER_QUEUES: 'rows,scoring', POSTGRES_CONNECTIONS: '4', CLICKHOUSE_CONNECTIONS: '4' }),
      ];
      await Promise.all(parts.map((part) => part.start()));
      const experiment = await started('shared', 4);
      expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 4, rows_failed: 0 });
      for (const part of parts) expect((await part.end('SIGTERM')).exitCode).toBe(0);
    });

    test('a build takes what is open once it is current, whoever began it', { timeout: 600_000 }, async () => {
      const unversioned = servers.worker();
      await unversioned.start();
      const experiment = await started('open');
      await experiment.until(({ rows_done }) => rows_done >= 4);
      const first = versioned('build-1');
      await first.start();
      await setCurrent('build-1');
      await unversioned.end('SIGKILL');
      await open('first');
      await experiment.until(({ rows_done }) => rows_done >= 20);

      // The next release: nothing waits for the build that is gone.
      const second = versioned('build-2');
      await second.start();
      await setCurrent('build-2');
      await first.end('SIGTERM');
      await open('second');
      expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: ROWS, rows_failed: 0 });
      expect(await versionOf(experiment.workflowId())).toBe('build-2');
      expect((await experiment.traces()).length).toBe(ROWS);

      const next = await started('new', 8);
      expect(await next.end()).toMatchObject({ state: 'completed', rows_done: 8 });
      expect(await versionOf(next.workflowId())).toBe('build-2');
    });
  }),
);
