import { NoQuery } from '../../shared/wire/common.ts';
import { ServiceState } from '../../shared/wire/serviceState.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

/** The parts of the service, and whether each works. */
export const serviceStateRoutes = (deps: { state(): Promise<ServiceState> }): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/service_state',
    summary: 'Parts, queues, disk and limits of the service',
    description:
      'As the process that answers sees them. The health check says in a sentence whether the service is ready, to everyone; this is for users, and says of each part whether it answers.',
    tag: 'Health',
    access: { organization: 'read_users' },
    query: NoQuery,
    response: ServiceState,
    handle: () => deps.state(),
  }),
];
