import { BlockList, isIP } from 'node:net';

/** Ranges of network addresses. An IPv4 address mapped into IPv6 counts as the IPv4 one. */
export interface AddressRanges {
  /** False for what is no address. */
  has(address: string): boolean;
}

/** @param ranges addresses and CIDRs of both families, see {@link isAddressRange} */
export function addressRanges(ranges: readonly string[]): AddressRanges {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(network, familyOf(network));
    else list.addSubnet(network, Number(bits), familyOf(network));
  }
  return { has: (address) => isIP(address) !== 0 && list.check(address, familyOf(address)) };
}

/** An address, or a network as `address/bits`. */
export function isAddressRange(text: string): boolean {
  const [network = '', bits, ...more] = text.split('/');
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(network)] ?? -1;
  return more.length === 0 && most > 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** Addresses of this machine that no other can reach. */
export const loopback = addressRanges(['127.0.0.0/8', '::1']);
