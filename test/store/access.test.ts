import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import type { Endpoint } from '../../api/http/route.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { type AccountService, startAccountService } from '../support/accountService.ts';
import { everyEndpoint } from '../support/everyEndpoint.ts';
import { type HttpService, serve } from '../support/http.ts';

/** The only routes that answer without credentials. */
const publicRoutes = [
  'GET /annotation_queues/{queue_id}/records/export/{export_id}',
  'GET /healthcheck',
  'GET /ingest/healthz',
  'POST /login',
  'POST /login/api_key',
  'POST /login/social',
  'POST /logout',
  'POST /password_reset',
  'POST /refresh_token',
  'POST /signup',
];

const endpoints = await everyEndpoint();
const nameOf = (route: Endpoint) => `${route.method.toUpperCase()} ${route.path}`;
const guarded = endpoints.filter((route) => route.access !== 'public');

let service: AccountService;
let everything: HttpService;
beforeAll(async () => {
  service = await startAccountService();
  everything = await serve(
    createApp({
      endpoints,
      gate: service.gate,
      log: pino({ level: 'silent' }),
      apiKeyHeaders: ['Service-API-Key'],
      checkReplies: true,
    }),
  );
});
afterAll(async () => {
  await everything.close();
  await service[Symbol.asyncDispose]();
});

const pathOf = (route: Endpoint) =>
  route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name.endsWith('_id') ? newId() : '1'));
const isProjectRoute = ({ access }: Endpoint) => typeof access === 'object' && 'project' in access;

test('the public routes are these and no others', () => {
  const open = endpoints.filter((route) => route.access === 'public').map(nameOf);
  expect(open.sort()).toEqual(publicRoutes);
});

test('every route of a project says what it needs there', () => {
  const ofProjects = endpoints.filter((route) => route.path.includes('{project_id}'));
  expect(ofProjects.filter((route) => !isProjectRoute(route)).map(nameOf)).toEqual([]);
});

test.each(guarded.map((route) => [nameOf(route), route] as const))(
  '%s answers 401 without credentials, and with wrong ones',
  async (_, route) => {
    const method = route.method.toUpperCase();
    for (const prefix of ['', '/v2']) {
      for (const headers of [{}, { authorization: 'Bearer wrong' }, { 'Service-API-Key': 'wrong' }]) {
        const { status, body } = await everything.request(method, prefix + pathOf(route), { headers });
        expect([status, typeof body.detail]).toEqual([401, 'string']);
      }
    }
  },
);

test.each(guarded.filter(isProjectRoute).map((route) => [nameOf(route), route] as const))(
  '%s answers 404 for a project that is not there',
  async (_, route) => {
    const { apiKey } = service.administrator as { apiKey: string };
    const headers = { 'Service-API-Key': apiKey };
    const { status } = await everything.request(route.method.toUpperCase(), pathOf(route), { headers });
    expect(status).toBe(404);
  },
);
