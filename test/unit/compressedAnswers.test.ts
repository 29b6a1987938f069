import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import { endpoint, type Gate, Reply } from '../../api/http/route.ts';
import { type HttpService, serve } from '../support/http.ts';

const rows = Array.from({ length: 500 }, (_, row) => ({ row, text: 'Zürich' }));

let http: HttpService;
beforeAll(async () => {
  const route = { method: 'get', summary: 'An answer', tag: 'Health', access: 'public' } as const;
  const endpoints = [
    endpoint({ ...route, path: '/short', handle: async () => rows[0] }),
    endpoint({ ...route, path: '/long', handle: async () => rows }),
    endpoint({
      ...route,
      path: '/lines',
      produces: ['application/x-ndjson'],
      handle: async () =>
        new Reply({
          headers: { 'Content-Type': 'application/x-ndjson; charset=utf-8' },
          stream: (async function* () {
            for (const row of rows) yield `${JSON.stringify(row)}\n`;
          })(),
        }),
    }),
    endpoint({
      ...route,
      path: '/streamed',
      produces: ['text/csv'],
      handle: async () =>
        new Reply({
          headers: { 'Content-Type': 'text/csv' },
          stream: (async function* () {
            for (const { row, text } of rows) yield `${row},${text}\n`;
          })(),
        }),
    }),
  ];
  const log = pino({ level: 'silent' });
  http = await serve(createApp({ endpoints, gate: {} as Gate, log, apiKeyHeaders: [], checkReplies: true }));
});
afterAll(() => http.close());

/** Returns what is on the wire, which `fetch` would decompress. */
async function ask(path: string, encodings: string | undefined) {
  const asked = Promise.withResolvers<{ encoding: string | undefined; vary: string | undefined; bytes: Buffer }>();
  const headers = encodings === undefined ? {} : { 'accept-encoding': encodings };
  request(`${http.url}${path}`, { headers }, async (answer) => {
    const bytes = Buffer.concat(await answer.toArray());
    asked.resolve({ encoding: answer.headers['content-encoding'], vary: answer.headers.vary, bytes });
  })
    .on('error', asked.reject)
    .end();
  return asked.promise;
}

test.each(['/long', '/streamed', '/lines'])('%s is compressed as its caller asks', async (path) => {
  const plain = await ask(path, undefined);
  expect(plain.encoding).toBeUndefined();
  const brotli = await ask(path, 'gzip, deflate, br');
  expect([brotli.encoding, brotliDecompressSync(brotli.bytes)]).toEqual(['br', plain.bytes]);
  const gzip = await ask(path, 'gzip');
  expect([gzip.encoding, gunzipSync(gzip.bytes)]).toEqual(['gzip', plain.bytes]);
  expect((await ask(path, 'identity')).encoding).toBeUndefined();
  expect(Math.max(brotli.bytes.length, gzip.bytes.length)).toBeLessThan(plain.bytes.length / 3);
  for (const answer of [plain, brotli, gzip]) expect(answer.vary).toBe('Accept-Encoding');
});

test('a short answer is sent as it is', async () => {
  const answer = await ask('/short', 'gzip, br');
  expect([answer.encoding, JSON.parse(String(answer.bytes))]).toEqual([undefined, rows[0]]);
});
