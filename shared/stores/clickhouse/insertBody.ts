import { randomUUID } from 'node:crypto';
import { createWriteStream, ftruncateSync, mkdirSync, readdirSync, rmSync, writevSync } from 'node:fs';
import { type FileHandle, open, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Rows of an insert as bytes. A list is one body in pieces. */
export type InsertBytes = Readable | Uint8Array | string | readonly Uint8Array[];

/** The file that one insert after the other of a session is read from: on ext4 a new one costs 0.1 to 1 ms after many were deleted. */
export class InsertBody {
  readonly path: string;
  #file: Promise<FileHandle> | undefined;
  #isSmall = false;
  /** When the body before is gone. */
  #emptied: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.path = path;
  }

  /** In as few calls as can be: each waits for one of the threads that statements run in. */
  async write(bytes: InsertBytes): Promise<void> {
    const pieces = piecesOf(bytes);
    this.#isSmall = pieces !== undefined && isSmall(pieces);
    await this.#emptied;
    if (pieces) await this.#writePieces(pieces);
    else await pipeline(bytes as Readable, createWriteStream(this.path));
  }

  /** The next body waits until it is done. */
  empty(): void {
    this.#emptied = this.#empty();
  }

  remove(): void {
    rmSync(this.path, { force: true });
    void this.#file?.then((file) => file.close()).catch(() => {});
  }

  async #writePieces(pieces: readonly Buffer[]): Promise<void> {
    this.#file ??= open(this.path, 'w', 0o600).catch((err: unknown) => {
      this.#file = undefined; // there may be space for it later
      throw err;
    });
    const file = await this.#file;
    for (let from = 0, at = 0; from < pieces.length; from += MAX_PIECES) {
      const some = pieces.slice(from, from + MAX_PIECES);
      const size = sizeOf(some);
      const bytesWritten = this.#isSmall ? writevSync(file.fd, some, at) : (await file.writev(some, at)).bytesWritten;
      if (bytesWritten !== size) throw full(`${bytesWritten} of ${size} bytes could be written for an insert`);
      at += size;
    }
  }

  /** Where that fails, as it does where the file could not be made, the next body opens it anew, which empties it. */
  async #empty(): Promise<void> {
    try {
      const file = this.#isSmall ? await this.#file : undefined;
      if (file) ftruncateSync(file.fd);
      else await truncate(this.path);
    } catch {
      const file = this.#file;
      this.#file = undefined;
      await file?.then((opened) => opened.close()).catch(() => {});
    }
  }
}

/** Folder of the files, inside the engine's own: what they hold is as private as the data. */
const BODIES = 'insert_bodies';

/** Deletes what a killed process left behind: no other one has the engine's folder open now. */
export function clearBodies(dataDir: string): void {
  const folder = join(dataDir, BODIES);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) if (!name.startsWith(ofThisProcess)) rmSync(join(folder, name));
}

// Not by the process id: the main process of a container has the same one at every start.
const ofThisProcess = `${randomUUID()}-`;

/** Without the number of the file, of which a session may have several. */
export const bodyPath = (dataDir: string, session: string): string => join(dataDir, BODIES, ofThisProcess + session);

/** The pieces of a body that is there as a whole. */
export function piecesOf(body: InsertBytes): Buffer[] | undefined {
  if (typeof body === 'string') return [Buffer.from(body)];
  if (body instanceof Uint8Array) return [asBuffer(body)];
  return Array.isArray(body) ? body.map(asBuffer) : undefined;
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A disk that is full takes a part of what is written, and says so at the next write. */
const full = (message: string): Error => Object.assign(new Error(message), { code: 'ENOSPC' });

/** Pieces that one call of the system takes; Linux allows 1,024. */
const MAX_PIECES = 1_000;

/**
 * Bytes of a body that is written and emptied by the event loop itself, into the page cache: 0.6 ms. By another thread it takes two more turns of the
 * event loop, each of which waits for whatever else is done there: 27 ms of the 78 that 1,024 spans took.
 */
const SMALL_BODY_BYTES = 4 * 1024 * 1024;

export const sizeOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0);
const isSmall = (pieces: readonly Buffer[]): boolean => pieces.length <= MAX_PIECES && sizeOf(pieces) <= SMALL_BODY_BYTES;
