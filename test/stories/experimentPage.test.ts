import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approveExperiment, createExperiment, runExperiment } from '../../client/index.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

const EMAIL = 'admin@example.com';
const PASSWORD = 'a-password-of-the-service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: PASSWORD });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const asBrowser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const at = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, { redirect: 'manual', ...init });
const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) });

async function failingExperiment(project?: { id: string }) {
  project ??= await service.project();
  return runExperiment({
    client: service.client,
    projectId: project.id,
    experimentName: 'every second <b>fails</b>',
    dataset: [
      { input: 'one', output: 'ONE' },
      { input: '<script>two</script>', output: 'TWO' },
    ],
    function: (text: string) => {
      if (text.includes('two')) throw new Error('no <i>two</i>');
      return text.toUpperCase();
    },
    metrics: ['exact_match'],
  });
}

test('the address of an experiment is a page for browsers alone, behind a login', async () => {
  const { link, experiment } = await failingExperiment();
  const path = new URL(link).pathname;
  const asProgram = await at(path, { headers: { 'Service-API-Key': service.apiKey, Accept: '*/*' } });
  expect(((await asProgram.json()) as { id: string }).id).toBe(experiment.id);
  const refused = await at(path, { headers: asBrowser });
  expect([refused.status, refused.headers.get('location')]).toEqual([303, `/pages/login?next=${encodeURIComponent(path)}`]);

  const wrong = await at('/pages/login', form({ email: EMAIL, password: 'wrong', next: path }));
  expect([wrong.status, await wrong.text()]).toEqual([401, expect.stringContaining('role="alert"')]);
  const loggedIn = await at('/pages/login', form({ api_key: service.apiKey, next: path }));
  expect([loggedIn.status, loggedIn.headers.get('location')]).toEqual([303, path]);
  const [cookie = ''] = loggedIn.headers.getSetCookie();
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
  const headers = { ...asBrowser, Cookie: cookie.split(';', 1)[0] as string };

  const shown = await at(path, { headers });
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(shown.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  const text = await shown.text();
  expect(text).toContain('every second &lt;b&gt;fails&lt;/b&gt;');
  expect(text).toContain('&lt;script&gt;two&lt;/script&gt;');
  expect(text).not.toContain('<script>two');

  expect((await at(path, { headers: { Cookie: headers.Cookie } })).status).toBe(401); // the API reads no cookie
  const unknown = await at(path.replace(experiment.id, crypto.randomUUID()), { headers });
  expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);

  const loggedOut = await at('/pages/logout', { method: 'POST', headers });
  expect(loggedOut.status).toBe(303);
  expect((await at(path, { headers })).status).toBe(303);
});

test('a metric without a value is on the page with its reason', async () => {
  const { link } = await runExperiment({
    ...{ client: service.client, projectId: (await service.project()).id, experimentName: 'misnamed' },
    dataset: [{ input: 'one', expected: 'one' }],
    function: (text: string) => text,
    metrics: ['exact_match'],
  });
  const loggedIn = await at('/pages/login', form({ api_key: service.apiKey }));
  const Cookie = (loggedIn.headers.getSetCookie()[0] as string).split(';', 1)[0] as string;
  const shown = await (await at(new URL(link).pathname, { headers: { ...asBrowser, Cookie } })).text();
  expect(shown).toMatch(
    /<li>Exact Match has no value: the row has no reference output: .*, so rename &quot;expected&quot;\.<\/li>/,
  );
});

test('the page of a run lists the runs of its series in order', async () => {
  const { client } = service;
  const { id } = await service.project();
  const names = ['nightly', 'nightly 2026-11-01 at 10:00:00.000', 'nightly 2026-11-02 at 10:00:00.000', 'weekly'];
  const ids: string[] = [];
  for (const name of names) ids.push((await createExperiment({ client, projectId: id, experimentName: name })).id);
  await approveExperiment({ client, projectId: id, experimentId: ids[1] as string });
  const loggedIn = await at('/pages/login', form({ api_key: service.apiKey }));
  const Cookie = (loggedIn.headers.getSetCookie()[0] as string).split(';', 1)[0] as string;
  const page = async (run: string | undefined) =>
    (await at(`/projects/${id}/experiments/${run}`, { headers: { ...asBrowser, Cookie } })).text();
  const shown = await page(ids[2]);
  const places = names.slice(0, 3).map((name) => shown.lastIndexOf(`>${name}<`));
  expect(places.every((place, index) => place > (places[index - 1] ?? 0))).toBe(true);
  expect(shown).toContain('<h2>Runs of nightly</h2>');
  expect(shown.slice(places[1], places[2])).toMatch(/<td>\d{4}-\d\d-\d\d \d\d:\d\d UTC<\/td><\/tr>/);
  expect(await page(ids[3])).not.toContain('Runs of');
});

test('a login leads to pages of this service alone, and takes forms from them alone', async () => {
  const elsewhere = [
    'https://evil.example.com/',
    '//evil.example.com',
    '/\\evil.example.com',
    'javascript:alert(1)',
    '/.//evil.example.com',
    '/x/..//evil.example.com',
    '/.\\/evil.example.com',
    '/%2e//evil.example.com',
  ];
  for (const next of elsewhere) {
    const answer = await at('/pages/login', form({ api_key: service.apiKey, next }));
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
  }
  const foreign = await at('/pages/login', {
    ...form({ api_key: service.apiKey }),
    headers: { Origin: 'https://evil.example.com' },
  });
  expect(foreign.status).toBe(403);
});

test('an experiment of a project that the reader does not see is not there', async () => {
  const { link } = await failingExperiment();
  await service.request('POST', '/users', { email: 'reader@example.com', password: 'Another-Password-1', role: 'user' });
  const login = await at('/pages/login', form({ email: 'reader@example.com', password: 'Another-Password-1' }));
  const [cookie = ''] = login.headers.getSetCookie();
  const shown = await at(new URL(link).pathname, { headers: { ...asBrowser, Cookie: cookie.split(';', 1)[0] as string } });
  expect(shown.status).toBe(404);
});

const program = '/usr/bin/chromium';
describeWithServer('in a browser', { name: 'chromium', path: existsSync(program) ? program : undefined }, (executablePath) => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });
    page = await browser.newPage();
  });
  afterAll(() => browser?.close());

  test('whoever logs in reads the figures, the failed rows and the way to Temporal', async () => {
    const complaints: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    const { link } = await failingExperiment();
    await page.goto(link);
    await page.getByLabel('E-mail address').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'every second <b>fails</b>' }).waitFor();
    const metric = page.getByRole('row', { name: /exact match/i });
    expect(await metric.textContent()).toMatch(/Exact Match\n1\n.*1 left out/s);
    expect(await page.getByRole('table').last().textContent()).toContain('no <i>two</i>');
    expect(await page.getByRole('link', { name: 'workflow in Temporal' }).getAttribute('href')).toContain(service.temporalUiUrl);
    expect(complaints).toEqual([]);
  });

  test('whoever chooses a baseline reads the comparison with it', async () => {
    const project = await service.project();
    const first = await failingExperiment(project);
    const second = await failingExperiment(project);
    await page.goto(second.link);
    await page.getByLabel('Baseline').selectOption(first.experiment.id);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('columnheader', { name: 'Verdict' }).waitFor();
    expect(
      await page
        .getByRole('row', { name: /no difference shown/ })
        .first()
        .textContent(),
    ).toContain('0 / 0 / 1');
    await page.goto(`${second.link}?baseline=${crypto.randomUUID()}`);
    expect(await page.locator('p.error').first().textContent()).toMatch(/experiment/);
  });

  test('the page of a run that goes on renews itself', async () => {
    const project = await service.project();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const started = Promise.withResolvers<void>();
    const run = runExperiment({
      client: service.client,
      projectId: project.id,
      experimentName: 'takes a while',
      dataset: [{ input: 'a' }, { input: 'b' }],
      concurrency: 1,
      function: async (text: string) => {
        started.resolve();
        if (text === 'b') await released;
        return text;
      },
    });
    await started.promise;
    const { body } = await service.request('GET', `/projects/${project.id}/experiments`);
    const [experiment] = body as { id: string }[];
    await page.goto(`${service.url}/projects/${project.id}/experiments/${experiment?.id}`);
    await page.getByText('1 of 2 rows').waitFor();
    release();
    await page.getByText('2 of 2 rows').waitFor();
    await page.locator('main:not([data-under-way])').waitFor();
    await run;
  });
});
