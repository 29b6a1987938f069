import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { addressRanges } from '../../shared/config/addressRanges.ts';

/** Finds the client of a request: the peer itself, or the client that trusted proxies name. */
export interface ClientAddresses {
  /**
   * The address of the client, in the shortest form of its family. Behind proxies it is the right-most one of `X-Forwarded-For` or `Forwarded`
   * that is no trusted proxy; the headers of other peers are not read. Where both headers are there and differ, or the entry is no address, it is
   * the proxy's: one of the headers is then the client's own words.
   */
  of(request: IncomingMessage): string;
  /** True where the client speaks TLS: to this process, or to a trusted proxy that says so in `X-Forwarded-Proto` or `Forwarded`. */
  isTls(request: IncomingMessage): boolean;
}

/** @param trusted `TRUSTED_PROXIES`: addresses and CIDRs. */
export function createClientAddresses(trusted: readonly string[]): ClientAddresses {
  const proxies = addressRanges(trusted);

  /** Walks from the peer to the left until a hop is not trusted. Undefined where a hop names no address. */
  const client = (peer: string, hops: readonly (string | undefined)[]): string | undefined => {
    let at: string | undefined = peer;
    for (let index = hops.length - 1; index >= 0 && at !== undefined && proxies.has(at); index -= 1) at = hops[index];
    return at;
  };
  const peerOf = (request: IncomingMessage): string => plain(request.socket.remoteAddress ?? '') ?? 'unknown';

  return {
    of(request) {
      const peer = peerOf(request);
      if (!proxies.has(peer)) return peer;
      const lists = [
        entriesOf(request, 'x-forwarded-for').map(addressIn),
        entriesOf(request, 'forwarded').map((entry) => addressIn(parameterOf(entry, 'for') ?? '')),
      ].filter((hops) => hops.length > 0);
      const found = new Set(lists.map((hops) => client(peer, hops)));
      const [address] = found;
      return found.size === 1 && address !== undefined ? address : peer;
    },
    isTls(request) {
      if ((request.socket as TLSSocket).encrypted === true) return true;
      if (!proxies.has(peerOf(request))) return false;
      // The left-most entry is that of the proxy which the client speaks to.
      const [forwardedProto] = entriesOf(request, 'x-forwarded-proto');
      const [forwarded = ''] = entriesOf(request, 'forwarded');
      return [forwardedProto, parameterOf(forwarded, 'proto')].some((proto) => proto?.toLowerCase() === 'https');
    },
  };
}

/** The entries of a list header, left to right; Node joins several headers of one name. */
function entriesOf(request: IncomingMessage, header: string): string[] {
  const value = request.headers[header];
  return value === undefined
    ? []
    : String(value)
        .split(',')
        .map((entry) => entry.trim());
}

/** A parameter of one entry of `Forwarded`, without its quotes. */
function parameterOf(entry: string, name: 'for' | 'proto'): string | undefined {
  const pair = entry.split(';').find((one) => one.split('=')[0]?.trim().toLowerCase() === name);
  return pair
    ?.slice(pair.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1');
}

/** `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80` (RFC 7239 section 6); undefined for `unknown` and names. */
function addressIn(node: string): string | undefined {
  const inner = /^\[([^\]]*)\](?::\d+)?$/.exec(node)?.[1] ?? /^([\d.]+):\d+$/.exec(node)?.[1] ?? node;
  return plain(inner);
}

/** One text for one address: an IPv4 address mapped into IPv6 is the IPv4 one, an IPv6 address has its shortest form and no zone. */
function plain(text: string): string | undefined {
  const bare = text.replace(/%.*$/, '');
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : undefined;
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(shortest(bare)) ?? [];
  if (high === undefined || low === undefined) return shortest(bare);
  const number = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16);
  return [number >>> 24, (number >>> 16) & 255, (number >>> 8) & 255, number & 255].join('.');
}

const shortest = (ipv6: string): string => new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
