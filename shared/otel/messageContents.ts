import type { LoggedMessage } from '../wire/recordParts.ts';
import { type AttributeTree, type AttributeValue, structureOf, textOf } from './attributes.ts';
import { firstText, isNothing, isTree } from './messageForms.ts';

export type ToolCall = NonNullable<LoggedMessage['tool_calls']>[number];

/** The contents of one message, in whichever form it was written. */
export interface Contents {
  texts: string[];
  reasoning: string[];
  toolCalls: ToolCall[];
  /** Results of tools that the message carries. */
  responses: { id: string | undefined; text: string; others: [string, AttributeValue][] }[];
}

/** Calls, their results and reasoning stand beside the messages in the lists of OpenAI's Responses. */
export const isItem = ({ type }: AttributeTree): boolean => items.has(type);
const items: ReadonlySet<unknown> = new Set(['function_call', 'function_call_output', 'reasoning']);

/** A call takes some 120,000 arguments, and a message may have more parts. */
export const append = <T>(to: T[], items: readonly T[]): void => {
  for (const item of items) to.push(item);
};

/** @param message a plain one */
export function contentsOf(message: AttributeTree): Contents {
  const contents: Contents = { texts: [], reasoning: [], toolCalls: [], responses: [] };
  const { parts, content } = message;
  const isPart = isNothing(parts) && isNothing(content) && isItem(message);
  // Providers that serve reasoning models write it beside the content.
  const beside = message.reasoning_content || message.reasoning || message.thinking;
  if (typeof beside === 'string' && beside !== '') contents.reasoning.push(beside);
  for (const part of isPart ? [message] : Array.isArray(parts) ? parts : Array.isArray(content) ? content : [content ?? parts])
    addPart(contents, part);
  const calls = structureOf(message.tool_calls);
  if (Array.isArray(calls)) append(contents.toolCalls, calls.flatMap(toolCallOf));
  if (isTree(message.function_call)) contents.toolCalls.push(...toolCallOf(message.function_call));
  if (typeof message.refusal === 'string' && message.refusal !== '') contents.texts.push(message.refusal);
  const spoken = isTree(message.audio) ? message.audio.transcript : undefined;
  if (contents.texts.length === 0 && typeof spoken === 'string') contents.texts.push(spoken);
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
    case 'tool-call':
    case 'tool_use':
    case 'function_call':
      contents.toolCalls.push(...toolCallOf(part));
      return;
    case 'step-start':
      return;
    case 'tool_call_response':
    case 'tool_result':
    case 'tool-result':
    case 'function_call_output':
      contents.responses.push(responseOf(part));
      return;
    case 'reasoning':
    case 'thinking':
      addReasoning(contents, part);
      return;
    default:
      // Gemini calls a text its thought.
      if (part.thought === true && typeof part.text === 'string') contents.reasoning.push(part.text);
      else if (!addBlock(contents, part)) contents.texts.push(partText(part));
  }
}

/** Where a provider does not show it, it is there without any. */
function addReasoning({ reasoning }: Contents, { content, thinking, text, summary, reasoning: own }: AttributeTree): void {
  const said = [content, thinking, text, own, summary].find((one) => !isNothing(one));
  if (said !== undefined) reasoning.push(resultText(said));
}

/** Parts that say by their only name what they are: those of Bedrock, Gemini and Genkit, and the tools in the messages of user interfaces. */
function addBlock(contents: Contents, part: AttributeTree): boolean {
  const call = part.toolUse ?? part.functionCall ?? part.function_call ?? part.toolRequest;
  const response = part.toolResult ?? part.functionResponse ?? part.function_response ?? part.toolResponse;
  const reasoning = isTree(part.reasoningContent) ? part.reasoningContent.reasoningText : part.reasoning;
  const invocation = part.toolInvocation ?? (isToolOfInterface(part) ? part : undefined);
  if (isTree(call)) contents.toolCalls.push(...toolCallOf(call));
  else if (isTree(response)) contents.responses.push(responseOf(response));
  else if (isTree(reasoning)) contents.reasoning.push(resultText([reasoning]));
  else if (typeof reasoning === 'string') contents.reasoning.push(reasoning);
  else if (isTree(invocation)) {
    contents.toolCalls.push(...toolCallOf({ toolName: String(part.type).slice(TOOL.length), ...invocation }));
    if (!isNothing(invocation.result ?? invocation.output)) contents.responses.push(responseOf(invocation));
  } else return false;
  return true;
}

const TOOL = 'tool-';
const isToolOfInterface = ({ type, toolCallId }: AttributeTree): boolean =>
  typeof type === 'string' && type.startsWith(TOOL) && typeof toolCallId === 'string';

/** Text of a part. Pictures, sounds and files have no record of their own: they are kept whole, as an address or a data URL. */
function partText(part: AttributeTree): string {
  const { type, text, content, uri, image_url: image, refusal } = part;
  if (typeof text === 'string') return text;
  if (typeof refusal === 'string') return refusal;
  const source = [part.source, part.inlineData, part.inline_data, part.fileData, part.file_data, part.media].find(isTree) ?? part;
  const data = type === 'blob' ? content : source.data;
  const mime = firstText(source.mime_type, source.media_type, source.mimeType, source.mediaType);
  if (typeof data === 'string' && (type === 'blob' || mime !== undefined))
    return /^(data|https?):/.test(data) ? data : `data:${mime ?? 'application/octet-stream'};base64,${data}`;
  const address = isTree(image) ? image.url : (image ?? uri ?? source.url ?? source.file_uri ?? source.fileUri ?? part.image);
  if (typeof address === 'string') return address;
  return typeof content === 'string' ? content : JSON.stringify(part);
}

function toolCallOf(call: AttributeValue): ToolCall[] {
  if (!isTree(call)) return [];
  if (isTree(call.payload)) return toolCallOf(call.payload); // a chunk of Mastra's stream
  const of = isTree(call.function) ? call.function : call;
  const name = firstText(of.name, call.toolName);
  if (name === undefined) return [];
  const given = of.arguments ?? call.input ?? call.args ?? '';
  return [{ id: idOf(call) ?? '', function: { name, arguments: textOf(given) } }];
}

/** Keys that hold a result, in the order in which they are read. */
const placesOfResult = ['response', 'result', 'output', 'content'];

function responseOf(part: AttributeTree): Contents['responses'][number] {
  const place = placesOfResult.find((name) => (part[name] ?? null) !== null);
  return {
    id: firstText(part.tool_use_id, part.tool_call_id) ?? idOf(part),
    text: resultText(place === undefined ? '' : (part[place] as AttributeValue)),
    others: Object.entries(part).filter(
      ([name, value]) => name !== place && !fieldsOfResult.has(name) && !saysNoFault(name, value) && !isNothing(value),
    ),
  };
}

/** The name is that of the tool, which its call says. */
const fieldsOfResult: ReadonlySet<string> = new Set([
  ...['type', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'toolCallId', 'toolUseId', 'name', 'toolName'],
]);
/** Recognizes what a result without a fault says of itself. */
const saysNoFault = (name: string, value: AttributeValue): boolean =>
  (name === 'is_error' && value === false) || (name === 'status' && (value === 'success' || value === 'completed'));

/** By what a call and its result are known to belong together; the items of OpenAI's Responses have an id of their own besides. */
const idOf = (part: AttributeTree): string | undefined =>
  firstText(part.call_id, part.toolCallId, part.toolUseId, part.id, part.ref);

/** Returns what a tool answered: the texts, where it is nothing but texts. */
function resultText(value: AttributeValue): string {
  if (Array.isArray(value) && value.length > 0 && value.every(isText)) return value.map(({ text }) => text).join('\n');
  return isTree(value) && value.type === 'text' && typeof value.value === 'string' ? value.value : textOf(value);
}

const isText = (part: AttributeValue): part is { text: string } => isTree(part) && typeof part.text === 'string';
