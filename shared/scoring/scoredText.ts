import { parseJson } from '../json/parseJson.ts';
import { isExact } from '../wire/exactNumber.ts';
import { isObject } from '../wire/isObject.ts';

/** Longer lists of messages are not read: they have content. */
const MAX_EMPTY = 1_000;

/**
 * The text of a stored input or output as metrics see it: of a message its content, of parts of text these, and no text where messages, parts or
 * documents have none. Everything else stays as it is stored, say a message that calls tools.
 * @param isJson whether it is stored as JSON
 */
export function scoredText<T extends string | null>(text: T, isJson: boolean): T | string {
  if (text === null || !isJson) return text;
  if (text.startsWith('[{"content":') && text.length > MAX_EMPTY) return text;
  try {
    return plain(parseJson(text)) ?? text;
  } catch {
    return text; // the beginning of a longer one
  }
}

interface Part {
  type?: unknown;
  text?: unknown;
  content?: unknown;
  tool_calls?: unknown;
}

function plain(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || isExact(value)) return undefined;
  if (!Array.isArray(value)) return plainMessage(value);
  const parts = value as readonly Part[];
  if (parts.every((part) => part?.type === 'text' && typeof part.text === 'string'))
    return parts.map(({ text }) => text).join('\n');
  return parts.every((part) => isObject(part) && plainMessage(part)?.trim() === '') ? '' : undefined;
}

/** The content of a message that has nothing beside it. */
function plainMessage(message: Part): string | undefined {
  if (Object.keys(message).length === 0) return '';
  if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0) return undefined;
  return message.content === null ? '' : plain(message.content);
}
