// A service of its own: it is two apis and two workers over servers.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceClient } from '../../client/http.ts';
import { createPrompt } from '../../client/prompts.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { jobScheduleId } from '../../shared/maintenance/jobWorkflow.ts';
import { connectTemporal } from '../../shared/stores/temporal/connect.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { late, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { type ExperimentOf, experimentOf, modelAt, newExperiment, type Progress } from '../support/runs.ts';
import { balancedClient, type ServiceApi, type ServicePart, startServiceServers } from '../support/serviceServers.ts';
import { API_KEY } from '../support/testService.ts';

const ROWS = 500;
const records = Array.from({ length: ROWS }, (_, index) => ({ input: `question ${index}`, output: `answer ${index}` }));

/** Says which worker ran it: a runner module's process is its worker's child. */
const slowRunner = `import { setTimeout } from 'node:timers/promises';
  export default async (input, { row }) => { await setTimeout(400); return 'answer ' + row.ordinal + ' of ' + process.ppid; };`;

describeWithServer('two apis and two workers over servers', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let apis: [ServiceApi, ServiceApi];
    let workers: [ServicePart, ServicePart];
    let runners: string;
    let endpoint: ModelEndpoint;
    let projectId: string;

    beforeAll(async () => {
      runners = await mkdtemp(join(tmpdir(), 'assay-runners-'));
      await writeFile(join(runners, 'slow.mjs'), slowRunner);
      endpoint = await startModelEndpoint();
      endpoint.otherwise(late(300, says('an answer')));
      servers = await startServiceServers({ postgres, redis }, { RUNNERS_DIR: runners, OUTBOUND_ALLOW: '127.0.0.1' });
      apis = [await servers.api(), await servers.api()];
      workers = [servers.worker(), servers.worker()];
    });
    afterAll(async () => {
      await servers?.[Symbol.asyncDispose]();
      await endpoint?.close();
      await rm(runners, { recursive: true, force: true });
    });

    /** The same experiment through the other api. */
    const through = (api: ServiceApi, experiment: ExperimentOf) => experimentOf(api.client, experiment.projectId, experiment.id);

    const moduleRun = async (client: ServiceClient, name: string, concurrency = 120) => {
      const experiment = await newExperiment(client, projectId, { name });
      await experiment.start({ runner: { kind: 'module', name: 'slow.mjs' }, records, concurrency });
      return experiment;
    };

    const promptRun = async (client: ServiceClient, name: string, concurrency = 120) => {
      const { selected_version_id } = await createPrompt({ client, projectId, name, template: 'Say: {{input}}' });
      const experiment = await newExperiment(client, projectId, { name });
      await experiment.start({
        runner: {
          kind: 'prompt_template',
          prompt_template_version_id: selected_version_id,
          prompt_settings: { model_alias: 'model-1' },
        },
        records,
        concurrency,
      });
      return experiment;
    };

    /** One trace for each row, none failed. @returns the outputs */
    async function isWhole(experiment: ExperimentOf, end: Progress): Promise<string[]> {
      expect(end).toMatchObject({ state: 'completed', rows_done: ROWS, rows_failed: 0, error: null });
      const traces = await experiment.traces();
      expect(traces.map(({ input }) => input).sort()).toEqual(records.map(({ input }) => input).sort());
      for (const trace of traces) expect(trace.error_message).toBe('');
      return traces.map(({ output }) => output ?? '');
    }

    test('four processes that start at once on empty stores agree on one schema and one administrator', {
      timeout: 600_000,
    }, async () => {
      await Promise.all([...apis, ...workers].map((part) => part.start()));
      for (const { url, client } of apis) {
        expect(await (await fetch(`${url}/healthcheck`)).json()).toMatchObject({ message: 'ready' });
        expect(await client.send('/current_user')).toMatchObject({ email: 'admin@example.com', role: 'admin' });
        const form = new URLSearchParams({ username: 'admin@example.com', password: 'Eight-characters-1' });
        const login = await fetch(`${url}/login`, { method: 'POST', body: form });
        expect(login.status).toBe(200);
        const { access_token } = (await login.json()) as { access_token: string };
        const other = apis[url === apis[0].url ? 1 : 0];
        const user = await fetch(`${other.url}/current_user`, { headers: { authorization: `Bearer ${access_token}` } });
        expect(user.status).toBe(200);
      }
    });

    test('both apis agree on one schedule for each recurring job, and one of the workers runs it each time', async () => {
      const { connection, client } = await connectTemporal({ address: servers.temporal.address, namespace: 'default' });
      await using left = new AsyncDisposableStack();
      left.defer(() => connection.close());
      const schedules: string[] = [];
      for await (const { scheduleId } of client.schedule.list()) schedules.push(scheduleId);
      expect(new Set(schedules).size).toBe(schedules.length);

      const scheduleId = jobScheduleId('finish-record-deletions');
      const schedule = client.schedule.getHandle(scheduleId);
      await schedule.pause(); // its next time would be one run more
      const taken = async () => (await schedule.describe()).info.numActionsTaken;
      const before = await taken();
      await schedule.trigger();
      await expect.poll(taken).toBe(before + 1);
      const last = (await schedule.describe()).info.recentActions.at(-1)?.action;
      if (last?.type !== 'startWorkflow') throw new Error('the schedule has run nothing');
      const run = client.workflow.getHandle(last.workflow.workflowId);
      await run.result();
      const { events } = await run.fetchHistory();
      const runners = (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) => started?.identity ?? []);
      expect(runners).toHaveLength(1);
      expect(workers.map((worker) => worker.pid())).toContain(Number.parseInt(runners[0] ?? '', 10));
      await schedule.unpause();
    });

    test('what one api was told the other knows at once; of updates through both none is lost', async () => {
      const [one, other] = apis;
      const project = await one.client.send<{ id: string }>('/projects', { body: { name: 'shared' } });
      projectId = project.id;
      const { id: log_stream_id } = await other.client.send<{ id: string }>(`/projects/${projectId}/log_streams`, {
        body: { name: 'production' },
      });
      const id = newId();
      await one.client.send(`/projects/${projectId}/traces`, {
        body: { log_stream_id, traces: [{ id, input: 'a question', output: 'no answer yet' }], is_complete: false },
      });
      const found = await other.client.send<{ records: { id: string }[] }>(`/projects/${projectId}/traces/search`, {
        body: { log_stream_id, filters: [{ type: 'text', column_id: 'input', operator: 'contains', value: 'question' }] },
      });
      expect(found.records.map((record) => record.id)).toEqual([id]);

      const tags = Array.from({ length: 20 }, (_, index) => `tag ${index}`);
      await Promise.all(
        tags.map((tag, index) =>
          apis[index % 2 === 0 ? 0 : 1].client.send(`/projects/${projectId}/traces/${id}`, {
            method: 'PATCH',
            body: { trace_id: id, log_stream_id, tags: [tag], ...(index === 7 ? { output: 'the answer' } : {}) },
          }),
        ),
      );
      for (const { client } of apis) {
        const trace = await client.send<{ tags: string[]; output: string }>(
          `/projects/${projectId}/traces/${id}?log_stream_id=${log_stream_id}`,
        );
        expect([...trace.tags].sort()).toEqual([...tags].sort());
        expect(trace.output).toBe('the answer');
      }
    });

    test('the rows of one run spread over both workers, and both apis show them live', async () => {
      const experiment = await moduleRun(apis[0].client, 'spread', 240);
      await Promise.all(apis.map((api) => through(api, experiment).until(({ rows_running }) => rows_running > 0)));
      const outputs = await isWhole(experiment, await experiment.end());
      expect(new Set(outputs.map((output) => Number(output.split(' of ')[1])))).toEqual(
        new Set(workers.map((worker) => worker.pid())),
      );
    });

    test('a run over an integration keeps its concurrency over both workers, and goes on when Redis is lost', async () => {
      await modelAt(apis[0].client, 'models', endpoint.url, ['model-1']);
      const experiment = await promptRun(apis[1].client, 'limited');
      await experiment.until(({ rows_done }) => rows_done > 0);
      await servers.redis.kill();
      const health = await fetch(`${apis[0].url}/healthcheck`);
      expect(health.status).toBe(200);
      expect(await health.json()).toMatchObject({ message: expect.stringContaining('Redis') });
      expect(await apis[0].client.send('/current_user')).toMatchObject({ email: 'admin@example.com' });
      await servers.redis.restart();
      await isWhole(experiment, await experiment.end());
      expect(endpoint.mostAtOnce()).toBeLessThanOrEqual(120);
      expect(endpoint.mostAtOnce()).toBeGreaterThan(60);
      console.log(`Redis lost: ${endpoint.requests.length} calls for ${ROWS} rows`);
      expect(endpoint.requests.length).toBe(ROWS); // no call was paid twice
    });

    test('SIGKILL of an api and a worker in a run: one trace a row', { timeout: 600_000 }, async () => {
      const experiment = await moduleRun(apis[0].client, 'killed', 60);
      await experiment.until(({ rows_done }) => rows_done > 20);
      const rest = through(apis[1], experiment);
      await Promise.all([apis[0].end('SIGKILL'), workers[0].end('SIGKILL')]);
      await isWhole(rest, await rest.end(90_000));
      await Promise.all([apis[0].start(), workers[0].start()]);
    });

    test.each([
      ['ClickHouse', () => servers.clickhouse.kill(), () => servers.clickhouse.restart()],
      ['Postgres', () => servers.postgres.kill(), () => servers.postgres.restart()],
    ])(
      '%s is lost for some seconds: the api says 503, the run waits and goes on',
      async (_name, kill, restart) => {
        const experiment = await moduleRun(apis[0].client, `without ${_name}`, 60);
        await experiment.until(({ rows_done }) => rows_done > 20);
        await kill();
        await delay(1_500);
        const path = _name === 'ClickHouse' ? `/projects/${projectId}/experiments/${experiment.id}/progress` : '/projects';
        for (const { url } of apis) {
          for (const route of [path, '/healthcheck']) {
            const answer = await fetch(url + route, { headers: { 'Service-API-Key': API_KEY } });
            expect({ route, status: answer.status, retry: answer.headers.has('retry-after') }).toEqual({
              route,
              status: 503,
              retry: true,
            });
          }
        }
        await delay(1_500);
        await restart();
        await isWhole(experiment, await through(apis[1], experiment).end(90_000));
      },
      600_000,
    );

    test('a rolling restart under load fails no request that may be repeated', { timeout: 600_000 }, async () => {
      let isOver = false;
      let answers = 0;
      const client = balancedClient(apis);
      const load = Promise.all(
        Array.from({ length: 8 }, async () => {
          for (; !isOver; answers++) {
            await client.send(`/projects/${projectId}`);
            await delay(20); // the processes that start need the machine too
          }
        }),
      );
      load.catch(() => undefined); // awaited below
      const experiment = await moduleRun(client, 'rolled', 60);
      for (const turn of [0, 1] as const) {
        const ending = [apis[turn], workers[turn]];
        for (const { exitCode, output } of await Promise.all(ending.map((part) => part.end('SIGTERM'))))
          expect(exitCode, output).toBe(0);
        await Promise.all(ending.map((part) => part.start()));
      }
      isOver = true;
      await load;
      console.log(`rolling restart: ${answers} answers, none failed`);
      await isWhole(experiment, await experiment.end(90_000));
    });
  }),
);
