import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import { isatty, WriteStream } from 'node:tty';
import type { Terminal } from './terminal.ts';

/** Set for a process that writes its results to this descriptor: what the code of a user prints goes where remarks go. */
const RESULTS_FD = 'ASSAY_RESULTS_FD';

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A signal that the process above got, and how many of its kind it has had. */
export interface PassedSignal {
  signal: (typeof STOPPING)[number];
  count: number;
}

/**
 * The stream of this process's results, where the process above has kept one apart; undefined in a process of its own. A process that the code of a
 * user starts does not find it.
 */
export function ownResults(environment: Terminal['environment']): NodeJS.WriteStream | undefined {
  const fd = Number(environment[RESULTS_FD]);
  delete environment[RESULTS_FD];
  if (!fd) return undefined;
  process.send = undefined as never; // libraries take a process that has it for a worker of theirs
  if (isatty(fd)) return new WriteStream(fd);
  const { isPipe, isSocket } = { isPipe: fstatSync(fd).isFIFO(), isSocket: fstatSync(fd).isSocket() };
  const stream = isPipe || isSocket ? new Socket({ fd, readable: false, writable: true }) : createWriteStream('', { fd });
  return stream as unknown as NodeJS.WriteStream;
}

/**
 * Runs a command line in a process whose standard output is this one's standard error, also for what it starts, and whose results go to this one's
 * standard output. Ends with its status.
 */
export async function runApart(entry: string, words: readonly string[], environment: Terminal['environment']): Promise<never> {
  const child = spawn(process.execPath, [...process.execArgv, entry, ...words], {
    stdio: ['inherit', process.stderr.fd, process.stderr.fd, process.stdout.fd, 'ipc'],
    env: { ...environment, [RESULTS_FD]: '3' },
  });
  passSignals(child);
  const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, endedBy) => resolve([code, endedBy]));
  });
  process.exit(signal ? 128 + constants.signals[signal] : (exitCode ?? 1));
}

/** A terminal signals both processes, and `kill` this one alone: the count lets the other one know them for the same. */
function passSignals(child: ChildProcess): void {
  for (const signal of STOPPING) {
    let count = 0;
    process.on(signal, () => {
      count++;
      if (child.connected) child.send({ signal, count } satisfies PassedSignal, () => undefined);
    });
  }
}
