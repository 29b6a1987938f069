// A service of its own: links to its servers are cut and held.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { type ServiceApi, startServiceServers } from '../support/serviceServers.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import { API_KEY } from '../support/testService.ts';

const headers = { 'Service-API-Key': API_KEY, 'content-type': 'application/json' };

describeWithServer('the link to a server breaks', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let api: ServiceApi;
    let toPostgres: TcpProxy;
    let toRedis: TcpProxy;
    let stream: { projectId: string; log_stream_id: string };

    beforeAll(async () => {
      servers = await startServiceServers({ postgres, redis });
      const postgresUrl = new URL(servers.postgres.url);
      const redisUrl = new URL(servers.redis.url());
      toPostgres = await startTcpProxy({ host: '127.0.0.1', port: Number(postgresUrl.port) }, 120_000);
      toRedis = await startTcpProxy({ host: '127.0.0.1', port: Number(redisUrl.port) });
      postgresUrl.port = String(toPostgres.port);
      redisUrl.port = String(toRedis.port);
      api = await servers.api({ DATABASE_URL: postgresUrl.href, REDIS_URL: redisUrl.href });
      await api.start();
      const { id: projectId } = await api.client.send<{ id: string }>('/projects', { body: { name: 'p' } });
      const { id } = await api.client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'main' } });
      stream = { projectId, log_stream_id: id };
    });
    afterAll(async () => {
      await servers?.[Symbol.asyncDispose]();
      await toPostgres?.close();
      await toRedis?.close();
    });

    const log = (id = newId()) =>
      fetch(`${api.url}/projects/${stream.projectId}/traces`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ log_stream_id: stream.log_stream_id, traces: [{ id, input: 'q' }] }),
      });

    test('connections to Postgres are reset again and again, and the server does not hear of it: no request hangs, and logging works again', {
      timeout: 600_000,
    }, async () => {
      let isOver = false;
      let longest = 0;
      let lastRefused = 0;
      const statuses: Record<number, number> = {};
      const acknowledged: string[] = [];
      const load = Promise.all(
        Array.from({ length: 8 }, async () => {
          while (!isOver) {
            const id = newId();
            const begun = Date.now();
            const { status } = await log(id);
            longest = Math.max(longest, Date.now() - begun);
            statuses[status] = (statuses[status] ?? 0) + 1;
            if (status === 200) acknowledged.push(id);
            else lastRefused = Date.now();
            await delay(20);
          }
        }),
      );
      await delay(1_000);
      for (let n = 0; n < 20; n++) {
        toPostgres.set('reset');
        await delay(100 + Math.random() * 300);
        toPostgres.set('open');
        await delay(300);
      }
      const ended = Date.now();
      await delay(15_000);
      isOver = true;
      await load;
      console.log(statuses, `longest ${longest} ms, refused until ${lastRefused - ended} ms after the last reset`);
      expect(longest).toBeLessThan(20_000);
      expect(lastRefused - ended).toBeLessThan(8_000); // the locks of a lost transaction would last 12 s
    });

    test('a server of Postgres that says nothing: a request has its answer in 20 s', { timeout: 600_000 }, async () => {
      await log();
      toPostgres.set('stalled');
      try {
        const begun = Date.now();
        const answers = await Promise.all(Array.from({ length: 4 }, () => log()));
        console.log(`answered ${answers.map(({ status }) => status).join()} after ${Date.now() - begun} ms`);
        for (const { status } of answers) expect(status).toBe(503);
        expect(Date.now() - begun).toBeLessThan(25_000);
      } finally {
        toPostgres.set('open');
      }
      await expect.poll(async () => (await log()).status).toBe(200);
    });
  }),
);
