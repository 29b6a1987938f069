// A service of its own: it has a public address, which is in its answers.

import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../shared/config/config.ts';
import { rawConnection } from '../support/rawHttp.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ PUBLIC_URL: 'https://Assay.example.com:443/' });
});
afterAll(() => service[Symbol.asyncDispose]());

/** One request for a host that is not the address of the service, which `fetch` cannot send. */
function ask(
  path: string,
  host: string,
  method = 'GET',
): Promise<{ status: number; headers: NodeJS.Dict<unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${service.url}${path}`, { method, headers: { host } }, async (answer) => {
      const text = (await answer.setEncoding('utf8').toArray()).join('');
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
    });
    sent.on('error', reject).end();
  });
}

const closed = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

describe('every answer', () => {
  test.each([
    ['GET', '/healthcheck', 200],
    ['GET', '/openapi.json', 200],
    ['GET', '/openapi-3.0.json', 200],
    ['GET', '/docs', 200],
    ['GET', '/docs/assets/swagger-ui.css', 200],
    ['GET', '/', 302],
    ['GET', '/projects', 401],
    ['GET', '/nothing', 404],
    ['GET', '/projects/%zz', 400],
    ['DELETE', '/projects', 405],
    ['POST', '/login', 422],
  ])('of %s %s (%i) says what a browser may do with it', async (method, path, status) => {
    const { port } = new URL(service.url);
    const answer = await ask(path, `localhost:${port}`, method);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(closed);
    expect(answer.headers['cache-control']).toBe(path.startsWith('/docs/assets/') ? 'public, max-age=3600' : 'no-store');
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'.*frame-ancestors 'none'/);
    expect(answer.headers['content-security-policy']).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline|\*/);
  });

  test.each([
    ['hello', 'hello\r\n\r\n'],
    ['no host', 'GET /projects HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET /projects HTTP/1.1\r\nHost: assay.example.com\r\nHost: evil.example.com\r\n\r\n'],
  ])('to what is no good request (%s) does so too, in the form of the interface', async (_name, sent) => {
    const connection = await rawConnection(service.url);
    connection.socket.write(sent);
    const answer = await connection.answer();
    expect(answer.status).toBe(400);
    expect(answer.head).toMatch(/x-content-type-options: nosniff/i);
    expect(JSON.parse(answer.text).standard_error.http_status_code).toBe(400);
    connection.socket.destroy();
  });

  test('to an expectation is that of the request, not one of Node', async () => {
    const connection = await rawConnection(service.url);
    connection.socket.write('GET /healthcheck HTTP/1.1\r\nHost: localhost\r\nExpect: the-impossible\r\n\r\n');
    expect((await connection.answer()).status).toBe(200);
    connection.socket.destroy();
  });

  test.each([
    '/docs/assets/',
    '/docs/assets',
    '/docs/assets/index.html',
    '/docs/assets/oauth2-redirect.html',
    '/docs/assets/package.json',
  ])('is one of ours: %s is none', async (path) => {
    const answer = await ask(path, 'localhost');
    expect([answer.status, JSON.parse(answer.text).error_code]).toEqual([404, 1006]);
  });

  test('to the root is a redirect without a page', async () => {
    expect(await ask('/', 'localhost')).toMatchObject({ status: 302, headers: { location: 'docs' }, text: '' });
  });
});

describe('with PUBLIC_URL', () => {
  test.each(['assay.example.com', 'ASSAY.example.com', 'assay.example.com:443', 'localhost:9', '127.0.0.1', '[::1]:80'])(
    'the host %s is answered',
    async (host) => {
      expect((await ask('/v2/openapi.json', host)).status).toBe(200);
    },
  );

  test.each([
    'evil.example.com',
    'assay.example.com.evil.com',
    'assay.example.com:8088',
    'user@assay.example.com',
    '127.0.0.1.evil.com',
    '10.0.0.1',
    'localhost.evil.com',
    'a/b',
  ])('the host %s is refused by a sentence, but may ask for the health', async (host) => {
    for (const path of ['/projects', '/', '/docs', '/v2/openapi.json', '/healthcheck/x']) {
      const { status, text } = await ask(path, host);
      expect([status, JSON.parse(text).detail]).toEqual([
        421,
        'this service is https://assay.example.com and answers for no other host',
      ]);
    }
    expect((await ask('/v2/healthcheck', host)).status).toBe(200);
  });

  test.each([
    'assay.example.com',
    'ftp://assay.example.com',
    'https://assay.example.com/a b',
    'https://assay.example.com/../x',
    'https://assay.example.com//x',
    'https://a:b@assay.example.com',
    'https://x?y',
  ])('%s is no PUBLIC_URL', (PUBLIC_URL) => {
    expect(() => readConfig({ PUBLIC_URL })).toThrow('wrong settings: PUBLIC_URL must');
  });

  test('this machine may not be called by callers from elsewhere', async () => {
    const definition = { endpoint: service.url, authentication_type: 'none', models: ['m'] };
    const { status, body } = await service.request('PUT', '/integrations/custom/here', definition);
    expect([status, (body as { detail: { msg: string }[] }).detail[0]?.msg]).toEqual([
      422,
      expect.stringContaining('is a loopback address'),
    ]);
  });

  test('it is kept in its shortest form', () => {
    expect(readConfig({ PUBLIC_URL: 'HTTPS://Assay.example.com:443/' }).PUBLIC_URL).toBe('https://assay.example.com');
    expect(readConfig({ PUBLIC_URL: 'https://assay.example.com/tools/assay/' }).PUBLIC_URL).toBe(
      'https://assay.example.com/tools/assay',
    );
  });
});
