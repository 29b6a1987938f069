import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { TestProject } from 'vitest/node';
import { embeddedSettings } from '../../shared/childProcesses/nodeSettings.ts';
import type { ServiceAddresses } from './testService.ts';

/** A service that no file takes for so long is ended: an idle service takes 0.7 GB of memory and 2 % of a core. */
const KEPT_IDLE_MS = 30_000;
/** One that does not end in this time is killed: its activities get 15 s, and its stores some more on a busy machine. */
const END_MS = 45_000;

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where `POST` takes a service that no other file uses now, and `DELETE /<loan>` gives it back; with `?end` it is lent no more. */
    sharedServices: string;
  }
}

interface Shared {
  process: ChildProcess;
  addresses: Promise<ServiceAddresses>;
  isTaken: boolean;
  idle?: NodeJS.Timeout;
  /** Rejects when it did not end as it should. */
  ended?: Promise<void>;
}

/**
 * Vitest's `globalSetup`: lends services to files that need none of their own. To start one takes 5 s of CPU, so a file takes one that another has given
 * back, or else a new one. The run fails when one of them has crashed, or did not end by itself.
 */
export async function setup({ config, provide }: TestProject): Promise<() => Promise<void>> {
  const services: Shared[] = [];
  /** The services that are lent now, by the number of the loan: a file that gives back twice ends nothing that another has taken since. */
  const loans = new Map<number, Shared>();
  let lent = 0;
  const take = (): number => {
    const free = services.find((one) => !one.isTaken && one.ended === undefined && one.process.exitCode === null);
    const one = free ?? start(config.env);
    if (!free) services.push(one);
    one.isTaken = true;
    clearTimeout(one.idle);
    loans.set(lent, one);
    return lent++;
  };
  const giveBack = (one: Shared, isUsable: boolean): void => {
    one.isTaken = false;
    if (isUsable) one.idle = setTimeout(() => end(one), KEPT_IDLE_MS);
    else end(one);
  };
  const lender = createServer(async ({ method, url = '' }, response) => {
    if (method === 'DELETE') {
      const [loan, how] = url.slice(1).split('?');
      const given = loans.get(Number(loan));
      loans.delete(Number(loan));
      if (given) giveBack(given, how !== 'end');
      response.end();
      return;
    }
    const loan = take();
    try {
      response.end(JSON.stringify({ loan, ...(await loans.get(loan)?.addresses) }));
    } catch (err) {
      response.writeHead(500).end(String(err));
    }
  });
  // The caller closes what is idle: a busy process closes a connection before it has read the request that has come on it.
  lender.keepAliveTimeout = 0;
  lender.listen(0, '127.0.0.1');
  await once(lender, 'listening');
  provide('sharedServices', `http://127.0.0.1:${(lender.address() as AddressInfo).port}`);
  return async () => {
    lender.close();
    services.forEach(end);
    await Promise.all(services.map(({ ended }) => ended));
  };
}

function start(environment: Partial<NodeJS.ProcessEnv>): Shared {
  const child = spawn(process.execPath, [...embeddedSettings.flags, join(import.meta.dirname, 'service.process.ts')], {
    env: { ...process.env, ...environment, ...embeddedSettings.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // Ctrl-C at a terminal ends Vitest, and with it the standard input by which this ends
  });
  return { process: child, addresses: addressesFrom(child.stdout), isTaken: true };
}

async function addressesFrom(output: Readable): Promise<ServiceAddresses> {
  const lines = createInterface(output);
  const closed = once(lines, 'close').then(() => {
    throw new Error('the service ended before it said where it is: its standard error says why');
  });
  closed.catch(() => {}); // it closes when the service ends
  const [line] = await Promise.race([once(lines, 'line'), closed]);
  return JSON.parse(line);
}

function end(one: Shared): void {
  clearTimeout(one.idle);
  one.ended ??= endOf(one.process);
  one.ended.catch(() => {}); // the end of the run awaits it, too, and gets the error
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
    child.stdin?.end();
    await gone;
    clearTimeout(timer);
  }
  if (child.exitCode !== 0) throw new Error(`a shared service ended with ${child.signalCode ?? child.exitCode}`);
}
