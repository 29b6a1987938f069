import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../api/app.ts';
import { openBodyBounds } from '../../api/http/bodyBounds.ts';
import { endpoint, type Gate } from '../../api/http/route.ts';
import { ByteShares } from '../../shared/concurrency/byteShares.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { LogTracesIngestRequest } from '../../shared/recordSchemas/ingest.ts';
import { ListScorersRequest } from '../../shared/wire/scorerLists.ts';
import { type HttpService, serve } from '../support/http.ts';
import { type RawConnection, rawConnection } from '../support/rawHttp.ts';

const MiB = 1024 * 1024;
/** Held by the bodies of all requests; one account alone holds half. */
const MEMORY = 16 * MiB;
const bodies = openBodyBounds({ memoryBytes: MEMORY, bytesPerSecond: 10_000, windowMs: 300, lingerMs: 100 });
let http: HttpService;

/** Takes the header `account` for the caller, and refuses the project `closed` to all callers. */
const gate: Gate = {
  authenticate: async ({ headers }) => ({ userId: String(headers.account), email: 'a@example.com', role: 'user' }),
  async authorize(_caller, _access, projectId) {
    if (projectId === 'closed') throw new ServiceError('NotFound', 'no such project');
    return projectId === undefined ? undefined : { id: projectId, name: projectId, role: 'owner' };
  },
};
const body = z.object({ items: z.array(z.unknown()).optional() });
const params = z.object({ project_id: z.string() });
const route = { method: 'post', summary: 'x', tag: 'x', body, params, bodyLimit: 12 * MiB } as const;

beforeAll(async () => {
  const endpoints = [
    endpoint({ ...route, path: '/projects/{project_id}/things', access: { project: 'update' }, handle: async () => null }),
    endpoint({
      ...route,
      path: '/projects/{project_id}/log',
      access: { project: 'log_data' },
      isIngest: true,
      handle: async () => null,
    }),
    endpoint({
      ...route,
      path: '/projects/{project_id}/small',
      access: { project: 'update' },
      bodyLimit: MiB,
      handle: async () => null,
    }),
    endpoint({
      ...{ method: 'post', path: '/named', summary: 'x', tag: 'x', access: 'signedIn', errors: ['NotFound'], body },
      admit: async (caller, { headers }) => (await gate.authorize(caller, { project: 'read' }, String(headers.project)))?.id,
      handle: async () => null,
    }),
  ];
  http = await serve(
    createApp({ endpoints, gate, log: pino({ level: 'silent' }), apiKeyHeaders: ['Key'], checkReplies: true, bodies }),
  );
});
afterAll(() => http.close());
// Requests that a test has left open end after it.
beforeEach(() => expect.poll(() => bodies.memory.bytes).toBe(0));

/** A request whose head is sent, and that waits for its body. */
async function begun(path: string, headers: Record<string, string | number>): Promise<RawConnection> {
  const connection = await rawConnection(http.url);
  onTestFinished(() => void connection.socket.destroy());
  const lines = Object.entries({ Host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return connection;
}

/** Spaces, which JSON lets stand anywhere, as fast as they are taken. */
const send = ({ socket }: RawConnection, bytes: number) =>
  new Promise<void>((resolve) => socket.write(Buffer.alloc(bytes, ' '), () => resolve()));

/** A connection that holds so many bytes of its account's share, and goes on sending just fast enough. */
async function holding(account: string, bytes: number, path = '/projects/p/things'): Promise<RawConnection> {
  const before = bodies.memory.bytes;
  const connection = await begun(path, { account, 'Content-Length': bytes + MiB });
  await send(connection, bytes);
  const drip = setInterval(() => connection.socket.write(Buffer.alloc(4_000, ' ')), 50);
  onTestFinished(() => clearInterval(drip));
  await expect.poll(() => bodies.memory.bytes - before).toBeGreaterThan(bytes - MiB);
  return connection;
}

const post = (account: string, path: string, sent: Uint8Array<ArrayBuffer> | string, headers: Record<string, string> = {}) =>
  fetch(http.url + path, { method: 'POST', body: sent, headers: { account, 'content-type': 'application/json', ...headers } });
const items = (bytes: number) => JSON.stringify({ items: ['x'.repeat(bytes)] });

describe('a body that comes', () => {
  test('slower than it must is 408, and its connection ends', async () => {
    const slow = await begun('/projects/p/things', { account: 'slow', 'Content-Length': 100_000 });
    await send(slow, 20_000);
    const drip = setInterval(() => slow.socket.writable && slow.socket.write(' '), 50);
    onTestFinished(() => clearInterval(drip));
    const { status, text } = await slow.answer();
    expect(status).toBe(408);
    expect(JSON.parse(text).detail).toMatch(/less than 10000 bytes a second/);
    await slow.closed;
    expect(bodies.memory.bytes).toBe(0);
  });

  test('slower than it must is 408 in gzip, too: what it unpacks to does not count', async () => {
    const slow = await begun('/projects/p/log', { account: 'slow', 'Content-Length': 100_000, 'Content-Encoding': 'gzip' });
    const packed = gzipSync(Buffer.alloc(MiB, ' '), { level: 9 });
    let at = 0;
    const drip = setInterval(() => slow.socket.writable && slow.socket.write(packed.subarray(at, ++at)), 20);
    onTestFinished(() => clearInterval(drip));
    expect((await slow.answer()).status).toBe(408);
  });

  test('without an end is 413, and its connection ends although more comes', async () => {
    const endless = await begun('/projects/p/small', { account: 'endless', 'Transfer-Encoding': 'chunked' });
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    const sending = setInterval(() => endless.socket.writable && endless.socket.write(chunk), 10);
    onTestFinished(() => clearInterval(sending));
    expect((await endless.answer()).status).toBe(413);
    await endless.closed;
  });

  test('steadily is taken, however long that lasts', async () => {
    const steady = await begun('/projects/p/things', { account: 'steady', 'Content-Length': 80_002 });
    for (let sent = 0; sent < 80_000; sent += 2_000) {
      await send(steady, 2_000);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    steady.socket.write('{}');
    expect((await steady.answer()).status).toBe(200);
  });
});

describe('an account that holds its share', () => {
  test('is told to come again, and others are not', async () => {
    const hog = await holding('hog', 7 * MiB);
    const refused = await post('hog', '/projects/other/things', items(2 * MiB));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(((await refused.json()) as { detail: string }).detail).toMatch(/of this account or project take its share/);
    expect((await post('ada', '/projects/q/things', items(2 * MiB))).status).toBe(200);
    hog.socket.destroy();
    await expect.poll(() => bodies.memory.bytes).toBe(0);
    expect((await post('hog', '/projects/other/things', items(2 * MiB))).status).toBe(200);
  });

  test('may still ask what is small', async () => {
    await holding('hog', 7.5 * MiB);
    expect((await post('hog', '/projects/p/things', '{}')).status).toBe(200);
    expect((await post('hog', '/projects/p/log', items(MiB))).status).toBe(429);
  });

  test('is refused for what a small body unpacks to', async () => {
    await holding('hog', 6 * MiB);
    const packed = gzipSync(items(6 * MiB));
    expect(packed.length).toBeLessThan(64 * 1024);
    expect((await post('hog', '/projects/p/things', packed, { 'content-encoding': 'gzip' })).status).toBe(429);
  });

  test('holds it for its project as well', async () => {
    await holding('hog', 7 * MiB);
    expect((await post('ada', '/projects/p/things', items(2 * MiB))).status).toBe(429);
    expect((await post('ada', '/projects/q/things', items(2 * MiB))).status).toBe(200);
  });

  test('leaves room for whoever comes later, with many others at it', async () => {
    for (const [account, bytes] of [
      ['a', 7],
      ['b', 4],
      ['c', 1],
    ] as const)
      await holding(account, bytes * MiB, `/projects/of-${account}/things`);
    expect((await post('ada', '/projects/q/log', items(MiB))).status).toBe(200);
  });
});

describe('who may not send a body', () => {
  test('is told before any of it has come', async () => {
    const refused = await begun('/projects/closed/things', { account: 'ada', 'Content-Length': MiB });
    expect((await refused.answer()).status).toBe(404);
  });

  test('is told so as well where a header names the project', async () => {
    const refused = await begun('/named', { account: 'ada', project: 'closed', 'Content-Length': MiB });
    expect((await refused.answer()).status).toBe(404);
    expect((await post('ada', '/named', '{}', { project: 'open' })).status).toBe(200);
  });
});

test('a body of many short values is refused for their number, and one of long texts is not', async () => {
  const dense = `{"items":[${'1,'.repeat(4_500_000)}1]}`;
  const refused = await post('ada', '/projects/p/things', dense);
  expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
    413,
    'the body holds more than 4000000 JSON values; send less per request',
  ]);
  const text = '\\",[{'.repeat(700_000);
  expect((await post('ada', '/projects/p/things', JSON.stringify({ items: [text, 'b\\', text] }))).status).toBe(200);
});

test('of a route without a limit of its own it may hold fewer values', async () => {
  const ofProject = { project: 'open' };
  const refused = await post('ada', '/named', `{"items":[${'1,'.repeat(250_000)}1]}`, ofProject);
  expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
    413,
    'the body holds more than 250000 JSON values; send less per request',
  ]);
  expect((await post('ada', '/named', `{"items":[${'1,'.repeat(240_000)}1]}`, ofProject)).status).toBe(200);
});

test('a request may hold so many traces and spans', () => {
  const traces = (count: number, spans: number) =>
    LogTracesIngestRequest.safeParse({
      log_stream_id: newId(),
      traces: Array.from({ length: count }, () => ({
        input: 'x',
        spans: Array.from({ length: spans }, () => ({ type: 'tool' })),
      })),
    });
  expect(traces(100, 9).success).toBe(true);
  for (const refused of [traces(100_001, 0), traces(2, 50_000)])
    expect(refused.error?.issues).toMatchObject([
      { message: 'a request may hold 100000 traces and spans; send less per request' },
    ]);
});

test('the filters of a list of scorers have so many values in all', () => {
  const filters = (count: number) =>
    ListScorersRequest.safeParse({
      filters: Array.from({ length: count }, () => ({ name: 'label', operator: 'one_of', value: Array(100).fill('x') })),
    });
  expect(filters(10).success).toBe(true);
  expect(filters(11).error?.issues).toMatchObject([{ message: 'the filters have at most 1000 values in all: ask for fewer' }]);
});

test('a body that can never be held is refused for its size', async () => {
  const small = new ByteShares(10 * MiB, 'bodies');
  expect(small.largestRequest).toBe(7.5 * MiB);
  const others = small.open(['a']);
  others.add(1);
  expect(() => small.open(['b']).add(small.largestRequest)).toThrow(/all that the service has/);
  others.release();
  const share = small.open(['b', 'p']);
  share.add(20 * MiB);
  share.release();
  share.release();
  expect(small.bytes).toBe(0);
});
