import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { type ContentPart, contentPartsOf, isContent } from './contentParts.ts';

/** A message of a conversation as it is shown. */
export interface Message {
  role: string;
  parts: ContentPart[];
  toolCalls: { name: string; arguments: string }[];
  /** The tool that was called; set for a tool's answer. */
  answerOf: string | undefined;
}

/**
 * The messages of an input or output: those of a list, or the only one. Undefined where it is no conversation, as for a text or documents.
 * @param value as the interface answers it
 */
export function messagesOf(value: unknown): Message[] | undefined {
  if (isContent(value)) return [{ role: '', parts: contentPartsOf(value), toolCalls: [], answerOf: undefined }];
  const all = Array.isArray(value) ? value : [value];
  if (all.length === 0 || !all.every(isMessage)) return undefined;
  const names = new Map<unknown, string>();
  return all.map((one) => {
    const toolCalls = (Array.isArray(one.tool_calls) ? one.tool_calls : []).map((call: GivenCall) => {
      const name = String(call?.function?.name ?? '');
      names.set(call?.id, name);
      return { name, arguments: String(call?.function?.arguments ?? '') };
    });
    return {
      role: one.role,
      parts: contentPartsOf(one.content),
      toolCalls,
      answerOf: one.role === 'tool' ? names.get(one.tool_call_id) : undefined,
    };
  });
}

type GivenCall = { id?: unknown; function?: { name?: unknown; arguments?: unknown } };
type Given = { role: string; content?: unknown; tool_calls?: unknown; tool_call_id?: unknown };

const isMessage = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && typeof (value as Given).role === 'string';

/** The documents of a retriever's output; undefined where it is something else. */
export function documentsOf(value: unknown): { content: string; metadata: unknown }[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const isDocument = (one: unknown): one is { content: string; metadata?: unknown } =>
    typeof one === 'object' && one !== null && typeof (one as { content?: unknown }).content === 'string' && !('role' in one);
  return value.every(isDocument) ? value.map(({ content, metadata }) => ({ content, metadata })) : undefined;
}

/** An input or output as text alone, for reading and copying. */
export function plainText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  const documents = documentsOf(value);
  if (documents) return documents.map(({ content }) => content).join('\n\n');
  const messages = messagesOf(value);
  if (!messages) return jsonWithBigInts(value, undefined, 2);
  return messages
    .map(({ role, parts, toolCalls }) =>
      [
        ...(role === '' ? [] : [`${role}:`]),
        ...parts.map(partText),
        ...toolCalls.map((call) => `calls ${call.name}(${call.arguments})`),
      ].join('\n'),
    )
    .join('\n\n');
}

function partText(part: ContentPart): string {
  if (part.kind === 'text') return part.text;
  if (part.kind === 'json') return jsonWithBigInts(part.value, undefined, 2);
  if (part.kind === 'elsewhere') return `[${part.what}: ${part.address}]`;
  return part.kind === 'image' ? '[image]' : `[file ${part.name}]`;
}
