// A service of its own: it has an administrator's password, and environment that its code must not see.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Gate } from '../../api/http/route.ts';
import { temporalPages } from '../../api/temporalPages/temporalPages.ts';
import { ServiceClient } from '../../client/http.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { processTree } from '../support/processTree.ts';
import { newExperiment } from '../support/runs.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

const EMAIL = 'admin@example.com';
const PASSWORD = 'a-password-of-the-service';
const login = `Basic ${Buffer.from(`${EMAIL}:${PASSWORD}`).toString('base64')}`;

let folder: string;
let service: ServiceProcess;
let pages: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-login-'));
  const runners = join(folder, 'runners');
  execFileSync('mkdir', ['-m', '755', runners]);
  execFileSync('chmod', ['755', folder]);
  const secrets = `
    import { readdirSync, readFileSync } from 'node:fs';
    const tried = (look) => { try { return look(); } catch (err) { return err.code; } };
    export default () => JSON.stringify({
      uid: process.getuid(),
      env: process.env,
      service: tried(() => readFileSync('/proc/' + process.ppid + '/environ', 'latin1')),
      data: tried(() => readdirSync(${JSON.stringify(join(folder, 'data'))})),
    });`;
  await writeFile(join(runners, 'curious.mjs'), secrets);
  const where = await serviceFolder(join(folder, 'data'), {
    ADMIN_EMAIL: EMAIL,
    ADMIN_PASSWORD: PASSWORD,
    RUNNERS_DIR: runners,
    RUNNER_ENV: 'OPENAI_API_KEY',
    OPENAI_API_KEY: 'meant for modules',
  });
  service = await where.start();
  pages = `http://127.0.0.1:${where.environment.TEMPORAL_UI_PORT}`;
});
afterAll(async () => {
  await service?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

async function listenOn(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function ask(headers: Record<string, string>, path = '/', method = 'GET') {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>((resolve, reject) => {
    const sent = httpRequest(`${pages}${path}`, { method, headers }, async (answer) => {
      const text = (await answer.setEncoding('utf8').toArray()).join('');
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
    });
    sent.on('error', reject).end();
  });
}

describe('Temporal’s pages', () => {
  test('are an administrator’s, who logs in', async () => {
    const refused = await ask({});
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer, Basic realm="Assay", charset="UTF-8"']);
    expect((await ask({ authorization: `Basic ${Buffer.from(`${EMAIL}:wrong`).toString('base64')}` })).status).toBe(401);
    const shown = await ask({ authorization: login });
    expect([shown.status, shown.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')]);
    expect(String(shown.headers['content-security-policy'])).toContain("frame-ancestors 'none'");
    expect(shown.headers['x-content-type-options']).toBe('nosniff');
    expect((await ask({ 'service-api-key': service.apiKey }, '/api/v1/namespaces')).text).toContain('default');
  });

  test('get no login cookie of the service, which a browser sends to every port', async () => {
    const received: string[] = [];
    const upstream = createServer((request, response) => {
      received.push(request.headers.cookie ?? 'none');
      response.end();
    });
    const listening = await listenOn(upstream);
    const gate = { authenticate: async () => ({}), authorize: async () => undefined } as unknown as Gate;
    const app = temporalPages({
      gate,
      log: pino({ enabled: false }),
      upstream: listening,
      url: 'http://127.0.0.1',
      apiKeyHeaders: [],
    });
    const shown = createServer(app);
    const url = await listenOn(shown);
    for (const cookie of ['_csrf=1; assay_page=secret; refresh_token=secret;theme=dark', 'assay_page=secret'])
      await (await fetch(url, { headers: { cookie } })).text();
    expect(received).toEqual(['_csrf=1; theme=dark', 'none']);
    for (const server of [shown, upstream]) server.close();
  });

  test('are not a user’s', async () => {
    const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
    await client.send('/users', { body: { email: 'user@example.com', password: 'Another-Password-1', role: 'user' } });
    const authorization = `Basic ${Buffer.from('user@example.com:Another-Password-1').toString('base64')}`;
    expect((await ask({ authorization })).status).toBe(403);
  });

  test('answer no other host, and take nothing from other pages', async () => {
    expect((await ask({ authorization: login, host: 'evil.example.com' })).status).toBe(421);
    const origin = 'http://evil.example.com';
    expect((await ask({ authorization: login, origin }, '/api/v1/namespaces', 'POST')).status).toBe(403);
  });

  const program = '/usr/bin/chromium';
  describeWithServer('in a browser', { name: 'chromium', path: existsSync(program) ? program : undefined }, (executablePath) => {
    test('work as they did', async () => {
      const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
      try {
        const context = await browser.newContext({ httpCredentials: { username: EMAIL, password: PASSWORD } });
        const page = await context.newPage();
        await page.goto(`${pages}/namespaces/default/workflows`);
        await page.getByText('Workflows').first().waitFor();
      } finally {
        await browser.close();
      }
    });
  });
});

describe('what the service was given', () => {
  test('is not in the environment of Temporal’s server and its guard', async () => {
    const below = (await processTree(service.child.pid as number)).filter(({ pid }) => pid !== service.child.pid);
    expect(below.map(({ command }) => command).join()).toContain('start-dev');
    for (const { pid } of below) {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1');
      expect(environment).not.toMatch(/PASSWORD|API_KEY|SECRET|DATA_DIR/);
    }
  });

  test('a runner module cannot read, but for what RUNNER_ENV names', async () => {
    const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
    const { id } = await client.send<{ id: string }>('/projects', { body: { name: 'curious' } });
    const experiment = await newExperiment(client, id, { name: 'curious' });
    await experiment.start({ runner: { kind: 'module', name: 'curious' }, records: [{ input: 'a' }] });
    await experiment.end();
    const [trace] = await experiment.traces();
    const seen = JSON.parse(trace?.output ?? '{}');
    expect(seen.env.OPENAI_API_KEY).toBe('meant for modules');
    expect(Object.keys(seen.env).join()).not.toMatch(/ADMIN|DATA_DIR|SECRET/);
    if (process.getuid?.() !== 0) return; // only root may change users
    expect(seen).toMatchObject({ uid: 65_534, service: 'EACCES', data: 'EACCES' });
  });
});
