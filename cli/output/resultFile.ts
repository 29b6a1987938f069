import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CommandError, fileError, isFileProblem } from '../terminal/commandError.ts';
import { exitCodes } from '../terminal/exitCodes.ts';
import { type Terminal, write } from '../terminal/terminal.ts';

export type Chunks = AsyncIterable<Uint8Array | string>;

/**
 * Writes what a command was asked for to a file, or to the output. The file has its name when all of it is there, and not before: a full disk, a
 * broken connection or Ctrl-C leaves what was called so before. Where the name is a link, the file that it leads to is written; who may read a file
 * that was there stays as it was.
 * @returns bytes written
 */
export async function writeResult(terminal: Terminal, path: string | undefined, chunks: Chunks): Promise<number> {
  if (path === undefined) return eachWritten(chunks, (chunk) => write(terminal.stdout, chunk));
  const wanted = resolve(terminal.folder, path);
  const found = await stat(wanted).catch(() => undefined);
  if (found && !found.isFile() && !found.isDirectory())
    return writeInto(await opened(wanted, path, constants.O_WRONLY), path, chunks); // a pipe or device
  const target = await endOfLinks(wanted).catch(withPath(path));
  const part = join(dirname(target), `.${basename(target).slice(0, 60)}.${randomUUID()}.part`);
  const mode = found?.isFile() ? found.mode & 0o777 : undefined;
  const file = await opened(part, path, 'wx', mode);
  try {
    const bytes = await writeInto(file, path, chunks, mode);
    await rename(part, target).catch(withPath(path));
    return bytes;
  } catch (err) {
    await rm(part, { force: true });
    throw err;
  }
}

async function writeInto(file: FileHandle, path: string, chunks: Chunks, mode?: number): Promise<number> {
  try {
    if (mode !== undefined) await file.chmod(mode).catch(withPath(path)); // the umask took some of it
    const bytes = await eachWritten(chunks, (chunk) => file.writeFile(chunk).catch(withPath(path)));
    // Some disks say only now that they are full; what is no file has nothing to wait for.
    await file.sync().catch((err: NodeJS.ErrnoException) => (err.code === 'EINVAL' ? undefined : withPath(path)(err)));
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

/** Where the links of this name lead, though nothing may be there yet. */
async function endOfLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    const next = await readlink(path).catch(() => undefined);
    return next === undefined ? path : endOfLinks(resolve(dirname(path), next));
  }
}

const opened = (at: string, path: string, flags: number | string, mode = 0o666): Promise<FileHandle> =>
  open(at, flags, mode).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') return withPath(path)(err);
    throw new CommandError(exitCodes.file, `${path} cannot be written: its folder does not exist; make it, or name another`, {
      cause: err,
    });
  });

/** Errors name the file as it was typed, not its part. */
const withPath =
  (path: string) =>
  (err: unknown): never => {
    throw isFileProblem(err) ? fileError(err, path) : err;
  };
