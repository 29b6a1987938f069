import { gzipSync } from 'node:zlib';

const MEMBER_BYTES = 10 * 1024 * 1024;

/** Gzip of at least so many blanks. It has members, which unpack to one text: to pack 1 GB as one takes 16 s. */
export function gzipBomb(bytes: number): Buffer {
  const member = gzipSync(Buffer.alloc(MEMBER_BYTES, ' '));
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / MEMBER_BYTES) }, () => member));
}
