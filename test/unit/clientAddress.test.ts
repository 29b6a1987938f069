import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { createClientAddresses } from '../../api/callers/clientAddress.ts';
import { readConfig } from '../../shared/config/config.ts';

const request = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;

describe('the client of a request', () => {
  const clients = createClientAddresses(['10.0.0.0/8', '192.0.2.7', '2001:db8:ffff::/48']);
  const from = (peer: string, forwardedFor?: string, forwarded?: string) =>
    clients.of(
      request(peer, {
        ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
        ...(forwarded === undefined ? {} : { forwarded }),
      }),
    );

  test.each([
    ['the peer, whose headers are its own words', from('203.0.113.5', '198.51.100.1'), '203.0.113.5'],
    ['the peer, mapped into IPv6 or not', from('::ffff:203.0.113.5', '198.51.100.1'), '203.0.113.5'],
    ['what a proxy says', from('10.0.0.1', '198.51.100.1'), '198.51.100.1'],
    ['what a proxy of a mapped address says', from('::ffff:10.0.0.1', '198.51.100.1'), '198.51.100.1'],
    ['what a proxy of an IPv6 network says', from('2001:db8:ffff::1', '198.51.100.1'), '198.51.100.1'],
    ['the right-most hop that is not trusted', from('10.0.0.1', '1.1.1.1, 198.51.100.1, 192.0.2.7, 10.9.9.9'), '198.51.100.1'],
    ['the left-most of proxies alone', from('10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3'],
    ['a proxy that forwards for nobody', from('10.0.0.1'), '10.0.0.1'],
    ['an address with a port', from('10.0.0.1', '198.51.100.1:4711'), '198.51.100.1'],
    ['an IPv6 address in its shortest form', from('10.0.0.1', '[2001:0db8:0:0::0001]:80'), '2001:db8::1'],
    ['Forwarded, quoted', from('10.0.0.1', undefined, 'for="[2001:db8::1]:80";proto=https, for=10.0.0.2'), '2001:db8::1'],
    ['Forwarded, in any case', from('10.0.0.1', undefined, 'By=x;FOR=198.51.100.1'), '198.51.100.1'],
    ['both headers that agree', from('10.0.0.1', '198.51.100.1', 'for=198.51.100.1'), '198.51.100.1'],
    ['the proxy, where the headers differ', from('10.0.0.1', '198.51.100.1', 'for=198.51.100.2'), '10.0.0.1'],
    ['the proxy, where a hop is no address', from('10.0.0.1', '198.51.100.1, unknown'), '10.0.0.1'],
    ['the proxy, where a hop hides', from('10.0.0.1', undefined, 'for=_hidden'), '10.0.0.1'],
  ])('is %s', (_what, found, expected) => expect(found).toBe(expected));

  test.each([
    ['a trusted proxy says so', '10.1.2.3', { 'x-forwarded-proto': 'https' }, true],
    ['the first of two proxies says so', '10.1.2.3', { 'x-forwarded-proto': 'HTTPS, http' }, true],
    ['it says so in Forwarded', '10.1.2.3', { forwarded: 'for=198.51.100.1;Proto="https", for=10.0.0.2;proto=http' }, true],
    ['a trusted proxy says http', '10.1.2.3', { 'x-forwarded-proto': 'http' }, false],
    ['a trusted proxy says nothing', '10.1.2.3', {}, false],
    ['another peer says so', '203.0.113.5', { 'x-forwarded-proto': 'https', forwarded: 'proto=https' }, false],
  ])('is known to speak TLS or not: %s', (_what, peer, headers, isTls) => {
    expect(clients.isTls(request(peer, headers as Record<string, string>))).toBe(isTls);
  });

  test('speaks TLS to this process', () => {
    const encrypted = { socket: { remoteAddress: '203.0.113.5', encrypted: true }, headers: {} } as unknown as IncomingMessage;
    expect(clients.isTls(encrypted)).toBe(true);
  });
});

test('TRUSTED_PROXIES takes addresses and CIDRs', () => {
  expect(readConfig({ TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.1,::1, fd00::/8' }).TRUSTED_PROXIES).toHaveLength(4);
  for (const wrong of ['proxy.internal', '10.0.0.0/33', '10.0.0.1/8/8', '::/129', '10.0.0.0/'])
    expect(() => readConfig({ TRUSTED_PROXIES: wrong })).toThrow('TRUSTED_PROXIES must be addresses or CIDRs');
});
