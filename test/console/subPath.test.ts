// A service of its own: it has a public address below a path, which is in its pages.

import { createServer, type Server, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { startTestService } from '../support/service.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('a service below a path', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  const proxies: Server[] = [];
  /** Paths of others that were asked for. */
  const outside: string[] = [];

  /** A proxy that has the service below `/tools/assay`, and nothing else. */
  async function proxy(isStripping: boolean): Promise<string> {
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      if (!path.startsWith('/tools/assay')) {
        outside.push(path);
        return response.writeHead(418).end();
      }
      const { hostname, port } = new URL(service.url);
      const to = send(
        {
          ...{ hostname, port, method: request.method, headers: request.headers, agent: false }, // none that was idle, which may be closed
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
    ({ service, pages } = await open({
      service: await startTestService({ PUBLIC_URL: 'https://example.com/tools/assay' }),
      expected: /418/,
    }));
    project = await service.project();
    await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
  });
  afterAll(async () => {
    for (const one of proxies) one.close();
  });

  describe.each([
    ['a proxy that strips the path', true],
    ['a proxy that passes the path on', false],
  ])('behind %s', (_name, isStripping) => {
    test('the console signs in, stays signed in after a reload, and its cookie is of this path alone', async () => {
      const at = await proxy(isStripping);
      const page = await pages.open();
      for (const home of [at, `${at}/`]) {
        await page.goto(home);
        await page.waitForURL(`${at}/console/sign-in?**`);
      }
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
      await page.getByRole('link', { name: 'Assay' }).click();
      await page.getByRole('link', { name: project.name }).waitFor();
      expect(outside).toEqual([]);
    });

    test('the API document shows and calls the service there', async () => {
      const at = await proxy(isStripping);
      const page = await pages.open();
      await page.goto(`${at}/docs`);
      expect(await page.locator('.servers select').inputValue()).toBe('/tools/assay');
    });

    test('old links of experiments, and the login that they led to, lead below the path', async () => {
      const at = await proxy(isStripping);
      const experiment = `/projects/${project.id}/experiments/${project.id}`;
      const led = async (path: string) => {
        const answer = await fetch(`${at}${path}`, { headers: { Accept: 'text/html' }, redirect: 'manual' });
        return [answer.status, answer.headers.get('location')];
      };
      const place = `/tools/assay/console/p/${project.id}/experiments/${project.id}`;
      expect(await led(experiment)).toEqual([303, place]);
      expect(await led(`/pages/login?next=${encodeURIComponent(experiment)}`)).toEqual([303, place]);
      expect(await led('/pages/login')).toEqual([303, '/tools/assay/console/']);
    });
  });

  test('a link of another site opens the page of an experiment for who is signed in', async () => {
    const at = await proxy(false);
    const page = await pages.open();
    await page.goto(`${at}/console/`);
    await pages.signInOn(page, { key: service.apiKey });
    await page.getByRole('link', { name: project.name }).waitFor();
    const elsewhere = createServer((_request, response) =>
      response.setHeader('Content-Type', 'text/html').end(`<a href="${at}/projects/${project.id}/experiments/${newId()}">go</a>`),
    );
    proxies.push(elsewhere);
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    await page.goto(`http://localhost:${(elsewhere.address() as AddressInfo).port}/`);
    await page.getByRole('link', { name: 'go' }).click();
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
  });
});
