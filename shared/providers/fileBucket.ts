import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { headersOf, type OutboundGuard } from '../outbound/outbound.ts';
import type { ChatMessage, ContentPart } from './chatMessage.ts';
import { type InlineFile, readParts } from './chatParts.ts';
import { connectionFailure, httpFailure } from './failures.ts';
import type { Authentication } from './provider.ts';

/** A bucket of the user's in Google Cloud Storage. Files of requests are put there, and the model fetches them. */
export interface FileBucket {
  /** The address of its JSON API. */
  endpoint: string;
  name: string;
  /** Begins the names of its objects; empty, or with a slash at its end. */
  prefix: string;
  authentication: Extract<Authentication, { kind: 'oauth2' }>;
}

const BUCKET = 'the bucket of gcs_config';
/** A file that is known to be there is not sent again for so long: a rule of the bucket may delete it. */
const KNOWN_MS = 3_600_000;
const MAX_KNOWN = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

const ENDINGS: Readonly<Record<string, string>> = {
  ...{ 'image/png': '.png', 'image/jpeg': '.jpg', 'image/webp': '.webp', 'image/gif': '.gif' },
  ...{ 'audio/mpeg': '.mp3', 'audio/wav': '.wav', 'video/mp4': '.mp4', 'application/pdf': '.pdf', 'text/plain': '.txt' },
};

/** Puts the files of messages into buckets. The same file has one object, whose name is made of its bytes. */
export function createFileBuckets(outbound: Pick<OutboundGuard, 'request'>) {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN, ttl: KNOWN_MS });

  const put = async (bucket: FileBucket, { mediaType, base64 }: InlineFile, token: string, signal: AbortSignal) => {
    const bytes = Buffer.from(base64, 'base64');
    const name = `${bucket.prefix}${createHash('sha256').update(bytes).digest('hex')}${ENDINGS[mediaType] ?? ''}`;
    const uri = `gs://${bucket.name}/${name}`;
    if (known.has(uri)) return uri;
    const url = new URL(`/upload/storage/v1/b/${encodeURIComponent(bucket.name)}/o`, bucket.endpoint);
    url.search = new URLSearchParams({ uploadType: 'media', name, ifGenerationMatch: '0' }).toString();
    const headers = { authorization: `Bearer ${token}`, 'content-type': mediaType, 'user-agent': 'assay' };
    const request = { method: 'POST', headers, body: bytes, signal, most: MAX_ANSWER_BYTES };
    const { status, headers: received } = await outbound.request(url.href, request).catch((err: unknown) => {
      signal.throwIfAborted();
      throw connectionFailure(BUCKET, err);
    });
    // 412: it is there already.
    if (status !== 412 && (status < 200 || status > 299)) throw httpFailure(BUCKET, status, headersOf(received));
    known.set(uri, true);
    return uri;
  };

  return {
    /**
     * The messages with addresses in the bucket in place of the files that they hold.
     * @param token an access token of the bucket
     * @throws AttemptFailure
     */
    async withAddresses(
      bucket: FileBucket,
      messages: readonly ChatMessage[],
      token: string,
      signal: AbortSignal,
    ): Promise<ChatMessage[]> {
      const addressed = async (part: ContentPart): Promise<ContentPart> => {
        const [file] = part.type === 'text' ? [] : readParts([part]);
        if (file?.type !== 'data') return part;
        return { type: 'file', file: { file_url: await put(bucket, file, token, signal), media_type: file.mediaType } };
      };
      const all: ChatMessage[] = [];
      // One after the other: together they may have 20 MB.
      for (const message of messages) {
        if (!Array.isArray(message.content)) {
          all.push(message);
          continue;
        }
        const content: ContentPart[] = [];
        for (const part of message.content) content.push(await addressed(part));
        all.push({ ...message, content });
      }
      return all;
    },
  };
}

/** True of messages that hold a file. */
export const holdFiles = (messages: readonly ChatMessage[]): boolean =>
  messages.some(({ content }) => Array.isArray(content) && content.some(({ type }) => type !== 'text'));
