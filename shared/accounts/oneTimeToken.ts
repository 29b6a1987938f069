import { createHash, randomBytes } from 'node:crypto';

/** A secret that is shown once and good for one use. Only its hash is stored. */
export const newOneTimeToken = (): string => randomBytes(32).toString('base64url');

export const oneTimeTokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');
