/** A message of a conversation as it is shown. */
export interface Message {
  role: string;
  text: string;
  /** Parts of the content that are no text: images, files. */
  others: unknown[];
  toolCalls: { name: string; arguments: string }[];
}

/**
 * The messages of an input or output: those of a list, or the only one. Undefined where it is no conversation, as for a text or documents.
 * @param value as the interface answers it
 */
export function messagesOf(value: unknown): Message[] | undefined {
  const all = Array.isArray(value) ? value : [value];
  if (all.length === 0 || !all.every(isMessage)) return undefined;
  return all.map((one) => ({
    role: one.role,
    ...contentOf(one.content),
    toolCalls: (Array.isArray(one.tool_calls) ? one.tool_calls : []).map(toolCallOf),
  }));
}

type Given = { role: string; content?: unknown; tool_calls?: unknown };

const isMessage = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && typeof (value as Given).role === 'string';

function contentOf(content: unknown): { text: string; others: unknown[] } {
  if (typeof content === 'string') return { text: content, others: [] };
  if (!Array.isArray(content)) return { text: '', others: content === null || content === undefined ? [] : [content] };
  const texts = content.filter((part): part is { text: string } => typeof part?.text === 'string');
  return { text: texts.map(({ text }) => text).join('\n'), others: content.filter((part) => typeof part?.text !== 'string') };
}

function toolCallOf(call: { function?: { name?: unknown; arguments?: unknown } }) {
  return { name: String(call?.function?.name ?? ''), arguments: String(call?.function?.arguments ?? '') };
}

/** The documents of a retriever's output; undefined where it is something else. */
export function documentsOf(value: unknown): { content: string; metadata: unknown }[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const isDocument = (one: unknown): one is { content: string; metadata?: unknown } =>
    typeof one === 'object' && one !== null && typeof (one as { content?: unknown }).content === 'string' && !('role' in one);
  return value.every(isDocument) ? value.map(({ content, metadata }) => ({ content, metadata })) : undefined;
}

/** The value of a text that is JSON of an object or list; undefined for any other. Beyond `MOST_CHARACTERS` it stays text. */
export function jsonIn(text: string, parse: (text: string) => unknown): unknown {
  if (text.length > MOST_CHARACTERS || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Reading more would hold the page for longer than a person waits for a key. */
const MOST_CHARACTERS = 2_000_000;
