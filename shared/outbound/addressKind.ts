import { isIP } from 'node:net';
import { type AddressRanges, addressRanges, loopback } from '../config/addressRanges.ts';

export type AddressKind = 'public' | 'private' | 'loopback' | 'reserved' | 'metadata';

export const METADATA_NAMES = new Set([
  'metadata',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.packet.net',
  'metadata.platformequinix.com',
]);

const ranges: Record<Exclude<AddressKind, 'public'>, AddressRanges> = {
  metadata: addressRanges([
    // Link-local: AWS and its containers, GCP, Azure, Oracle, DigitalOcean, OpenStack, Hetzner, IBM, Tencent, Scaleway and more.
    ...['169.254.0.0/16', 'fe80::/10'],
    // Outside it: AWS, GCP, Azure, Alibaba, Oracle (two), Volcengine, Scaleway, Akamai.
    ...['fd00:ec2::/32', 'fd20:ce::/32', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32', 'fd00:c1::/32'],
    ...['100.96.0.96/32', 'fd00:42::42/128', 'fd00:a9fe:a9fe::/48'],
  ]),
  loopback,
  private: addressRanges(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7', 'fec0::/10']),
  // https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 sister. 0.0.0.0 reaches this machine on Linux.
  reserved: addressRanges([
    '0.0.0.0/8',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
    '2001::/23', // Teredo is in it
    '2001:db8::/32',
    '2002::/16', // 6to4
    '3fff::/20',
  ]),
};

/** All other IPv6 addresses are reserved: `::`, NAT64 (64:ff9b::/96 and 64:ff9b:1::/48), multicast, ranges that are not assigned yet. */
const globalUnicast = addressRanges(['2000::/3']);
const mapped = addressRanges(['::ffff:0:0/96']);

/**
 * Returns the kind of an address, and the address that the rules judge. An IPv4 address inside an IPv6 one is judged as itself: a translator or a
 * tunnel may deliver the request there, past every rule.
 */
export function addressKind(address: string): { range: AddressKind; judged: string } {
  const bare = address.replace(/%.*$/, '');
  if (isIP(bare) !== 6) return { range: rangeIn(bare) ?? 'public', judged: bare };
  const inner = embeddedIpv4(bare).map((one) => ({ range: rangeIn(one), judged: one }));
  for (const range of ['metadata', 'loopback', 'private', 'reserved'] as const) {
    const found = inner.find((one) => one.range === range);
    if (found) return { range, judged: found.judged };
  }
  if (mapped.has(bare)) return { range: 'public', judged: bare };
  return { range: rangeIn(bare) ?? (globalUnicast.has(bare) ? 'public' : 'reserved'), judged: bare };
}

function rangeIn(address: string): Exclude<AddressKind, 'public'> | undefined {
  return (['metadata', 'loopback', 'private', 'reserved'] as const).find((range) => ranges[range].has(address));
}

/** Lists the IPv4 addresses that a translator or tunnel may see in this one. Where a range has several forms, it lists each of them. */
function embeddedIpv4(address: string): string[] {
  const bytes = ipv6Words(address).flatMap((word) => [word >> 8, word & 255]);
  const at = (start: number) => bytes.slice(start, start + 4).join('.');
  const [first, second, third] = ipv6Words(address);
  if (first === 0x2002) return [at(2)];
  // Teredo (RFC 4380): its server, and its client with every bit inverted.
  if (first === 0x2001 && second === 0)
    return [
      at(4),
      bytes
        .slice(12)
        .map((byte) => 255 - byte)
        .join('.'),
    ];
  if (first === 0x64 && second === 0xff9b) {
    if (third !== 1) return [at(12)];
    // A network's own prefix may end at any of these bytes; byte 8 is left out (RFC 6052, 2.2).
    return [6, 7, 8, 12].map((start) =>
      bytes
        .filter((_, index) => index >= start && index !== 8)
        .slice(0, 4)
        .join('.'),
    );
  }
  // Mapped (::ffff:a.b.c.d), translated (::ffff:0:a.b.c.d) and compatible (::a.b.c.d); `::` and `::1` are themselves.
  const start = bytes.slice(0, 12).join('');
  const isOwn = start === '000000000000' && bytes.slice(12, 15).every((byte) => byte === 0);
  if (isOwn) return [];
  return ['000000000000', '0000000000255255', '0000000025525500'].includes(start) ? [at(12)] : [];
}

/** The eight 16-bit words of an IPv6 address: the URL parser writes each form in its shortest hexadecimal one. */
function ipv6Words(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const words = (text: string) => (text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16)));
  if (tail === undefined) return words(head);
  const after = words(tail);
  return [...words(head), ...new Array(8 - words(head).length - after.length).fill(0), ...after];
}
