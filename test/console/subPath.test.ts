import { existsSync } from 'node:fs';
import { createServer, type Server, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { startTestService } from '../support/service.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('a service below a path', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  const proxies: Server[] = [];

  /** A proxy that has the service below `/tools/assay`, and nothing else. */
  async function proxy(isStripping: boolean): Promise<string> {
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      if (!path.startsWith('/tools/assay')) return response.writeHead(418).end();
      const { hostname, port } = new URL(service.url);
      const to = send(
        {
          ...{ hostname, port, method: request.method, headers: request.headers },
          path: isStripping ? path.slice('/tools/assay'.length) || '/' : path,
        },
        (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        },
      );
      request.pipe(to);
    });
    proxies.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/tools/assay`;
  }

  beforeAll(async () => {
    service = await startTestService({ PUBLIC_URL: 'https://example.com/tools/assay' });
    pages = await consoleBrowser(executablePath, service.url, /418/);
    project = await service.project();
    await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
  });
  afterAll(async () => {
    await using _service = service;
    for (const one of proxies) one.close();
    await pages?.[Symbol.asyncDispose]();
  });

  describe.each([
    ['a proxy that strips the path', true],
    ['a proxy that passes the path on', false],
  ])('behind %s', (_name, isStripping) => {
    test('the console signs in, stays signed in after a reload, and its cookie is of this path alone', async () => {
      const at = await proxy(isStripping);
      const page = await pages.open();
      await page.goto(`${at}/`);
      await page.waitForURL(`${at}/console/sign-in?**`);
      await pages.signInOn(page, { key: service.apiKey });
      await page.getByRole('link', { name: project.name }).click();
      await page.getByText('Nothing is logged here yet').waitFor();
      await page.reload();
      await page.getByText('Nothing is logged here yet').waitFor();
      expect(page.url()).toBe(`${at}/console/p/${project.id}/records`);
      expect((await page.context().cookies(`${at}/console`)).map(({ path, sameSite }) => [path, sameSite])).toEqual([
        ['/tools/assay', 'Strict'],
      ]);
      expect(await page.context().cookies(new URL('/other', at).href)).toEqual([]);
    });

    test('the API document shows and calls the service there', async () => {
      const at = await proxy(isStripping);
      const page = await pages.open();
      await page.goto(`${at}/docs`);
      expect(await page.locator('.servers select').inputValue()).toBe('/tools/assay');
    });

    test('the login page of experiments, its form and where it leads are below the path', async () => {
      const at = await proxy(isStripping);
      const experiment = `${at}/projects/${project.id}/experiments/${project.id}`;
      const html = { Accept: 'text/html', 'Sec-Fetch-Site': 'none' };
      const refused = await fetch(experiment, { headers: html, redirect: 'manual' });
      const next = encodeURIComponent(`/projects/${project.id}/experiments/${project.id}`);
      expect(refused.headers.get('location')).toBe(`/tools/assay/pages/login?next=${next}`);
      const login = await (await fetch(new URL(refused.headers.get('location') as string, at), { headers: html })).text();
      expect(login).toContain('action="/tools/assay/pages/login"');
      const fields = new URLSearchParams({ api_key: service.apiKey, next: decodeURIComponent(next) });
      const done = await fetch(`${at}/pages/login`, { method: 'POST', body: fields, headers: html, redirect: 'manual' });
      expect([done.status, done.headers.get('location')]).toEqual([303, new URL(experiment).pathname]);
    });
  });

  test('a link of another site opens the page of an experiment for who is signed in', async () => {
    const at = await proxy(false);
    const page = await pages.open();
    await page.goto(`${at}/console/`);
    await pages.signInOn(page, { key: service.apiKey });
    await page.getByRole('link', { name: project.name }).waitFor();
    const elsewhere = createServer((_request, response) =>
      response
        .setHeader('Content-Type', 'text/html')
        .end(`<a href="${at}/projects/${project.id}/experiments/${project.id}">go</a>`),
    );
    proxies.push(elsewhere);
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    await page.goto(`http://localhost:${(elsewhere.address() as AddressInfo).port}/`);
    await page.getByRole('link', { name: 'go' }).click();
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
  });
});
