import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CommandError, fileError, isFileProblem } from '../commandError.ts';
import { exitCodes } from '../exitCodes.ts';
import { type Terminal, write } from '../terminal.ts';

export type Chunks = AsyncIterable<Uint8Array | string>;

/**
 * Writes what a command was asked for to a file, or to the output. The file has its name when all of it is there, and not before: a full disk, a
 * broken connection or Ctrl-C leaves what was called so before.
 * @returns bytes written
 */
export async function writeResult(terminal: Terminal, path: string | undefined, chunks: Chunks): Promise<number> {
  if (path === undefined) return eachWritten(chunks, (chunk) => write(terminal.stdout, chunk));
  const wanted = resolve(terminal.folder, path);
  if (!(await isFileOrNothing(wanted))) return writeInto(await opened(wanted, path, constants.O_WRONLY), path, chunks); // a pipe or device
  const part = join(dirname(wanted), `.${basename(wanted).slice(0, 200)}.${process.pid}.part`);
  const fresh = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
  const file = await opened(part, path, fresh);
  try {
    const bytes = await writeInto(file, path, chunks);
    await rename(part, wanted).catch(named(path));
    return bytes;
  } catch (err) {
    await rm(part, { force: true });
    throw err;
  }
}

async function writeInto(file: FileHandle, path: string, chunks: Chunks): Promise<number> {
  try {
    const bytes = await eachWritten(chunks, (chunk) => file.writeFile(chunk).catch(named(path)));
    // Some disks say only now that they are full; what is no file has nothing to wait for.
    await file.sync().catch((err: NodeJS.ErrnoException) => (err.code === 'EINVAL' ? undefined : named(path)(err)));
    return bytes;
  } finally {
    await file.close();
  }
}

async function eachWritten(chunks: Chunks, put: (chunk: Uint8Array | string) => Promise<void>): Promise<number> {
  let bytes = 0;
  for await (const chunk of whole(chunks)) {
    await put(chunk);
    bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;
  }
  return bytes;
}

/** The service cuts the connection where it cannot go on: what came until then is not all. */
async function* whole(chunks: Chunks): Chunks {
  try {
    yield* chunks;
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new CommandError(
      exitCodes.failed,
      'the connection broke off before all was there: nothing of it is whole; try again, or see what the log of the service says',
      { cause },
    );
  }
}

const opened = (at: string, path: string, flags: number): Promise<FileHandle> =>
  open(at, flags, 0o666).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') return named(path)(err);
    throw new CommandError(exitCodes.file, `${path} cannot be written: its folder does not exist; make it, or name another`, {
      cause: err,
    });
  });

/** Errors name the file as it was typed, not its part. */
const named =
  (path: string) =>
  (err: unknown): never => {
    throw isFileProblem(err) ? fileError(err, path) : err;
  };

const isFileOrNothing = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile() || found.isDirectory(),
    () => true,
  );
