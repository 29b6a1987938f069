import { ServiceError } from '../../shared/errors/errors.ts';
import { HealthcheckResponse } from '../../shared/wire/accounts.ts';
import { type Endpoint, endpoint } from '../route.ts';

/** Says whether the service can do its work, in a sentence that names the parts it cannot reach. Cheap: clients ask before nearly every operation. */
export type Health = () => Promise<{ ok: boolean; message: string; parts: readonly PartHealth[] }>;

export type PartId = 'record_store' | 'metadata_store' | 'temporal' | 'coordination';

/** One part of the service, as it answered. */
export interface PartHealth {
  id: PartId;
  label: string;
  /** Without it the service is not ready. */
  isNeeded: boolean;
  /** Undefined where it did not answer in time. */
  latencyMs: number | undefined;
}

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
