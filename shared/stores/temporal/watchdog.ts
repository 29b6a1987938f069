import { type ChildProcess, type ChildProcessByStdio, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./watchdog.sh', import.meta.url));

/** A killed guard is replaced at once, but not more often than this, so that a broken `sh` costs no busy loop. */
const REPLACE_EVERY_MS = 1_000;

export interface Watchdog {
  /** The guard's own process id (tests kill it). */
  readonly pid: number;
  /** Starts a program in its own process group, watched from its first instruction on. One at a time. */
  spawn(path: string, args: string[], options: { cwd?: string; stdout: number | 'pipe'; stderr: number | 'pipe' }): ChildProcess;
  /** Ends the guard, and with it whatever it still watches. */
  end(): Promise<void>;
}

type Guard = ChildProcessByStdio<Writable, null, null>;

/**
 * Starts a guard process that reads a pipe from us and ends what we have spawned through it at end of file: the kernel closes the pipe
 * however this process dies. The guard runs in a session of its own, so that Ctrl-C and a closed terminal do not reach it before us.
 * A guard that is killed is replaced, and the program it watched goes on.
 * @param environment all that the guard and what it watches get to see
 */
export function startWatchdog(environment: NodeJS.ProcessEnv): Watchdog {
  let ended = false;
  let watched: ChildProcess | undefined;
  let replacedAt = Number.NEGATIVE_INFINITY;
  let guard = startGuard();

  function startGuard(): Guard {
    const started = spawn('/bin/sh', [script], { detached: true, env: environment, stdio: ['pipe', 'ignore', 'ignore'] });
    started.stdin.on('error', () => {}); // EPIPE: the guard is gone; its `exit` starts the next one
    started.once('error', () => {}); // no process could be started: there is no `exit` then, and the next spawn tries again
    started.once('exit', () => {
      if (ended) return;
      if (performance.now() - replacedAt > REPLACE_EVERY_MS) replaceGuard();
      else setTimeout(() => !ended && guard === started && replaceGuard(), REPLACE_EVERY_MS);
    });
    return started;
  }

  function replaceGuard(): void {
    replacedAt = performance.now();
    guard = startGuard();
    if (watched?.pid !== undefined) guard.stdin.write(`${watched.pid}\n`);
  }

  return {
    get pid() {
      return guard.pid ?? -1;
    },
    spawn(path, args, { cwd, stdout, stderr }) {
      if (ended) throw new Error('this watchdog has ended');
      if (guard.exitCode !== null || guard.signalCode !== null) replaceGuard();
      // The shell sends the guard its id, closes the pipe and becomes the program: there is no moment in which the program runs unwatched.
      const stdio: StdioOptions = ['ignore', stdout, stderr, guard.stdin];
      const child = spawn('/bin/sh', ['-c', 'echo "$$" >&3 && exec 3>&- && exec "$@"', 'sh', path, ...args], {
        detached: true,
        env: environment,
        stdio,
        ...(cwd !== undefined && { cwd }),
      });
      watched = child;
      child.once('exit', () => {
        if (watched !== child) return;
        watched = undefined;
        guard.stdin.write('\n'); // its id may be given to another process soon
      });
      return child;
    },
    async end() {
      if (ended) return;
      ended = true;
      if (guard.exitCode !== null || guard.signalCode !== null || guard.pid === undefined) return;
      const exited = once(guard, 'exit');
      guard.stdin.end();
      await exited;
    },
  };
}
