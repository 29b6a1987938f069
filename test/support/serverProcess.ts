import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A server a test started as its own process. */
export interface ServerProcess {
  pid: number;
  /** Ends it as an operator would: asked first, SIGKILL after 10 s. */
  stop(): Promise<void>;
  /** Ends it as a power cut of the process would: SIGKILL. */
  kill(): Promise<void>;
}

export function serverProcess(child: ChildProcess, stopSignal: NodeJS.Signals = 'SIGTERM'): ServerProcess {
  const { pid } = child;
  if (pid === undefined) throw new Error(`could not start ${child.spawnfile}`);
  const ended = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  };
  return {
    pid,
    async stop() {
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended(stopSignal).finally(() => clearTimeout(timer));
    },
    kill: () => ended('SIGKILL'),
  };
}

/** Starts a server that does not outlive this process (on Linux, by the kernel's parent-death signal), as `user` when we are root. */
export function startServer(command: string, args: readonly string[], options: { user?: string } = {}): ChildProcess {
  const asUser =
    options.user && process.getuid?.() === 0 ? [`--reuid=${options.user}`, `--regid=${options.user}`, '--init-groups'] : [];
  const [program, ...rest] =
    process.platform === 'linux' ? ['setpriv', ...asUser, '--pdeathsig', 'KILL', command, ...args] : [command, ...args];
  return spawn(program ?? command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The path of a program: on PATH, or in one of the given folders. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const places = [...(process.env.PATH ?? '').split(delimiter), ...folders].map((folder) => join(folder, name));
  return places.find((place) => existsSync(place));
}

/**
 * Waits until `isUp` answers true, failing with what the server said when it ends first or the time is over.
 * Its output is read to the end, so that a full pipe never stops it.
 */
export async function untilUp(child: ChildProcess, isUp: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4000);
    });
  }
  const deadline = Date.now() + timeoutMs;
  while (!(await isUp())) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${child.spawnfile} ended while starting:\n${said}`);
    if (Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${child.spawnfile} was not up after ${timeoutMs} ms:\n${said}`);
    }
    await wait(20);
  }
}

export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
