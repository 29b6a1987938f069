// A service of its own: it is cut off from its servers.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { type ServiceApi, startServiceServers } from '../support/serviceServers.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import { API_KEY } from '../support/testService.ts';

const SERVERS = ['Postgres', 'Redis', 'ClickHouse', 'Temporal'] as const;
/**
 * Milliseconds within which a caller hears of a lost server, and work goes on when it is back: less than the 12 s for which Postgres would leave a lost
 * transaction its locks, and more than a machine stalls.
 */
const AT_ONCE_MS = 10_000;
/** Less than a command to Redis may take. */
const WITHOUT_REDIS_MS = 5_000;
/** How long a server takes for alive what a router has dropped. */
const UNHEARD_MS = 60_000;

describeWithServer('a server that is lost for a moment', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let api: ServiceApi;
    let unheard: ServiceApi;
    let toPostgres: TcpProxy;
    const proxies = new Map<(typeof SERVERS)[number], TcpProxy>();
    let project: string;
    let stream: string;
    let paths: string[];

    beforeAll(async () => {
      servers = await startServiceServers({ postgres, redis });
      const proxied = async (name: (typeof SERVERS)[number], url: URL) => {
        const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(url.port) });
        proxies.set(name, proxy);
        url.port = String(proxy.port);
        return url;
      };
      const own = {
        DATABASE_URL: (await proxied('Postgres', new URL(servers.postgres.url))).href,
        REDIS_URL: (await proxied('Redis', new URL(servers.redis.url()))).href,
        CLICKHOUSE_URL: (await proxied('ClickHouse', new URL(servers.clickhouse.url()))).href,
        TEMPORAL_ADDRESS: (await proxied('Temporal', new URL(`http://${servers.temporal.address}`))).host,
      };
      const url = new URL(servers.postgres.url);
      toPostgres = await startTcpProxy({ host: '127.0.0.1', port: Number(url.port) }, UNHEARD_MS);
      url.port = String(toPostgres.port);
      api = await servers.api(own);
      unheard = await servers.api({ DATABASE_URL: url.href });
      await Promise.all([api.start(), unheard.start()]);
      project = (await api.client.send<{ id: string }>('/projects', { body: { name: 'links' } })).id;
      stream = (await api.client.send<{ id: string }>(`/projects/${project}/log_streams`, { body: { name: 'main' } })).id;
      const described = (await (await fetch(`${api.url}/openapi.json`)).json()) as { paths: Record<string, object> };
      paths = Object.entries(described.paths)
        .filter(([, methods]) => 'get' in methods)
        .map(([path]) => path.replace('{project_id}', project).replaceAll(/\{\w+\}/g, newId()));
    });
    afterAll(async () => {
      await servers?.[Symbol.asyncDispose]();
      for (const proxy of [...proxies.values(), toPostgres]) await proxy?.close();
    });

    const send = async (at: ServiceApi, method: string, path: string, body?: object | URLSearchParams) => {
      const begun = performance.now();
      const answer = await fetch(`${at.url}${path}`, {
        method,
        headers: {
          'Service-API-Key': API_KEY,
          ...(body && !(body instanceof URLSearchParams) ? { 'content-type': 'application/json' } : {}),
        },
        signal: AbortSignal.timeout(60_000),
        ...(body && { body: body instanceof URLSearchParams ? body : JSON.stringify(body) }),
      });
      return { status: answer.status, text: await answer.text(), ms: performance.now() - begun, path };
    };
    const log = (at: ServiceApi) =>
      send(at, 'POST', `/projects/${project}/traces`, { log_stream_id: stream, traces: [{ id: newId(), input: 'q' }] });
    const wrongLogin = () =>
      send(api, 'POST', '/login', new URLSearchParams({ username: 'admin@example.com', password: 'wrong-Password-1' }));

    describe.each([
      ['hears of it', () => [api, proxies.get('Postgres') as TcpProxy] as const],
      ['does not hear of it', () => [unheard, toPostgres] as const],
    ])('all connections to Postgres are reset, and the server %s', (_, places) => {
      test('whoever asks is answered at once, and logs are taken again at once', async () => {
        const [at, proxy] = places();
        for (let round = 0; round < 5; round++) {
          expect((await log(at)).status).toBe(200);
          const busy = Promise.all(Array.from({ length: 8 }, () => log(at)));
          await delay(10 * round); // amid the writes, at another place of them each time
          proxy.set('reset');
          const meanwhile = await log(at);
          proxy.set('open');
          const back = performance.now();
          for (const { status, ms } of [...(await busy), meanwhile]) {
            expect([200, 503]).toContain(status);
            expect(ms).toBeLessThan(AT_ONCE_MS);
          }
          while ((await log(at)).status !== 200) await delay(50);
          expect(performance.now() - back).toBeLessThan(AT_ONCE_MS);
        }
      });
    });

    test.each(SERVERS)('no answer names the address of %s while it is away', async (name) => {
      const proxy = proxies.get(name) as TcpProxy;
      proxy.set('reset');
      try {
        const answers = await Promise.all([
          ...paths.map((path) => send(api, 'GET', path)),
          log(api),
          wrongLogin(),
          send(api, 'POST', `/projects/${project}/traces/search`, { log_stream_id: stream }),
          send(api, 'POST', `/projects/${project}/experiments`, { name: newId() }),
        ]);
        expect(answers.length).toBeGreaterThan(40);
        const ports = [...proxies.values()].map(({ port }) => port).join('|');
        const addresses = new RegExp(
          `127\\.0\\.0\\.1:(${ports})|localhost|ECONN|:(${ports})\\b|postgres://|redis://|/assay-servers-`,
        );
        for (const { path, text, status } of answers) {
          expect(text, path).not.toMatch(addresses);
          expect(status, `${path}: ${text}`).not.toBe(500);
        }
      } finally {
        proxy.set('open');
      }
      await expect.poll(async () => (await log(api)).status).toBe(200);
    });

    test('a wrong login is answered at once while Redis says nothing', async () => {
      const proxy = proxies.get('Redis') as TcpProxy;
      proxy.set('stalled');
      try {
        for (let n = 0; n < 2; n++) {
          const { status, ms, text } = await wrongLogin();
          expect(status).toBe(401);
          expect(ms).toBeLessThan(WITHOUT_REDIS_MS);
          expect(text).not.toContain(String(proxy.port));
        }
      } finally {
        proxy.set('open');
      }
    });
  }),
);
