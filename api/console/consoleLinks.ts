import type { Request, RequestHandler } from 'express';
import { Uuid } from '../../shared/wire/common.ts';
import { publicPathOf } from '../http/publicHost.ts';

type Place = (project: string, id: string, query: URLSearchParams) => string;

/** Addresses of the API and the pages of the console that show the same, below `/console`. Ids are in their order. */
const places: readonly [path: string, place: Place][] = [
  ['/projects', () => '/'],
  ['/projects/:id', (project) => `/p/${project}/records`],
  ['/projects/:id/log_streams/:id', (project, run) => `/p/${project}/records?run=${run}`],
  ['/projects/:id/traces/:id', (project, trace) => `/p/${project}/traces/${trace}`],
  ['/projects/:id/sessions/:id', (project, session) => `/p/${project}/sessions/${session}`],
  ['/projects/:id/spans/:id', (project, span) => `/p/${project}/records?kind=spans&open=${span}`],
  ['/projects/:id/experiments', (project) => `/p/${project}/experiments`],
  ['/projects/:id/experiments/:id', experiment],
];
const routes = places.map(([path, place]) => ({
  pattern: new RegExp(`^${path.replaceAll(':id', '([\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12})')}/?$`, 'i'),
  place,
}));

/** Links that were written down long ago name a baseline: they lead to the comparison with it. What else an address says is kept. */
function experiment(project: string, id: string, query: URLSearchParams): string {
  const baseline = Uuid.safeParse(query.get('baseline'));
  if (baseline.success) return `/p/${project}/compare?base=${baseline.data}&with=${id}`;
  query.delete('baseline');
  return `/p/${project}/experiments/${id}${query.size > 0 ? `?${query}` : ''}`;
}

/** Where the console shows what an address of the API names; undefined where it shows no such thing. */
function placeOf(address: string): string | undefined {
  const base = 'http://service.invalid';
  if (!URL.canParse(address, base)) return undefined;
  const { pathname, searchParams } = new URL(address, base);
  for (const { pattern, place } of routes) {
    const [is, project = '', id = ''] = pattern.exec(pathname) ?? [];
    if (is !== undefined) return place(project, id, searchParams);
  }
  return undefined;
}

/**
 * Leads a browser that asks for a project, a run, an experiment or a record at its address of the API to the console; programs get their JSON there. The
 * address of a login leads to what was to be shown after it: the console asks for a login by itself.
 */
export const consoleLinks: RequestHandler = (request, response, next) => {
  if (request.method !== 'GET' && request.method !== 'HEAD') return next();
  const isLogin = request.path === '/pages/login';
  const place = isLogin
    ? (placeOf(String(request.query.next ?? '')) ?? '/')
    : wantsPage(request)
      ? placeOf(request.url)
      : undefined;
  if (place === undefined) return next();
  response.writeHead(303, { Location: `${publicPathOf(request)}/console${place}`, Vary: 'Accept' }).end();
};

/** Browsers name HTML first; programs take JSON or anything, and those that send credentials of the API are programs. */
const wantsPage = (request: Request): boolean =>
  request.headers.authorization === undefined && request.accepts(['json', 'html']) === 'html';
