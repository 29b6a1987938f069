import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { LoginClient } from '../../shared/accounts/credentials.ts';
import { Uuid } from '../../shared/wire/common.ts';
import type { ClientAddresses } from './clientAddress.ts';

/** Bytes of a body that anybody may send. */
export const LOGIN_BODY_BYTES = 64 * 1024;
export const UserParams = z.object({ user_id: Uuid });

const USER_AGENT_LENGTH = 200;

/** Where a login comes from. */
export const loginClient = (clients: ClientAddresses, request: IncomingMessage): LoginClient => ({
  address: clients.of(request),
  userAgent: request.headers['user-agent']?.slice(0, USER_AGENT_LENGTH) ?? null,
});
