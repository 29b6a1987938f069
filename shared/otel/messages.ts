import { type LoggedMessage, loggedMessageRoles } from '../wire/recordParts.ts';
import { type AttributeValue, parseJson, textOf } from './attributes.ts';
import type { Event } from './spanContent.ts';

type Role = LoggedMessage['role'];
type ToolCall = NonNullable<LoggedMessage['tool_calls']>[number];
type Tree = { [key: string]: AttributeValue };

const roles: ReadonlySet<string> = new Set(loggedMessageRoles);
const otherRoles: ReadonlyMap<string, Role> = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['bot', 'assistant'],
]);

/** The role of the interface; names of other vendors are translated, and an unknown one is `byDefault`. */
export function roleOf(role: AttributeValue | undefined, byDefault: Role): Role {
  const name = typeof role === 'string' ? role.toLowerCase() : '';
  return roles.has(name) ? (name as Role) : (otherRoles.get(name) ?? byDefault);
}

export const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What one message holds, in whichever form it was written. */
interface Contents {
  texts: string[];
  reasoning: string[];
  toolCalls: ToolCall[];
  /** Results of tools that the message carries. */
  responses: { id: string | undefined; text: string }[];
}

/**
 * Messages in any of the usual forms: with `parts` (OpenTelemetry), with `content` as text or list of blocks and `tool_calls` (OpenAI, Anthropic),
 * or plain text. A message that carries results of several tools becomes one message for each.
 */
export function messagesOf(value: AttributeValue | undefined, role: Role): LoggedMessage[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return messagesOfText(value, role);
  if (Array.isArray(value)) return value.flatMap((one) => messagesOf(one, role));
  if (!isTree(value)) return [{ role, content: String(value) }];
  if (Array.isArray(value.messages)) return messagesOf(value.messages, role);
  const own = roleOf(value.role, role);
  const contents = contentsOf(value);
  const texts = [...contents.reasoning, ...contents.texts];
  const answers = contents.responses.map(({ id, text }): LoggedMessage => message('tool', [text], [], id));
  if (answers.length > 0 && texts.length === 0 && contents.toolCalls.length === 0) return answers;
  const id = firstText(value.tool_call_id, own === 'tool' ? value.id : undefined);
  return [...answers, message(own, texts, contents.toolCalls, id)];
}

function messagesOfText(text: string, role: Role): LoggedMessage[] {
  const json = parseJson(text);
  const isMessages = Array.isArray(json) ? json.length > 0 && json.every(isMessage) : isMessage(json) || hasMessages(json);
  return isMessages ? messagesOf(json, role) : [{ role, content: text }];
}

const isMessage = (value: unknown): boolean =>
  isTree(value) && typeof value.role === 'string' && ('content' in value || 'parts' in value || 'tool_calls' in value);
const hasMessages = (value: unknown): boolean =>
  isTree(value) && Array.isArray(value.messages) && value.messages.every(isMessage);

/** The answer of a model: the first of its choices. Reasoning and further choices become events. */
export function answerOf(value: AttributeValue | undefined): { output?: LoggedMessage; events?: Event[]; finishReason?: string } {
  const choices = (Array.isArray(value) ? value : [value]).filter((one) => one !== undefined && one !== null);
  const [first, ...others] = choices;
  if (first === undefined) return {};
  const contents = isTree(first) ? contentsOf(first) : { texts: [textOf(first)], reasoning: [], toolCalls: [], responses: [] };
  const texts = [...contents.texts, ...contents.responses.map(({ text }) => text)];
  const events: Event[] = [
    ...contents.reasoning.map((content): Event => ({ type: 'reasoning', content })),
    ...others.flatMap((choice) =>
      messagesOf(choice, 'assistant').map(
        ({ role, content }): Event => ({ type: 'message', role, content: contentText(content) }),
      ),
    ),
  ];
  const finishReason = isTree(first) ? firstText(first.finish_reason) : undefined;
  return {
    output: message(roleOf(isTree(first) ? first.role : undefined, 'assistant'), texts, contents.toolCalls),
    ...(events.length > 0 ? { events } : {}),
    ...(finishReason === undefined ? {} : { finishReason }),
  };
}

function message(role: Role, texts: readonly string[], toolCalls: readonly ToolCall[], toolCallId?: string): LoggedMessage {
  const [only = ''] = texts;
  return {
    role,
    content: texts.length > 1 ? texts.map((text) => ({ type: 'text' as const, text })) : only,
    ...(toolCalls.length > 0 ? { tool_calls: [...toolCalls] } : {}),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  };
}

function contentsOf(message: Tree): Contents {
  const contents: Contents = { texts: [], reasoning: [], toolCalls: [], responses: [] };
  const { parts, content } = message;
  for (const part of Array.isArray(parts) ? parts : Array.isArray(content) ? content : [content ?? parts])
    addPart(contents, part);
  const calls = typeof message.tool_calls === 'string' ? parseJson(message.tool_calls) : message.tool_calls;
  if (Array.isArray(calls)) contents.toolCalls.push(...calls.flatMap(toolCallOf));
  if (isTree(message.function_call)) contents.toolCalls.push(...toolCallOf(message.function_call));
  return contents;
}

function addPart(contents: Contents, part: AttributeValue | undefined): void {
  if (part === undefined || part === null || part === '') return;
  if (!isTree(part)) {
    contents.texts.push(textOf(part));
    return;
  }
  switch (part.type) {
    case 'tool_call':
    case 'tool_use':
    case 'function_call':
      contents.toolCalls.push(...toolCallOf(part));
      return;
    case 'tool_call_response':
    case 'tool_result':
      contents.responses.push({
        id: firstText(part.id, part.tool_use_id, part.tool_call_id),
        text: textOf(part.response ?? part.result ?? part.content ?? ''),
      });
      return;
    case 'reasoning':
    case 'thinking':
      contents.reasoning.push(textOf(part.content ?? part.thinking ?? part.text ?? ''));
      return;
    default:
      contents.texts.push(partText(part));
  }
}

/** Text of a part. Pictures, sounds and files have no record of their own: they are kept whole, as an address or a data URL. */
function partText(part: Tree): string {
  const { type, text, content, uri, image_url: image, mime_type: mime } = part;
  if (typeof text === 'string') return text;
  const address = isTree(image) ? image.url : (image ?? uri);
  if (typeof address === 'string') return address;
  if (typeof content === 'string')
    return type === 'blob' ? `data:${typeof mime === 'string' ? mime : 'application/octet-stream'};base64,${content}` : content;
  return JSON.stringify(part);
}

function toolCallOf(call: AttributeValue): ToolCall[] {
  if (!isTree(call)) return [];
  const of = isTree(call.function) ? call.function : call;
  const name = firstText(of.name);
  if (name === undefined) return [];
  return [{ id: firstText(call.id) ?? '', function: { name, arguments: textOf(of.arguments ?? call.input ?? '') } }];
}

function firstText(...values: (AttributeValue | undefined)[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}

/** The text of a message's content, parts one below the other. */
export const contentText = (content: LoggedMessage['content']): string =>
  typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : '')).join('\n');
