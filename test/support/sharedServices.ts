import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { TestProject } from 'vitest/node';
import { NODE_ENVIRONMENT, NODE_FLAGS } from './serviceProcess.ts';
import type { ServiceAddresses } from './testService.ts';

/** One that nobody takes for so long is ended: an idle service takes 0.7 GB of memory and 2 % of a core. */
const KEPT_IDLE_MS = 30_000;

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where `POST` takes a service that no other file uses now, and `DELETE /<place>` gives it back. */
    sharedServices: string;
  }
}

interface Shared {
  process: ChildProcess;
  addresses: Promise<ServiceAddresses>;
  isTaken: boolean;
  ending?: NodeJS.Timeout;
}

/**
 * Vitest's `globalSetup`: lends services to files that need none of their own. To start one takes 5 s of CPU, so a file takes one that another has given
 * back, or else a new one.
 */
export async function setup({ config, provide }: TestProject): Promise<() => Promise<void>> {
  const services: Shared[] = [];
  const take = (): number => {
    const free = services.findIndex((one) => !one.isTaken && !hasEnded(one) && one.process.stdin?.writable);
    const place = free === -1 ? services.push(start(config.env)) - 1 : free;
    const one = services[place] as Shared;
    one.isTaken = true;
    clearTimeout(one.ending);
    return place;
  };
  const giveBack = (one: Shared): void => {
    one.isTaken = false;
    one.ending = setTimeout(() => void end(one), KEPT_IDLE_MS);
  };
  const lender = createServer(async ({ method, url = '' }, response) => {
    if (method === 'DELETE') {
      giveBack(services[Number(url.slice(1))] as Shared);
      response.end();
      return;
    }
    const place = take();
    try {
      response.end(JSON.stringify({ place, ...(await services[place]?.addresses) }));
    } catch (err) {
      response.writeHead(500).end(String(err));
    }
  });
  lender.listen(0, '127.0.0.1');
  await once(lender, 'listening');
  provide('sharedServices', `http://127.0.0.1:${(lender.address() as AddressInfo).port}`);
  return async () => {
    lender.close();
    await Promise.all(services.map(end));
  };
}

function start(environment: Partial<NodeJS.ProcessEnv>): Shared {
  const child = spawn(process.execPath, [...NODE_FLAGS, join(import.meta.dirname, 'service.process.ts')], {
    env: { ...process.env, ...environment, ...NODE_ENVIRONMENT },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return { process: child, addresses: addressesFrom(child.stdout), isTaken: true };
}

async function addressesFrom(output: Readable): Promise<ServiceAddresses> {
  for await (const line of createInterface(output)) return JSON.parse(line);
  throw new Error('the service ended before it said where it is: its standard error says why');
}

const hasEnded = ({ process }: Shared): boolean => process.exitCode !== null || process.signalCode !== null;

async function end(one: Shared): Promise<void> {
  clearTimeout(one.ending);
  if (hasEnded(one)) return;
  const gone = once(one.process, 'exit');
  one.process.stdin?.end();
  await gone;
}
