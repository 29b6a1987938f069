import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { bytePool } from '../../shared/concurrency/bytePool.ts';
import { freeTurn } from '../../shared/concurrency/freeTurn.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { isOutOfMemory } from '../../shared/errors/isOutOfMemory.ts';
import { checkValues } from '../../shared/json/jsonValues.ts';
import { parseJson } from '../../shared/json/parseJson.ts';
import { storable } from '../../shared/json/storable.ts';
import { isExact } from '../../shared/wire/exactNumber.ts';
import type { FormReader } from './readForm.ts';

/**
 * How a request body arrives. `json` also takes JSON sent with another content type, and nothing where the body is optional. `records` is JSON of any
 * depth: its readers go through it without recursion, so that one record that nests too deep does not cost the others.
 */
export type BodyKind = 'json' | 'records' | 'urlencoded' | 'multipart' | 'bytes';

/** Bytes of a body that is read and checked within a millisecond or two. */
const SHORT_BODY_BYTES = 64 * 1024;
/** Bytes that one step of decompression gives: each is handed to a thread and back, and a body of 14 MB took 850 of them. */
const DECOMPRESSED_BYTES = 64 * 1024;
/**
 * Milliseconds between two looks at whether the rest of a refused body still comes, which is read and thrown away so that its sender gets to read the
 * answer; and how many looks there are.
 */
const LINGER_MS = 5_000;
const LINGER_LOOKS = 12;
/** Recursive code reads and compares bodies, here and in the stores, and must not exhaust its stack. 256 levels of spans take 513. */
const MAX_DEPTH = 1_024;

/** Counts every piece of a body that comes in, and refuses it by throwing. */
export interface BodyShare {
  add(bytes: number): void;
}

/** How fast a body must come: in every window of the time at least its bytes, as they are on the wire. */
export interface BodyPace {
  bytesPerSecond: number;
  windowMs: number;
}

export interface BodyOptions {
  /** Most bytes after decompression. */
  limit: number;
  /** Most values of a JSON body; absent: as many as any text of JSON may hold. */
  values?: number;
  share: BodyShare | undefined;
  pace: BodyPace;
  /** Takes the body of a form in place of the memory; of the kind `multipart` alone. */
  form?: FormReader | undefined;
}

/**
 * The body of a request as its kind says.
 * @throws what `share` throws; RequestInvalid when it is not of its kind; ServiceError `BodyTooLarge`, `UnsupportedMediaType`, `RequestTimeout` when it
 * comes too slowly, `BadRequest` when it breaks off or does not decompress.
 */
export async function readBody(
  request: IncomingMessage,
  kind: BodyKind,
  options: BodyOptions,
): Promise<{ value: unknown; isLong: boolean }> {
  const pieces = await readPieces(request, options);
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  // Records have a bound of their own: what may wait for the store.
  const isLong = kind === 'json' && size > SHORT_BODY_BYTES;
  if (isLong) await freeTurn();
  const value = kind === 'multipart' ? await options.form?.end() : parsed(pieces, size, kind, options.values);
  if (isLong) await freeTurn();
  return { value, isLong };
}

function parsed(pieces: readonly Buffer[], size: number, kind: Exclude<BodyKind, 'multipart'>, values: number | undefined) {
  switch (kind) {
    case 'bytes':
      return Buffer.concat(pieces);
    case 'urlencoded':
      return Object.fromEntries(new URLSearchParams(textOf(pieces, size)));
    case 'json':
      return readJson(textOf(pieces, size), MAX_DEPTH, values);
    case 'records':
      return readJson(textOf(pieces, size), Number.POSITIVE_INFINITY, values);
  }
}

/** The text of all pieces, put together in memory that is used again. */
function textOf(pieces: readonly Buffer[], size: number): string {
  const whole = bytePool.take(size);
  let at = 0;
  for (const piece of pieces) at += piece.copy(whole, at);
  const text = whole.toString('utf8', 0, size);
  bytePool.give(whole);
  return text;
}

/**
 * Lets the sender of a body that was not wanted read the answer: closing while it sends would reset the connection under it, and on a busy machine it
 * sends for long. It cuts off a sender that pauses, or that has not ended within twelve looks, which is a minute.
 */
export function discardRest(request: IncomingMessage, response: ServerResponse, lingerMs = LINGER_MS): void {
  if (request.complete) return;
  response.once('finish', () => {
    if (request.complete || request.destroyed) return;
    let before = request.socket.bytesRead;
    let looks = 0;
    const look = () => {
      const { bytesRead } = request.socket;
      if (!request.complete && (bytesRead === before || ++looks === LINGER_LOOKS)) request.destroy();
      before = bytesRead;
    };
    // Bytes that came while the process was busy are read after its timers have run.
    const looking = setInterval(() => setImmediate(look), lingerMs);
    request.once('close', () => clearInterval(looking));
    request.resume();
  });
}

function readJson(text: string, maxDepth: number, values?: number): unknown {
  if (text.trim() === '') return undefined;
  checkValues(text, values);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (err) {
    throw new RequestInvalid([{ loc: ['body'], msg: `the body is not JSON: ${(err as Error).message}`, type: 'json_invalid' }]);
  }
  if (Number.isFinite(maxDepth) && isDeeper(value, maxDepth))
    throw new RequestInvalid([{ loc: ['body'], msg: `the body nests deeper than ${maxDepth} levels`, type: 'json_too_deep' }]);
  return storable(value, text);
}

/** Every body is walked through: plain values, which are most, cost no call. */
function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null || isExact(value)) return false;
  if (most === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (typeof inner === 'object' && isDeeper(inner, most - 1)) return true;
    return false;
  }
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    if (typeof inner === 'object' && isDeeper(inner, most - 1)) return true;
  }
  return false;
}

/** Not by iterating over the request: leaving such a loop destroys the request, and with it the connection that the answer needs. */
function readPieces(request: IncomingMessage, { limit, share, pace, form }: BodyOptions): Promise<Buffer[]> {
  const body = decoded(request);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer[]>();
  const chunks: Buffer[] = [];
  let size = 0;
  const fail = (cause: NodeJS.ErrnoException) =>
    reject(
      // Memory that there is none of is no fault of the body.
      isOutOfMemory(cause) ? cause : new ServiceError('BadRequest', `the body could not be read: ${cause.message}`, { cause }),
    );
  // Frees the received bytes at once: reading and discarding the rest may take long.
  const stop = (err: unknown) => {
    chunks.length = 0;
    body.off('data', take);
    reject(err);
  };
  const take = (chunk: Buffer) => {
    size += chunk.length;
    try {
      share?.add(chunk.length);
    } catch (err) {
      stop(err);
      return;
    }
    if (size > limit)
      stop(new ServiceError('BodyTooLarge', `the body is larger than this route's ${limit} bytes; send less per request`));
    else if (form) {
      body.pause();
      form.add(chunk).then(() => body.resume(), stop);
    } else chunks.push(chunk);
  };
  const stopWatching = watchPace(request, pace, stop);
  // A request is closed after its end as well, and what unpacks it may still have to give.
  const hangUp = () => {
    if (!request.complete) fail(new Error('the connection was closed'));
  };
  request.once('close', hangUp);
  body
    .on('data', take)
    .on('error', fail)
    .on('end', () => resolve(chunks));
  return promise.finally(() => {
    stopWatching();
    request.off('close', hangUp);
    body.off('data', take);
    if (body !== request) body.destroy();
  });
}

/** Calls `onSlow` with a `RequestTimeout` when a window of the time brings too little. @returns what ends the watch */
function watchPace(
  request: IncomingMessage,
  { bytesPerSecond, windowMs }: BodyPace,
  onSlow: (err: ServiceError) => void,
): () => void {
  const least = (bytesPerSecond * windowMs) / 1_000;
  let before = request.socket.bytesRead;
  let isOver = false;
  const look = () => {
    const { bytesRead } = request.socket;
    // Bytes that arrived and were not read yet are delayed by this process, not by the client.
    const isSlow = !request.complete && request.readableLength === 0 && bytesRead - before < least;
    before = bytesRead;
    if (isSlow && !isOver)
      onSlow(
        new ServiceError(
          'RequestTimeout',
          `the body comes at less than ${bytesPerSecond} bytes a second; send it again, faster or smaller`,
        ),
      );
  };
  // Bytes that came while the process was busy are read after its timers have run.
  const timer = setInterval(() => setImmediate(look), windowMs);
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}

/** The bytes of a body, decompressed. */
function decoded(request: IncomingMessage): Readable {
  const decoder = decoderOf(request);
  return decoder ? request.pipe(decoder) : request;
}

function decoderOf(request: IncomingMessage) {
  switch (request.headers['content-encoding'] ?? 'identity') {
    case 'identity':
      return undefined;
    case 'gzip':
      return createGunzip({ chunkSize: DECOMPRESSED_BYTES });
    case 'deflate':
      return createInflate({ chunkSize: DECOMPRESSED_BYTES });
    case 'br':
      return createBrotliDecompress({ chunkSize: DECOMPRESSED_BYTES });
    default:
      throw new ServiceError('UnsupportedMediaType', 'content-encoding must be gzip, deflate, br or absent');
  }
}
