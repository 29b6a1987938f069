import type { ChatMessage, ContentPart } from './chatMessage.ts';
import type { Connection } from './provider.ts';

/**
 * Returns what is wrong with the files of a call under the integration's `multi_modal_config`, or undefined. Sizes are those of inline files; a file that
 * is only named by URL is fetched by the endpoint, so only its number counts.
 */
export function fileProblem(messages: readonly ChatMessage[], limits: Connection['fileLimits']): string | undefined {
  if (limits === null) return undefined;
  const files = messages.flatMap(({ content }) => (Array.isArray(content) ? content.filter((part) => part.type !== 'text') : []));
  if (limits.maxFiles !== null && files.length > limits.maxFiles)
    return `the call has ${files.length} files; this integration takes at most ${limits.maxFiles} (multi_modal_config.max_files)`;
  const limit = limits.maxFileSizeBytes;
  if (limit === null) return undefined;
  const tooLarge = files.map(inlineBytes).find((size) => size > limit);
  return tooLarge === undefined
    ? undefined
    : `a file of the call has ${tooLarge} bytes; this integration takes at most ${limit} (multi_modal_config.max_file_size_bytes)`;
}

/** Bytes of a part's inline data: a `data:` URL or plain base64 text; 0 for a part that only refers to a file. */
function inlineBytes(part: ContentPart): number {
  const image = part.image_url as { url?: unknown } | string | undefined;
  const audio = part.input_audio as { data?: unknown } | undefined;
  const file = part.file as { file_data?: unknown } | undefined;
  const url = typeof image === 'string' ? image : image?.url;
  const data = audio?.data ?? file?.file_data ?? (typeof url === 'string' && url.startsWith('data:') ? url : undefined);
  if (typeof data !== 'string') return 0;
  const comma = data.startsWith('data:') ? data.indexOf(',') : -1;
  if (comma >= 0 && !data.slice(0, comma).endsWith(';base64'))
    return Buffer.byteLength(data.slice(comma + 1).replaceAll(/%[\da-f]{2}/gi, '.'));
  return Buffer.byteLength(data.slice(comma + 1), 'base64');
}
