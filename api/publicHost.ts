import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../shared/config/config.ts';
import { ServiceError } from '../shared/errors/errors.ts';

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
