import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.ts';

export interface EventLoopLimits {
  /** Blocked for so long, the thread says so in the log. */
  warnMs: number;
  /** Blocked for so long, the process is killed (SIGKILL); 0: never. */
  endMs: number;
  /** File that the log is written to; undefined: none is. */
  logFd: number | undefined;
  /** Milliseconds between two beats of the event loop, and two looks at it. */
  beatMs?: number;
}

const BEAT_MS = 1_000;

/**
 * Watches this process's event loop from a thread of its own: a loop that is blocked answers no request, and runs no handler of a signal. The thread
 * says so in the log, then kills the process, so that whatever supervises it starts it again. Time in which the whole process is suspended does
 * not count. The thread wakes once a second.
 */
export async function watchEventLoop({ beatMs = BEAT_MS, ...limits }: EventLoopLimits): Promise<{ stop(): Promise<void> }> {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const beating = setInterval(() => Atomics.add(beats, 0, 1), beatMs).unref();
  const thread = new Worker(watching, {
    eval: true,
    workerData: { ...limits, beatMs, beats },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, codeRangeSizeMb: 4 },
  });
  await once(thread, 'online');
  thread.unref();
  return {
    async stop() {
      clearInterval(beating);
      await thread.terminate();
    },
  };
}

/** The limits that the configuration names, for a process whose log goes to `logFd`. A log that is off stays off. */
export const eventLoopLimits = (
  {
    BLOCKED_WARN_SECONDS,
    BLOCKED_END_SECONDS,
    LOG_LEVEL,
  }: Pick<Config, 'BLOCKED_WARN_SECONDS' | 'BLOCKED_END_SECONDS' | 'LOG_LEVEL'>,
  logFd: number,
): EventLoopLimits => ({
  warnMs: BLOCKED_WARN_SECONDS * 1_000,
  endMs: BLOCKED_END_SECONDS * 1_000,
  logFd: LOG_LEVEL === 'silent' ? undefined : logFd,
});

/**
 * The code of the watching thread. It shares nothing with the event loop but a count, and writes its lines past the logger, whose thread is the blocked one. As a
 * text: a module would be loaded by the main thread, and take several times the memory.
 */
const watching = `
const { writeSync } = require('node:fs');
const { workerData } = require('node:worker_threads');
const { warnMs, endMs, logFd, beats, beatMs } = workerData;

const [WARN, ERROR, FATAL] = [40, 50, 60];
const log = (level, msg, details) => {
  if (logFd === undefined) return;
  try {
    writeSync(logFd, JSON.stringify({ level, time: Date.now(), ...details, msg }) + '\\n');
  } catch {
    // A log that is not read keeps no process alive.
  }
};

let known = Atomics.load(beats, 0);
let lookedAt = performance.now();
let blockedMs = 0;
let cpuBefore = process.cpuUsage();
let isSaid = false;

// CPU time near the blocked time: something computes. Near none: it waits for a call that does not return.
const state = () => {
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    blockedSeconds: Math.round(blockedMs / 1000),
    cpuSeconds: Math.round((user + system) / 1e6),
    memoryMb: Math.round(process.memoryUsage.rss() / 1e6),
  };
};

setInterval(() => {
  const now = performance.now();
  // A process that was suspended (SIGSTOP, a machine that slept) finds much time gone at once. This thread was suspended as well: one look counts for
  // no more than twice the time between two of them.
  const passedMs = Math.min(now - lookedAt, 2 * beatMs);
  lookedAt = now;
  const count = Atomics.load(beats, 0);
  if (count !== known) {
    if (isSaid) log(WARN, 'the event loop turns again', state());
    known = count;
    blockedMs = 0;
    cpuBefore = process.cpuUsage();
    isSaid = false;
    return;
  }
  blockedMs += passedMs;
  if (!isSaid && blockedMs >= warnMs) {
    isSaid = true;
    const then = endMs > 0 ? '; after ' + endMs / 1000 + ' s the process ends' : '';
    log(ERROR, 'the event loop is blocked: nothing is answered' + then, state());
  }
  if (endMs > 0 && blockedMs >= endMs) {
    log(FATAL, 'the event loop is blocked: the process ends', state());
    process.kill(process.pid, 'SIGKILL');
  }
}, beatMs);`;
