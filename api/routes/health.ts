import { ServiceError } from '../../shared/errors/errors.ts';
import { HealthcheckResponse } from '../../shared/wire/accounts.ts';
import { type Endpoint, endpoint } from '../route.ts';

/** Whether the service can do its work, in a sentence that names what cannot be reached. Cheap: clients ask before nearly every operation. */
export type Health = () => Promise<{ ok: boolean; message: string }>;

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
