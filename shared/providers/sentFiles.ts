import type { Modality } from '../wire/integrations.ts';
import type { ChatMessage, ContentPart } from './chatMessage.ts';

/** A file that a message may name by its id. */
export interface NamedFile {
  id: string;
  name: string;
  contentType: string;
  modality: Modality;
  sizeBytes: number;
}

/** The files of projects, as calls of models reach them. */
export interface NamedFiles {
  find(projectId: string, ids: readonly string[]): Promise<NamedFile[]>;
  bytes(projectId: string, id: string): Promise<Uint8Array | undefined>;
}

/** Bytes of the files of one call. They are held several times while it is made. */
const MAX_CALL_BYTES = 20 * 1024 * 1024;
const MAX_CALL_FILES = 50;

/** Why the files of a call cannot be sent. */
export class FilesRefused extends Error {
  override readonly name = 'FilesRefused';
}

const idOf = ({ type, file_id }: ContentPart): string | undefined =>
  type === 'file' && typeof file_id === 'string' ? file_id : undefined;

const namedIn = (messages: readonly ChatMessage[]): string[] =>
  messages.flatMap(({ content }) => (Array.isArray(content) ? content.flatMap((part) => idOf(part) ?? []) : []));

/**
 * The messages with the files themselves in place of the parts that name them. Texts are sent as text, which every model takes.
 * @param projectId whose files they may name; null: none
 * @param takes what the model is known to take; undefined where that is not known, and the endpoint is to say
 * @throws FilesRefused for a file that is not there, that the model does not take, or for too many
 */
export async function withFiles(
  files: NamedFiles,
  messages: readonly ChatMessage[],
  projectId: string | null,
  takes: readonly Modality[] | undefined,
): Promise<readonly ChatMessage[]> {
  const named = namedIn(messages);
  if (named.length === 0) return messages;
  if (named.length > MAX_CALL_FILES)
    throw new FilesRefused(`the call names ${named.length} files; at most ${MAX_CALL_FILES} are sent`);
  const ids = [...new Set(named)];
  const found = new Map((projectId === null ? [] : await files.find(projectId, ids)).map((file) => [file.id, file]));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined || projectId === null)
    throw new FilesRefused(`a message names the file ${missing}, which the project does not have`);
  const bytes = named.reduce((sum, id) => sum + (found.get(id) as NamedFile).sizeBytes, 0);
  if (bytes > MAX_CALL_BYTES)
    throw new FilesRefused(`the files of the call have ${bytes} bytes; at most ${MAX_CALL_BYTES} are sent`);
  for (const { name, modality, contentType } of found.values())
    if (takes?.includes(modality) === false && !isText(contentType))
      throw new FilesRefused(
        `the model takes ${takes.join(' and ')}, and the file ${JSON.stringify(name)} is of the kind ${modality}`,
      );
  const parts = new Map<string, ContentPart>();
  for (const file of found.values()) {
    const content = await files.bytes(projectId, file.id);
    if (!content) throw new FilesRefused(`a message names the file ${file.id}, which was deleted`);
    parts.set(file.id, partOf(file, Buffer.from(content.buffer, content.byteOffset, content.byteLength)));
  }
  return messages.map((message) => ({
    ...message,
    content: Array.isArray(message.content)
      ? message.content.map((part) => parts.get(idOf(part) ?? '') ?? part)
      : message.content,
  }));
}

const isText = (contentType: string): boolean => contentType.startsWith('text/') || contentType === 'application/json';

/** https://platform.openai.com/docs/api-reference/chat/create */
function partOf({ name, contentType, modality }: NamedFile, bytes: Buffer): ContentPart {
  if (isText(contentType)) return { type: 'text', text: `${name}:\n${bytes.toString('utf8')}` };
  const data = bytes.toString('base64');
  if (modality === 'image') return { type: 'image_url', image_url: { url: `data:${contentType};base64,${data}` } };
  if (modality === 'audio')
    return { type: 'input_audio', input_audio: { data, format: contentType === 'audio/wav' ? 'wav' : 'mp3' } };
  return { type: 'file', file: { filename: name, file_data: `data:${contentType};base64,${data}` } };
}
