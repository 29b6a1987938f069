import { errorCodes } from '../../shared/errors/errors.ts';
import type { Endpoint } from './route.ts';

export const JSON_TYPE = 'application/json';

/**
 * Returns the media types of a route's answers by status; an answer without a body has none. The statuses of errors follow from the route's
 * declaration, and from the errors that it names itself.
 */
export function answersOf(route: Endpoint): Map<number, readonly string[]> {
  const errorTypes = [...new Set([JSON_TYPE, ...(route.errorForm ? (route.produces ?? []) : [])])];
  return new Map([
    route.status === 204 ? [204, []] : [route.status ?? 200, route.produces ?? [JSON_TYPE]],
    ...errorStatuses(route).map((status) => [status, errorTypes] as const),
  ]);
}

function errorStatuses(route: Endpoint): number[] {
  const hasParams = route.path.includes('{');
  const statuses = [
    ...[422, 431, 500, 503],
    // Where `PUBLIC_URL` is set; probes may name any host.
    ...(route.path === '/healthcheck' ? [] : [421]),
    // Passwords that come with a request are limited where they are wrong.
    ...(route.access === 'public' ? [] : [401, 403, 429]),
    ...(hasParams ? [400, 404] : []),
    ...(route.body ? [400, 408, 413, 415] : []),
    ...(route.errors ?? []).map((name) => errorCodes[name].status),
  ];
  return [...new Set(statuses)].sort((a, b) => a - b);
}

/** @throws Error when `route` answers what it does not say. */
export function checkAnswer(route: Endpoint, status: number, contentType: string | undefined): void {
  const types = answersOf(route).get(status);
  if (!types) throw new Error(`${route.method} ${route.path} answers ${status}, which it does not declare: see \`errors\``);
  const type = contentType?.split(';')[0];
  if (type !== undefined && !types.includes(type))
    throw new Error(`${route.method} ${route.path} answers ${status} with ${type}, which it does not declare: see \`produces\``);
}
