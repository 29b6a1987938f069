import { parsedOrNothing } from '../json/parseJson.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { AttemptFailure } from './failures.ts';

/** A message of a chat completion request, read for protocols that say it otherwise. */
export interface ReadMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  parts: ReadPart[];
  calls: { id: string; name: string; input: Fields; signature: string | undefined }[];
  /** The call that a tool's answer is for, and the tool's name where it is known. */
  answers: { id: string; name: string } | undefined;
}

/** Base64 of a file that the request holds. */
export type InlineFile = { type: 'data'; mediaType: string; base64: string; name: string | undefined };

type ReadPart =
  | { type: 'text'; text: string }
  | InlineFile
  /** The type of a file is known where the service itself has put it there. */
  | { type: 'link'; kind: 'image' | 'file'; url: string; mediaType?: string };

export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});
export const objectsIn = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);
export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Returns what the messages of a request say. @throws AttemptFailure for a part that is none of text, image, audio or file */
export function readMessages(messages: unknown): ReadMessage[] {
  const names = new Map<string, string>();
  return objectsIn(messages).map((message) => {
    const calls = objectsIn(message.tool_calls).map((call, index) => {
      const called = fieldsOf(call.function);
      const id = textIn(call.id) ?? `call_${index}`;
      const name = textIn(called.name) ?? '';
      names.set(id, name);
      const google = fieldsOf(fieldsOf(call.extra_content).google);
      return { id, name, input: inputOf(called.arguments), signature: textIn(google.thought_signature) };
    });
    const answered = textIn(message.tool_call_id) ?? '';
    return {
      role: roleOf(message.role),
      parts: readParts(message.content),
      calls,
      answers:
        message.role === 'tool' ? { id: answered, name: textIn(message.name) ?? names.get(answered) ?? answered } : undefined,
    };
  });
}

const roleOf = (role: unknown): ReadMessage['role'] =>
  role === 'system' || role === 'developer' ? 'system' : role === 'assistant' || role === 'tool' ? role : 'user';

/** The arguments of a call; those that are no object are kept under a name. */
function inputOf(text: unknown): Fields {
  const value = typeof text === 'string' ? parsedOrNothing(text) : text;
  if (isObject(value)) return value;
  return typeof text === 'string' && text.trim() !== '' ? { input: value ?? text } : {};
}

/**
 * The messages of the system and the others, for protocols that have them apart. At least one message must be the user's: a system alone is said by them.
 */
export function partedSystem(messages: readonly ReadMessage[]): { system: ReadMessage[]; others: readonly ReadMessage[] } {
  const others = messages.filter(({ role }) => role !== 'system');
  return others.length > 0
    ? { system: messages.filter(({ role }) => role === 'system'), others }
    : { system: [], others: messages };
}

/** The turns of a conversation whose roles must alternate: all results of one turn's tools stand in one message. */
export function turnsOf(messages: readonly ReadMessage[], blocksOf: (message: ReadMessage) => Fields[]): Fields[] {
  const turns: { role: string; content: Fields[] }[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = blocksOf(message);
    const last = turns.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  return turns;
}

/** @throws AttemptFailure for a part that is none of text, image, audio or file */
export function readParts(content: unknown): ReadPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return objectsIn(content).map((part) => {
    if (typeof part.text === 'string') return { type: 'text', text: part.text };
    const image = textIn(part.image_url) ?? textIn(fieldsOf(part.image_url).url);
    if (image !== undefined) return inlineOr(image) ?? { type: 'link', kind: 'image', url: image };
    const { data, format } = fieldsOf(part.input_audio);
    if (typeof data === 'string')
      return { type: 'data', mediaType: `audio/${format === 'mp3' ? 'mpeg' : format}`, base64: data, name: undefined };
    const { file_data, filename, file_url, media_type } = fieldsOf(part.file);
    if (typeof file_url === 'string' && typeof media_type === 'string')
      return { type: 'link', kind: 'file', url: file_url, mediaType: media_type };
    if (typeof file_data === 'string') {
      const name = textIn(filename);
      const held = inlineOr(file_data) ?? { type: 'data', mediaType: mediaTypeOf(name), base64: file_data };
      return { ...held, name };
    }
    throw new AttemptFailure('refused', `a message has a part of the type "${part.type}", which this provider does not take`, {
      retry: false,
      status: 400,
    });
  });
}

/** `data:image/png;base64,…` */
function inlineOr(url: string): InlineFile | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1;
  if (comma < 0) return undefined;
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const data = url.slice(comma + 1);
  const base64 = parameters.includes('base64') ? data : Buffer.from(decodeURIComponent(data)).toString('base64');
  return { type: 'data', mediaType: mediaType.toLowerCase() || 'text/plain', base64, name: undefined };
}

const mediaTypeOf = (name: string | undefined): string =>
  name?.toLowerCase().endsWith('.txt') ? 'text/plain' : 'application/pdf';

/** A field of a request that a protocol has no word for, as an endpoint would refuse it: a call that may leave it out tries again without it. */
export const unsayable = (field: string, message: string): AttemptFailure =>
  new AttemptFailure('http_error', message, { retry: false, status: 400, refusedParameters: [field] });

/** @throws AttemptFailure for a field that is not among `known` */
export function onlyKnown(body: Fields, known: ReadonlySet<string>, who: string): void {
  const other = Object.keys(body).find((field) => !known.has(field));
  if (other !== undefined) throw unsayable(other, `${who} has no such setting`);
}

/** A message of an endpoint, with the names that chat completion requests have for the fields it speaks of. */
export const withFieldNames = (text: string, names: readonly (readonly [RegExp, string])[]): string =>
  names.reduce((rest, [words, field]) => rest.replaceAll(words, field), text);
