// A service of its own: it has a proxy before Postgres that counts statements and slows them.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { otlpSpan } from '../support/otlpSpan.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { oneAfterTheOther, postgresStatements, type RoundTrip } from '../support/postgresStatements.ts';
import { redisProgram } from '../support/redisServer.ts';
import { type ServiceApi, startServiceServers } from '../support/serviceServers.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import { API_KEY } from '../support/testService.ts';

/** Far more than the time between two statements that are sent at once. */
const LATENCY_MS = 60;
/** Callers, their projects and runs are remembered for a second. */
const FORGOTTEN_MS = 1_200;
/** Connections that are not kept are closed after ten seconds, and nothing but names is remembered for longer than that. */
const LONG_PAUSE_MS = 16_000;
/** Matches the statements that an api sends without a request. */
const BY_ITSELF = /^SELECT$|^SELECT 1$|experiments|schedule|recurring/i;

describeWithServer('how many round trips to Postgres one request waits for', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let api: ServiceApi;
    let proxy: TcpProxy;
    let statements: ReturnType<typeof postgresStatements>;
    let project: string;
    let stream: string;
    let token: string;
    beforeAll(async () => {
      servers = await startServiceServers({ postgres, redis });
      const url = new URL(servers.postgres.url);
      proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(url.port) }, 0, LATENCY_MS);
      statements = postgresStatements(proxy);
      url.port = String(proxy.port);
      api = await servers.api({ DATABASE_URL: url.href });
      await api.start();
      project = (await api.client.send<{ id: string }>('/projects', { body: { name: 'trips' } })).id;
      stream = (await api.client.send<{ id: string }>(`/projects/${project}/log_streams`, { body: { name: 'main' } })).id;
      const login = await fetch(`${api.url}/login/api_key`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ api_key: API_KEY }),
      });
      token = ((await login.json()) as { access_token: string }).access_token;
    });
    afterAll(async () => {
      await servers?.[Symbol.asyncDispose]();
      await proxy?.close();
    });

    type Headers = Record<string, string>;
    const send = async (method: string, path: string, body: object, headers: Headers) => {
      const answer = await fetch(`${api.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      expect(answer.status, await answer.text()).toBe(200);
    };
    const [traceId, spanId] = [newId(), newId()];
    const logTraces = (headers: Headers, id = newId(), span = newId()) =>
      send(
        'POST',
        `/projects/${project}/traces`,
        {
          log_stream_id: stream,
          traces: [{ id, input: 'q', spans: [{ type: 'llm', id: span, input: 'q', output: 'a', model: 'gpt-4o' }] }],
        },
        headers,
      );
    const requests: Record<string, (headers: Headers) => Promise<void>> = {
      'POST traces': (headers) => logTraces(headers),
      'POST spans': (headers) =>
        send(
          'POST',
          `/projects/${project}/spans`,
          { log_stream_id: stream, trace_id: traceId, parent_id: traceId, spans: [{ type: 'tool', input: 'x' }] },
          headers,
        ),
      'PATCH trace': (headers) =>
        send(
          'PATCH',
          `/projects/${project}/traces/${traceId}`,
          { log_stream_id: stream, trace_id: traceId, output: newId() },
          headers,
        ),
      'PATCH span': (headers) =>
        send(
          'PATCH',
          `/projects/${project}/spans/${spanId}`,
          { log_stream_id: stream, span_id: spanId, tags: [newId()] },
          headers,
        ),
      'POST sessions': (headers) =>
        send('POST', `/projects/${project}/sessions`, { log_stream_id: stream, external_id: newId() }, headers),
      'OTLP by headers': (headers) =>
        send('POST', '/otel/v1/traces', otlpSpan(), { ...headers, project: 'trips', logstream: 'main' }),
      'OTLP by its resource': (headers) =>
        send('POST', '/otel/v1/traces', otlpSpan({ 'assay.project': 'trips', 'assay.log_stream': 'main' }), headers),
    };

    const tripsOf = async (request: () => Promise<void>): Promise<RoundTrip[]> => {
      const from = statements.now();
      await request();
      return statements
        .since(from)
        .filter(({ text, answered }) => answered !== Number.POSITIVE_INFINITY && !BY_ITSELF.test(text));
    };
    /** Returns the fewest trips among a few requests: on a busy machine, parallel statements run one after the other or open a connection. */
    const fewestTripsOf = async (request: () => Promise<void>, before = async () => {}, most = 3): Promise<RoundTrip[]> => {
      const tried: RoundTrip[][] = [];
      while (tried.length < 5 && !tried.some((trips) => oneAfterTheOther(trips) <= most)) {
        await before();
        tried.push(await tripsOf(request));
      }
      return tried.sort((a, b) => oneAfterTheOther(a) - oneAfterTheOther(b))[0] ?? [];
    };
    const expectAtMost = (most: number, trips: readonly RoundTrip[]) => {
      const said = trips.map(({ text, sent, answered }) => `${sent}-${answered} ${text}`).join('\n');
      expect(oneAfterTheOther(trips), said).toBeGreaterThanOrEqual(2);
      expect(oneAfterTheOther(trips), said).toBeLessThanOrEqual(most);
    };
    const forgetUse = () => servers.postgres.query("UPDATE api_keys SET last_used = now() - interval '10 minutes'");

    describe.each([
      ['by API key', () => ({ 'Service-API-Key': API_KEY })],
      ['by access token', () => ({ authorization: `Bearer ${token}` })],
    ])('%s', (_, headers) => {
      beforeAll(() => logTraces(headers(), traceId, spanId));

      test.each(Object.keys(requests))('%s: three at most, repeated and after a pause', async (name) => {
        const request = () => (requests[name] as (typeof requests)[string])(headers());
        await request();
        for (let n = 0; n < 3; n++) expectAtMost(3, await fewestTripsOf(request));
        const pause = async () => {
          await delay(FORGOTTEN_MS);
          await forgetUse();
        };
        expectAtMost(3, await fewestTripsOf(request, pause));
      });
    });

    test('also after a pause so long that connections are closed', async () => {
      const pause = async () => {
        await delay(LONG_PAUSE_MS);
        await forgetUse();
      };
      const trips = await fewestTripsOf(() => logTraces({ 'Service-API-Key': API_KEY }), pause);
      expectAtMost(3, trips);
      expect(trips.map(({ text }) => text)).not.toContain('connect');
    });

    test('a root without input and output: one more, for what spans before it said', async () => {
      const root = () =>
        send('POST', '/otel/v1/traces', otlpSpan({}, {}), { 'Service-API-Key': API_KEY, project: 'trips', logstream: 'main' });
      await root();
      expectAtMost(4, await fewestTripsOf(root, undefined, 4));
    });

    test('an update that waits for its record: three more', async () => {
      const update = (id = newId()) =>
        send(
          'PATCH',
          `/projects/${project}/traces/${id}`,
          { log_stream_id: stream, trace_id: id, output: newId() },
          { 'Service-API-Key': API_KEY },
        );
      expectAtMost(6, await fewestTripsOf(update, undefined, 6));
    });
  }),
);
