import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

const asBrowser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const ask = (path: string, headers: Record<string, string>) => fetch(`${service.url}${path}`, { redirect: 'manual', headers });
const [project, id, other] = [newId(), newId(), newId()];

test.each([
  ['/projects', '/console/'],
  [`/projects/${project}`, `/console/p/${project}/records`],
  [`/v2/projects/${project}`, `/console/p/${project}/records`],
  [`/projects/${project}/log_streams/${id}`, `/console/p/${project}/records?run=${id}`],
  [`/projects/${project}/traces/${id}`, `/console/p/${project}/traces/${id}`],
  [`/projects/${project}/traces/${id}?include_children=false`, `/console/p/${project}/traces/${id}`],
  [`/projects/${project}/sessions/${id}`, `/console/p/${project}/sessions/${id}`],
  [`/projects/${project}/spans/${id}`, `/console/p/${project}/records?kind=spans&open=${id}`],
  [`/projects/${project}/experiments`, `/console/p/${project}/experiments`],
  [`/projects/${project}/experiments/${id}`, `/console/p/${project}/experiments/${id}`],
  [`/projects/${project}/experiments/${id}?tab=figures&q=a+b`, `/console/p/${project}/experiments/${id}?tab=figures&q=a+b`],
  [`/projects/${project}/experiments/${id}?baseline=${other}`, `/console/p/${project}/compare?base=${other}&with=${id}`],
  [`/projects/${project}/experiments/${id}?baseline=`, `/console/p/${project}/experiments/${id}`],
])('a browser at %s is led to the console, a program is answered', async (path, place) => {
  const led = await ask(path, asBrowser);
  expect([led.status, led.headers.get('location')]).toEqual([303, place]);
  for (const headers of [{}, { Accept: 'application/json' }, { ...asBrowser, Authorization: `Bearer ${service.apiKey}` }])
    expect((await ask(path, headers)).status).not.toBe(303);
});

test('what names no thing is left to the API', async () => {
  expect((await ask('/projects/x"y', asBrowser)).status).not.toBe(303);
});

test.each([
  [`/projects/${project}/experiments/${id}`, `/console/p/${project}/experiments/${id}`],
  [`/projects/${project}/experiments/${id}?baseline=${other}`, `/console/p/${project}/compare?base=${other}&with=${id}`],
  [`//evil.example.com/projects/${project}`, `/console/p/${project}/records`],
  ...['/', 'https://evil.example.com/', '//evil.example.com', '/\\evil.example.com', 'javascript:alert(1)', 'http://['].map(
    (next): [string, string] => [next, '/console/'],
  ),
])('the login of old pages that was to lead to %s leads to the console and nowhere else', async (next, place) => {
  const led = await ask(`/pages/login?next=${encodeURIComponent(next)}`, asBrowser);
  expect([led.status, led.headers.get('location')]).toEqual([303, place]);
});
