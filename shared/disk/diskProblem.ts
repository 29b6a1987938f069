import { accessSync, constants, statfsSync } from 'node:fs';

/** Errors of the system that concern a disk or files: the code, and the words for people. */
const problems: readonly (readonly [code: string, text: string, words: string])[] = [
  ['ENOSPC', 'No space left on device', 'the disk is full'],
  // ClickHouse, before it asks the system.
  ['NOT_ENOUGH_SPACE', 'not enough space', 'the disk is full'],
  ['EDQUOT', 'Disk quota exceeded', 'the disk quota is used up'],
  ['EROFS', 'Read-only file system', 'the disk is read-only'],
  ['EMFILE', 'Too many open files', 'too many files are open'],
  ['ENFILE', 'Too many open files in system', 'too many files are open'],
  ['EIO', 'Input/output error', 'the disk fails'],
];

/** Returns the problem of the disk that an error reports; undefined for any other error. */
export function diskProblem(err: Error): string | undefined {
  const { code } = err as { code?: unknown };
  return problems.find(([name, text]) => code === name || err.message.includes(text))?.[2];
}

/** Below it nothing more can be stored. */
const ROOM_BYTES = 1024 ** 2;

/** Returns the problem that the disk of a folder has now; undefined where it can be written. */
export function folderProblem(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize, files, ffree } = statfsSync(folder);
    // Some file systems count no files, and say 0 of 0.
    return bavail * bsize < ROOM_BYTES || (files > 0 && ffree === 0) ? 'the disk is full' : undefined;
  } catch (err) {
    return diskProblem(err as Error) ?? 'the data folder cannot be written';
  }
}
