import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { Uuid } from '../shared/wire/common.ts';

/** Bytes of a body that anybody may send. */
export const LOGIN_BODY_BYTES = 64 * 1024;
export const UserParams = z.object({ user_id: Uuid });

/** The token of a login session that a browser keeps. */
export const refreshCookie = (request: IncomingMessage): string | undefined =>
  /(?:^|;\s*)refresh_token=([^;\s]+)/.exec(request.headers.cookie ?? '')?.[1];
