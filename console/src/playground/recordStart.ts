import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { RecordNode } from '../data/records.ts';
import { messagesOf } from '../payload/messages.ts';
import type { WrittenMessage } from '../prompt/promptText.ts';

/** The messages that went into a record; an input that is no conversation is what the user says. */
export function messagesOfRecord({ input }: RecordNode): WrittenMessage[] {
  const all: unknown[] = Array.isArray(input) ? input : [input];
  const messages = all.filter(isMessage);
  if (messages.length > 0 && messages.length === all.length) return messages.map(writeMessage);
  const text = typeof input === 'string' ? input : input === null || input === undefined ? '' : jsonWithBigInts(input);
  return [{ role: 'user', text: asWritten(text), isJson: false, others: {} }];
}

/** Returns true when a message of the record holds a picture or a file. */
export const holdsMedia = ({ input }: RecordNode): boolean =>
  messagesOf(input)?.some(({ parts }) => parts.some(({ kind }) => kind !== 'text')) ?? false;

/** The settings that a record holds: its model and the tools that the model was offered. */
export const settingsOfRecord = ({ model, tools }: RecordNode): Record<string, unknown> => ({
  ...(typeof model === 'string' && model !== '' ? { model_alias: model } : {}),
  ...(Array.isArray(tools) && tools.length > 0 ? { tools } : {}),
});

type Message = { role: string; content?: unknown; [key: string]: unknown };

const isMessage = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && typeof (value as Message).role === 'string';

function writeMessage({ role, content, ...keys }: Message): WrittenMessage {
  const others = Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== null && value !== undefined));
  // Records leave the kind of a tool call out, and models want it.
  if (Array.isArray(others.tool_calls))
    others.tool_calls = others.tool_calls.map((call: object) => ({ type: 'function', ...call }));
  if (content === null || content === undefined) return { role, text: '', isJson: false, others };
  const only = Array.isArray(content) && content.every(isText) ? content.map(({ text }) => text).join('\n\n') : content;
  if (typeof only === 'string') return { role, text: asWritten(only), isJson: false, others };
  return { role, text: jsonWithBigInts(only, undefined, 2), isJson: true, others };
}

const isText = (part: unknown): part is { text: string } => {
  const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string';
};

/** Braces that were sent stay braces: with a backslash before them they name no variable. */
const asWritten = (text: string): string => text.replaceAll(/\{\{\{?[^{}"]+\}\}\}?/g, '\\$&');
