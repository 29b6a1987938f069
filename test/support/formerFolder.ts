import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, createBrotliDecompress } from 'node:zlib';
import type { ServiceClient } from '../../client/http.ts';

/** Data folders of records that a former release has left: `stopped` as it was asked to end, `killed` amid writes. `test/fixtures/makeFormerFolder.ts` makes it. */
export const formerArchive = join(import.meta.dirname, '../fixtures/formerFolder.tar.br');

/** A question to the service. */
export interface Question {
  path: string;
  /** Sent by POST; absent: a GET. */
  body?: Record<string, unknown>;
}

export interface FormerFolder {
  /** The commit that the archive was made by. */
  release: string;
  projectId: string;
  streamId: string;
  /** A trace that takes further updates, one that was deleted, and one whose update came before it. */
  traces: { kept: string; deleted: string; early: string };
  answers: { question: Question; answer: unknown }[];
}

export const ask = (client: ServiceClient, { path, body }: Question): Promise<unknown> => client.send(path, body ? { body } : {});

/** Unpacks the archive into `folder`, with the folders `stopped` and `killed`. */
export async function unpackFormerFolder(folder: string): Promise<FormerFolder> {
  const archive = join(folder, 'archive.tar');
  await pipeline(
    createReadStream(formerArchive),
    createBrotliDecompress({ params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 1 } }),
    createWriteStream(archive),
  );
  await promisify(execFile)('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
  return JSON.parse(await readFile(join(folder, 'facts.json'), 'utf8')) as FormerFolder;
}
