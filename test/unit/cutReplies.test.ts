import { once } from 'node:events';
import { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import { endpoint, Reply } from '../../api/http/route.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { serve } from '../support/http.ts';

interface Line {
  level: number;
  msg: string;
  path: string;
}
const { debug, warn, error } = pino.levels.values as { debug: number; warn: number; error: number };
type Wait = PromiseWithResolvers<void>;

/** A service that sends parts of a file, and what it logs. */
async function sending(
  parts: (signal: AbortSignal) => AsyncGenerator<string, void>,
  begin: () => Promise<void> = async () => undefined,
) {
  const lines: Line[] = [];
  const file = endpoint({
    ...({ method: 'post', path: '/file', summary: 'A file', tag: 'Health', access: 'public' } as const),
    produces: ['text/csv'],
    async handle({ signal }) {
      await begin();
      return new Reply({ stream: parts(signal), headers: { 'Content-Type': 'text/csv', 'Content-Disposition': 'attachment' } });
    },
  });
  const log = pino(
    { level: 'debug' },
    new Writable({
      write(line, _encoding, done) {
        lines.push(JSON.parse(String(line)));
        done();
      },
    }),
  );
  const nobody = { authenticate: () => Promise.reject(new Error('nobody')), authorize: async () => undefined };
  const app = createApp({ endpoints: [file], gate: nobody, log, apiKeyHeaders: [], checkReplies: true });
  return { http: await serve(app), lines };
}
const logged = async (lines: readonly Line[]): Promise<Line[]> => {
  while (lines.length === 0) await pause(10);
  return [...lines];
};

test('a caller who leaves amid a reply is no error of the service, and what makes the reply stops', async () => {
  let stopped = false;
  const { http, lines } = await sending(async function* () {
    try {
      for (;;) {
        yield 'x'.repeat(100_000);
        await pause(1);
      }
    } finally {
      stopped = true;
    }
  });
  const leaving = new AbortController();
  const response = await fetch(`${http.url}/file`, { method: 'POST', signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  expect(await logged(lines)).toMatchObject([{ level: debug, msg: 'the caller left amid the reply', path: '/file' }]);
  expect(stopped).toBe(true);
  await http.close();
});

test('nor is one who leaves before the first byte', async () => {
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { http, lines } = await sending(
    async function* () {
      yield 'x';
    },
    () => {
      asked.resolve();
      return left.promise;
    },
  );
  const leaving = new AbortController();
  const answer = fetch(`${http.url}/file`, { method: 'POST', signal: leaving.signal });
  await asked.promise;
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await pause(100); // until the service has seen the connection close
  left.resolve();
  expect(await logged(lines)).toMatchObject([{ level: debug, msg: 'the caller left amid the reply' }]);
  await http.close();
});

test('nor is one who leaves while the first part is made, which ends then', async () => {
  const [asked, left, ended] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Wait, Wait, Wait];
  const { http, lines } = await sending(async function* (signal) {
    try {
      asked.resolve();
      await once(signal, 'abort');
      left.resolve();
      yield 'x';
    } finally {
      ended.resolve();
    }
  });
  const leaving = new AbortController();
  const answer = fetch(`${http.url}/file`, { method: 'POST', signal: leaving.signal });
  await asked.promise;
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await left.promise;
  await ended.promise;
  expect(await logged(lines)).toMatchObject([{ level: debug, msg: 'the caller left amid the reply' }]);
  await http.close();
});

test('what fails for a caller who has left is no error either', async () => {
  const asked = Promise.withResolvers<void>();
  const { http, lines } = await sending(async function* (signal) {
    asked.resolve();
    await once(signal, 'abort');
    yield* [] as string[];
    signal.throwIfAborted();
  });
  const leaving = new AbortController();
  const answer = fetch(`${http.url}/file`, { method: 'POST', signal: leaving.signal });
  await asked.promise;
  leaving.abort();
  await expect(answer).rejects.toThrow();
  expect(await logged(lines)).toMatchObject([{ level: debug, msg: 'the caller left amid the reply' }]);
  await http.close();
});

test('what fails before the first part is answered as an error, with nothing of the file', async () => {
  const { http, lines } = await sending(async function* () {
    yield* [] as string[];
    throw new ServiceError('Unavailable', 'the store is gone', { retryAfterSeconds: 2 });
  });
  const response = await fetch(`${http.url}/file`, { method: 'POST' });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('2');
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(response.headers.get('content-disposition')).toBeNull();
  expect(await response.json()).toMatchObject({ detail: 'the store is gone' });
  expect(await logged(lines)).toMatchObject([{ level: warn, msg: 'not available' }]);
  await http.close();
});

test('a file of nothing is an empty one', async () => {
  const { http } = await sending(async function* () {
    yield* [] as string[];
  });
  const response = await fetch(`${http.url}/file`, { method: 'POST' });
  expect([response.status, response.headers.get('content-disposition'), await response.text()]).toEqual([200, 'attachment', '']);
  await http.close();
});

test('a reply that breaks is cut off and logged as an error', async () => {
  const { http, lines } = await sending(async function* () {
    yield 'x'.repeat(100_000);
    throw new Error('the store is gone');
  });
  const answer = fetch(`${http.url}/file`, { method: 'POST' }).then((response) => response.text());
  await expect(answer).rejects.toThrow();
  expect(await logged(lines)).toMatchObject([{ level: error, msg: 'reply cut off', path: '/file' }]);
  await http.close();
});
