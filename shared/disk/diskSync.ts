import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Logger } from 'pino';

/**
 * Writes what the system still holds of a folder's file system to its disk, and waits for that where the system says when it is done (Linux).
 * @throws Error when the disk fails
 */
export async function syncDisk(folder: string): Promise<void> {
  const sync = systemCall();
  if (!sync) return;
  const fd = openSync(folder, 'r');
  try {
    if ((await sync(fd)) !== 0) throw new Error(`the disk of ${folder} could not be synced`);
  } finally {
    closeSync(fd);
  }
}

/**
 * The call by koffi, which Node.js lacks: `syncfs` of Linux, else `sync`, which any Unix has. Undefined where koffi has no file for this machine; the
 * system then writes by itself, Linux within half a minute.
 */
function systemCall(): ((fd: number) => Promise<number>) | undefined {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const libc = koffi.load(null);
    if (process.platform === 'linux') return promisify(libc.func('int syncfs(int fd)').async) as (fd: number) => Promise<number>;
    const sync = promisify(libc.func('void sync()').async) as () => Promise<void>;
    return () => sync().then(() => 0);
  } catch {
    return undefined;
  }
}

/** Milliseconds from the end of one sync to the next. With each, what the embedded stores have written is safe from a power cut. */
const PAUSE_MS = 1_000;

/**
 * Syncs the disk of the data folder again and again while this process writes. The embedded stores do not wait for the disk, which costs an insert of
 * theirs more than all else; this bounds what a power cut can take to the last moments.
 */
export function keepSynced(folder: string, log?: Pick<Logger, 'error'>): { stop(): Promise<void> } {
  let synced = writtenBlocks();
  let running: Promise<void> | undefined;
  let timer = setTimeout(next, PAUSE_MS).unref();
  async function once(): Promise<void> {
    const written = writtenBlocks();
    if (written === synced) return;
    try {
      await syncDisk(folder);
      synced = written;
    } catch (err) {
      log?.error({ err }, 'what was acknowledged last is not safe from a power cut');
    }
  }
  function next(): void {
    running = once().finally(() => {
      running = undefined;
      timer = setTimeout(next, PAUSE_MS).unref();
    });
  }
  return {
    async stop() {
      clearTimeout(timer);
      await running;
      clearTimeout(timer);
    },
  };
}

/** Counts what this process, all its threads included, has given the system to write. */
const writtenBlocks = (): number => process.resourceUsage().fsWrite;
