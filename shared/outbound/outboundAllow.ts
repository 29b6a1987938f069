import { isIP } from 'node:net';
import { addressRanges, isAddressRange } from '../config/addressRanges.ts';

type AddressQuestion = (host: string, address: string, port: number) => boolean;

/** Entries of `OUTBOUND_ALLOW` as questions: is this address, of this host, at this port, allowed, and is it so by an entry that names the port? */
export function parseAllowList(entries: readonly string[]): { allowed: AddressQuestion; isPortNamed: AddressQuestion } {
  const subnets: string[] = [];
  const hosts = new Set<string>();
  for (const entry of entries) {
    const lower = entry.toLowerCase();
    if (entry.includes('/')) {
      if (!isAddressRange(entry)) throw notAnEntry(entry);
      subnets.push(entry);
    } else if (isIP(entry)) hosts.add(hostOf(new URL(isIP(entry) === 6 ? `http://[${entry}]` : `http://${entry}`)));
    else if (URL.canParse(`http://${lower}`) && /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/.test(lower)) {
      const url = new URL(`http://${lower}`);
      const port = /:(\d{1,5})$/.exec(lower.replace(/^\[.*\]/, ''))?.[1];
      hosts.add(port === undefined ? hostOf(url) : `${hostOf(url)} ${Number(port)}`);
    } else throw notAnEntry(entry);
  }
  const networks = addressRanges(subnets);
  const isPortNamed: AddressQuestion = (host, address, port) => hosts.has(`${host} ${port}`) || hosts.has(`${address} ${port}`);
  return {
    isPortNamed,
    allowed: (host, address, port) =>
      isPortNamed(host, address, port) || hosts.has(host) || hosts.has(address) || networks.has(address),
  };
}

const notAnEntry = (entry: string): Error => new Error(`OUTBOUND_ALLOW: "${entry}" is not a host, host:port or CIDR`);

/** Host of a URL without brackets and without the final dot of an absolute name: `localhost.` is `localhost`. */
export const hostOf = (url: URL): string =>
  url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
