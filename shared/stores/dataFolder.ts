import { chmodSync, existsSync, mkdirSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const OWNER_ONLY = 0o700;
/** Only a data folder of ours holds these files. The parts that run embedded decide which of them it has. */
const ours = ['lock.sqlite', 'secret_keys', 'credentials.json', 'temporal.sqlite'];

/** A start writes at most this much into a folder that has been used: the stores' logs and a few new parts. With less room a start could stop half-way. */
const ROOM_BYTES = 64 * 1024 ** 2;
const ROOM_FILES = 1_000;

/**
 * Makes the data folder, and closes it to other users: the embedded stores make files that anyone may read and write, so that its mode alone
 * keeps accounts, keys and records from them. A folder of an earlier release is closed as well; one that holds other things is left as it is.
 * @throws Error with one sentence when there is no folder to be had that is ours alone
 */
export function openDataFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    throw notWritable(folder, cause);
  }
  const { uid, mode } = statSync(folder);
  if (process.getuid && uid !== process.getuid())
    throw new Error(
      `the data folder ${folder} belongs to another user (id ${uid}), who can read and change what is in it: set DATA_DIR to a folder of your own`,
    );
  if ((mode & 0o777) === OWNER_ONLY) return;
  const content = readdirSync(folder);
  if (content.length > 0 && !content.some((name) => ours.includes(name)))
    throw new Error(
      `the data folder ${folder} is open to other users and holds things of others: set DATA_DIR to a folder of its own, or close it with chmod 700`,
    );
  try {
    chmodSync(folder, OWNER_ONLY);
  } catch (cause) {
    throw notWritable(folder, cause);
  }
  if ((statSync(folder).mode & 0o077) !== 0)
    throw new Error(
      `the data folder ${folder} cannot be closed to other users on its file system: set DATA_DIR to a folder on another`,
    );
}

/**
 * Refuses a start that would run out of disk, before it has written anything.
 * @throws Error with one sentence
 */
export function requireRoom(folder: string): void {
  const { bavail, bsize, files, ffree } = statfsSync(folder);
  const bytes = bavail * bsize;
  const megabytes = (count: number) => `${Math.floor(count / 1024 ** 2)} MB`;
  const problem =
    bytes < ROOM_BYTES
      ? `only ${megabytes(bytes)} of disk left, and a start needs ${megabytes(ROOM_BYTES)}`
      : // Some file systems count no files, and say 0 of 0.
        files > 0 && ffree < ROOM_FILES
        ? `only ${ffree} files left on its disk (inodes), and a start needs ${ROOM_FILES}`
        : undefined;
  if (problem) throw new Error(`the data folder ${folder} has ${problem}: free some and start again; nothing was changed`);
}

export const notWritable = (folder: string, cause: unknown): Error => {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`the data folder ${folder} cannot be written (${reason}): set DATA_DIR to one that can`, { cause });
};

/** Not `recursive`: that of Node asks for ever where an existing folder says that it does not exist, as /proc does. */
function makeFolder(path: string, mode = OWNER_ONLY): void {
  try {
    mkdirSync(path, { mode });
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || existsSync(parent)) throw err;
    makeFolder(parent, 0o777);
    makeFolder(path, mode);
  }
}
