import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { notWritable } from './dataFolder.ts';

/** https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

/**
 * Holds a folder for this process with SQLite's lock on a file in it: the kernel lets go of it when the process ends, however it ends, so that a
 * restarted container's equal process id means nothing, and of two that start together one gets it.
 * @throws Error with one sentence when another process holds the folder, or it cannot be written.
 */
export function lockFolder(folder: string): { release(): void } {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(join(folder, 'lock.sqlite'), { timeout: 0 });
    // A table makes it a file that is written: a folder that cannot be is found out now.
    file.exec('BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS held (by_whom_has_the_lock); COMMIT; BEGIN EXCLUSIVE');
  } catch (cause) {
    file?.close();
    if ((cause as { errcode?: unknown }).errcode === SQLITE_BUSY)
      throw new Error(`the data folder ${folder} is in use by another process: stop it, or set DATA_DIR to another folder`, {
        cause,
      });
    throw notWritable(folder, cause);
  }
  const held = file;
  return { release: () => held.close() };
}
