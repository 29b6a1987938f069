import { ServiceError } from '../../shared/errors/errors.ts';
import { HealthcheckResponse } from '../../shared/wire/accounts.ts';
import type { Health } from '../health/health.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export const healthRoutes = (deps: { health: Health; version: string }): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/healthcheck',
    summary: 'Whether the service is ready',
    tag: 'Health',
    access: 'public',
    response: HealthcheckResponse,
    async handle() {
      const { ok, message } = await deps.health();
      if (!ok) throw new ServiceError('Unavailable', message, { retryAfterSeconds: 1 });
      return { api_version: 'v2', message, version: deps.version };
    },
  }),
];
