// A service of its own: its processes stand still for a while.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPrompt } from '../../client/prompts.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { late, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { modelAt, newExperiment } from '../support/runs.ts';
import { type ServiceApi, type ServicePart, startServiceServers } from '../support/serviceServers.ts';
import { API_KEY } from '../support/testService.ts';

const headers = { 'Service-API-Key': API_KEY, 'content-type': 'application/json' };

describeWithServer('a process that stands still, as in a paused virtual machine', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let apis: [ServiceApi, ServiceApi];
    let workers: [ServicePart, ServicePart];
    let database: pg.Client;
    let endpoint: ModelEndpoint;

    beforeAll(async () => {
      endpoint = await startModelEndpoint();
      endpoint.otherwise(late(300, says('an answer')));
      servers = await startServiceServers({ postgres, redis }, { OUTBOUND_ALLOW: '127.0.0.1' });
      apis = [await servers.api(), await servers.api()];
      workers = [servers.worker(), servers.worker()];
      await Promise.all([...apis, ...workers].map((part) => part.start()));
      database = new pg.Client({ connectionString: servers.postgres.url });
      await database.connect();
    });
    afterAll(async () => {
      await database?.end();
      await servers?.[Symbol.asyncDispose]();
      await endpoint?.close();
    });

    const newStream = async (name: string) => {
      const { id: projectId } = await apis[0].client.send<{ id: string }>('/projects', { body: { name } });
      const { id } = await apis[0].client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'main' } });
      return { projectId, log_stream_id: id };
    };
    type Stream = Awaited<ReturnType<typeof newStream>>;

    const log = ({ url }: ServiceApi, { projectId, log_stream_id }: Stream, id: string, output: string, size = 10) =>
      fetch(`${url}/projects/${projectId}/traces`, {
        method: 'POST',
        headers,
        body: JSON.stringify({
          log_stream_id,
          traces: [{ id, input: 'q'.repeat(size), output, spans: [{ type: 'tool', input: 'x' }] }],
        }),
        signal: AbortSignal.timeout(120_000),
      });

    const idsOf = async ({ projectId, log_stream_id }: Stream) => {
      const found = await apis[1].client.send<{ records: { id: string; output: string }[] }>(
        `/projects/${projectId}/traces/search`,
        { body: { log_stream_id, limit: 1_000 } },
      );
      return found.records;
    };

    const locksHeld = async () =>
      (await database.query("SELECT count(*)::int AS held FROM pg_locks WHERE locktype = 'advisory' AND granted")).rows[0].held;

    test('an api: the other goes on at once, its locks end in half a minute, and late it writes nothing over what came since', {
      timeout: 600_000,
    }, async () => {
      const [frozen, other] = apis;
      const [shared, free] = [await newStream('shared'), await newStream('free')];
      const pid = frozen.pid();
      const ids: string[] = [];
      const begun: Promise<Response>[] = [];
      // Until it stops while it has the lock of the run.
      for (;;) {
        for (let n = 0; n < 5; n++) {
          const id = newId();
          ids.push(id);
          const answer = log(frozen, shared, id, 'first', 100_000);
          answer.catch(() => undefined);
          begun.push(answer);
        }
        await delay(5 + Math.random() * 40);
        process.kill(pid, 'SIGSTOP');
        if ((await locksHeld()) > 0) break;
        process.kill(pid, 'SIGCONT');
        await Promise.allSettled(begun);
      }
      const stopped = Date.now();
      const seconds = () => (Date.now() - stopped) / 1_000;
      try {
        // Another project is not concerned, while the run waits.
        const again = Promise.all(
          ids.slice(-5).map(async (id) => {
            for (;;) {
              const answer = await log(other, shared, id, 'second');
              if (answer.status === 200) return;
              expect(answer.status).toBe(503);
              expect(seconds()).toBeLessThan(120);
            }
          }),
        );
        let longest = 0;
        let isOver = false;
        let named = '';
        const others = (async () => {
          while (!isOver) {
            const sent = Date.now();
            expect((await log(other, free, newId(), 'free')).status).toBe(200);
            longest = Math.max(longest, Date.now() - sent);
            const health = (await (await fetch(`${other.url}/healthcheck`)).json()) as { message?: string };
            if (health.message?.includes('another process has locked')) named = health.message;
            await delay(100);
          }
        })();
        await again;
        const waited = seconds();
        isOver = true;
        await others;
        console.log(`locks ended after ${waited.toFixed(1)} s; another project waited ${longest} ms at most; ${named}`);
        expect(waited).toBeLessThan(60);
        expect(longest).toBeLessThan((waited * 1_000) / 2);
        expect(named).toContain('others are stored');
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      const late = await Promise.allSettled(begun);
      console.log(late.slice(-5).map((answer) => (answer.status === 'fulfilled' ? answer.value.status : String(answer.reason))));
      await delay(2_000);
      const found = await idsOf(shared);
      expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort());
      const acknowledged = late.slice(-5).map((answer) => answer.status === 'fulfilled' && answer.value.status === 200);
      for (const [place, id] of ids.slice(-5).entries())
        if (!acknowledged[place]) expect(found.find((record) => record.id === id)?.output).toBe('second');
      expect((await log(frozen, shared, newId(), 'third')).status).toBe(200);
    });

    test.each([
      [0, 300, 1_000],
      [1, 300, 1_000],
      [0, 900, 18],
      [1, 900, 18],
      [0, 900, 9],
      [1, 900, 5],
    ])(
      'worker %i: the other takes its rows over in half a minute, and none is paid twice but those in flight (%i rows, %i s)',
      {
        timeout: 600_000,
      },
      async (place, rows, wakesAfter) => {
        const concurrency = 10;
        const { client } = apis[0];
        const { projectId } = await newStream(`run ${place} ${rows} ${wakesAfter}`);
        await modelAt(client, `models-${place}-${rows}-${wakesAfter}`, endpoint.url, ['model-1']);
        const { selected_version_id } = await createPrompt({
          client,
          projectId,
          name: `p${place} ${rows} ${wakesAfter}`,
          template: 'Say: {{input}}',
        });
        const experiment = await newExperiment(client, projectId, { name: 'frozen' });
        const paidBefore = endpoint.requests.length;
        const paid = () => endpoint.requests.length - paidBefore;
        await experiment.start({
          runner: {
            kind: 'prompt_template',
            prompt_template_version_id: selected_version_id,
            prompt_settings: { model_alias: 'model-1' },
          },
          records: Array.from({ length: rows }, (_, index) => ({ input: `question ${index}` })),
          concurrency,
        });
        const pid = (workers[place] as ServicePart).pid();
        await experiment.until(({ rows_done }) => rows_done > 20);
        process.kill(pid, 'SIGSTOP');
        const stopped = Date.now();
        const begun = paid();
        try {
          const timer = setTimeout(() => process.kill(pid, 'SIGCONT'), wakesAfter * 1_000);
          /** Those in flight, and those that have ended and are not recorded, of both workers. */
          const open = begun - (await experiment.traces()).length;
          const { state, rows_done, rows_failed } = await experiment.end(200_000);
          clearTimeout(timer);
          const seconds = (Date.now() - stopped) / 1_000;
          console.log(
            `worker ${place} stood still for ${wakesAfter} s: the run ended after ${seconds.toFixed(1)} s, ${paid()} calls for ${rows} rows, ${open} of them were open`,
          );
          expect({ state, rows_done, rows_failed }).toEqual({ state: 'completed', rows_done: rows, rows_failed: 0 });
          // A row takes 0.3 s, and twice as long on a busy machine.
          expect(seconds - (rows * 0.6) / concurrency).toBeLessThan(35);
          // In flight, and ended within about two seconds, or as many as run at a time of each of the four chunks.
          expect(open).toBeLessThanOrEqual(concurrency + Math.max(4 * concurrency, 2.5 * (concurrency / 0.3)));
          expect(paid()).toBeLessThanOrEqual(rows + open);
        } finally {
          process.kill(pid, 'SIGCONT');
        }
        await delay(3_000);
        const traces = await experiment.traces();
        expect(traces.map(({ input }) => input).sort()).toEqual(
          Array.from({ length: rows }, (_, index) => `question ${index}`).sort(),
        );
        expect(new Set(endpoint.requests.slice(paidBefore).map(({ text }) => text)).size).toBe(rows);
      },
    );
  }),
);
