import type { Domain } from '../../shared/assemble.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ClientAddresses } from '../callers/clientAddress.ts';
import type { Endpoint } from '../http/route.ts';
import { accountRoutes } from '../routes/accounts.ts';
import { invitationRoutes } from '../routes/invitations.ts';
import { loginSessionRoutes } from '../routes/loginSessions.ts';

/** Users, API keys, groups, logins and passwords. */
export function accountEndpoints(
  { accounts: { accounts, passwords, credentials }, projects }: Domain,
  clients: ClientAddresses,
): Endpoint[] {
  const deps = { accounts, passwords, credentials, access: projects.access, clients, newId, now: () => new Date() };
  return [...accountRoutes(deps), ...invitationRoutes(deps), ...loginSessionRoutes(deps)];
}
