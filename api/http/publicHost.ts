import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { isLoopback } from '../../shared/config/config.ts';
import { ServiceError } from '../../shared/errors/errors.ts';

/** The setting of the Express app that holds `PUBLIC_URL`. */
export const PUBLIC_URL = 'public url';

const publicUrlSet = ({ app }: Request): string | undefined => app.get(PUBLIC_URL) as string | undefined;

/** Where callers reach the service, without a slash at the end: `PUBLIC_URL`, or else the host that the request names. */
export const publicUrlOf = (request: Request): string => publicUrlSet(request) ?? `${request.protocol}://${request.get('host')}`;

/** The path below which callers reach the service, `/assay`; empty where that is the root, and without `PUBLIC_URL`. */
export const publicPathOf = (request: Request): string => publicPath(publicUrlSet(request));
export const publicPath = (publicUrl: string | undefined): string =>
  publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');

/**
 * Decides whether a request is for this service by the name in it. With a `publicUrl` only that host and loopback names are: a page of another
 * site whose name an attacker points here (DNS rebinding) is refused. Without one every host is answered.
 * @throws ServiceError `BadRequest` without exactly one Host header (RFC 9112, 3.2), `Misdirected` for the name of another host.
 */
export function hostCheck(publicUrl: string | undefined): (request: IncomingMessage) => void {
  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  return (request) => {
    const { host } = request.headers;
    if (host === undefined) {
      if (own === undefined && request.httpVersion === '1.0') return;
      throw new ServiceError('BadRequest', 'the request has no Host header');
    }
    if (own === undefined) return;
    if (request.headersDistinct.host?.length !== 1) throw new ServiceError('BadRequest', 'the request has several Host headers');
    if (host === own.host) return;
    // A port that the scheme implies may be written or not.
    const text = `${own.protocol}//${host}`;
    const asked = /^[\w.:[\]-]+$/.test(host) && URL.canParse(text) ? new URL(text) : undefined;
    if (asked && (asked.host === own.host || isLoopback(asked.hostname.replace(/^\[|\]$/g, '')))) return;
    throw new ServiceError('Misdirected', `this service is ${own.origin} and answers for no other host`);
  };
}
