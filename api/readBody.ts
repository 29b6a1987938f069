import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { RequestInvalid, ServiceError } from '../shared/errors.ts';

/** How a request body arrives. `json` also takes JSON sent with another content type, and nothing where the body is optional. */
export type BodyKind = 'json' | 'urlencoded' | 'multipart' | 'bytes';

/** Milliseconds without a byte after which a caller who sends a body counts as gone. */
const STALL_MS = 20_000;
/** Milliseconds for which the rest of a refused body is read and thrown away, so that its sender gets to read the answer. */
const LINGER_MS = 5_000;
/** What recursive code reads and compares, ours and the stores', must not exhaust its stack; 256 levels of spans take 513. */
const MAX_DEPTH = 1_024;

/**
 * The body of a request as its kind says, at most `limit` bytes after decompression.
 * @throws RequestInvalid when it is not of its kind; ServiceError `BodyTooLarge`, `UnsupportedMediaType`, `RequestTimeout` when it stalls,
 * `BadRequest` when it breaks off or does not decompress.
 */
export async function readBody(request: IncomingMessage, kind: BodyKind, limit: number): Promise<unknown> {
  const bytes = await readBytes(request, limit);
  switch (kind) {
    case 'bytes':
      return bytes;
    case 'urlencoded':
      return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
    case 'multipart':
      return readForm(bytes, request.headers['content-type'] ?? '');
    case 'json':
      return readJson(bytes);
  }
}

/**
 * Lets the sender of a body that was not wanted read the answer: closing at once would reset the connection under it. Whoever goes on sending is
 * cut off.
 */
export function discardRest(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  response.once('finish', () => {
    if (request.complete || request.destroyed) return;
    const cut = setTimeout(() => request.destroy(), LINGER_MS);
    request.once('close', () => clearTimeout(cut));
    request.resume();
  });
}

function readJson(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  if (text.trim() === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (err) {
    throw new RequestInvalid([{ loc: ['body'], msg: `the body is not JSON: ${(err as Error).message}`, type: 'json_invalid' }]);
  }
  if (isDeeper(value, MAX_DEPTH))
    throw new RequestInvalid([{ loc: ['body'], msg: `the body nests deeper than ${MAX_DEPTH} levels`, type: 'json_too_deep' }]);
  return LONE_SURROGATE.test(text) ? wellFormed(value) : value;
}

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (most === 0) return true;
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], most - 1)) return true;
  return false;
}

/** An escape of half a character that lacks its other half. Text decoded from bytes holds none. */
const LONE_SURROGATE = /\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]/;

/** Half a character cannot be stored as UTF-8: it becomes U+FFFD, in keys as in values. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]));
}

/** Parts of a multipart form: text parts as strings, file parts as `File`. Nothing at all where no body was sent. */
async function readForm(bytes: Buffer, contentType: string): Promise<unknown> {
  if (bytes.length === 0) return {};
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData();
    return Object.fromEntries(form.entries());
  } catch (cause) {
    throw new RequestInvalid([
      {
        loc: ['body'],
        msg: 'the body is not a multipart form (multipart/form-data with a boundary)',
        type: 'form_invalid',
        ctx: { reason: (cause as Error).message },
      },
    ]);
  }
}

/** Not by iterating over the request: leaving such a loop destroys the request, and with it the connection that the answer needs. */
function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const body = decoded(request);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  const stall = setTimeout(
    () => reject(new ServiceError('RequestTimeout', `no byte of the body came for ${STALL_MS / 1_000} s; send it again`)),
    STALL_MS,
  );
  const fail = (cause: Error) =>
    reject(new ServiceError('BadRequest', `the body could not be read: ${cause.message}`, { cause }));
  const take = (chunk: Buffer) => {
    stall.refresh();
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else reject(new ServiceError('BodyTooLarge', `the body is larger than this route's ${limit} bytes; send less per request`));
  };
  // A request is closed after its end as well, and what unpacks it may still have to give.
  const hangUp = () => {
    if (!request.complete) fail(new Error('the connection was closed'));
  };
  request.once('close', hangUp);
  body
    .on('data', take)
    .on('error', fail)
    .on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
  return promise.finally(() => {
    clearTimeout(stall);
    request.off('close', hangUp);
    body.off('data', take);
    if (body !== request) body.destroy();
  });
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
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new ServiceError('UnsupportedMediaType', 'content-encoding must be gzip, deflate, br or absent');
  }
}
