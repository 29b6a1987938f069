import { isDeepStrictEqual as isEqual } from 'node:util';
import { storableKey } from '../json/storable.ts';
import { Attributes, type AttributeValue, parseJson, structureOf, textOf } from './attributes.ts';
import { isTree } from './messageForms.ts';
import { type AnswerForm, answerOf, hasContents, messagesOf, requestIn, roleOf } from './messages.ts';
import type { OtelSpan, SpanEvent } from './span.ts';
import { type MappedKind, type SaidMessage, type SpanContent, saysNothing } from './spanContent.ts';

export interface Conversation
  extends Pick<SpanContent, 'output' | 'answer' | 'events' | 'finishReason' | 'instructions' | 'metadata'> {
  input?: SaidMessage[];
}

/**
 * Messages, from the newest form in which the span has any that say something; instructions stand beside every form. What an agent answers is a
 * conversation, where a model's answers are choices.
 */
export function conversation(span: OtelSpan, kind: MappedKind): Conversation {
  const { attributes, events } = span;
  const found: Conversation = {};
  let instructions: SaidMessage[] = [];
  const form: AnswerForm = kind === 'agent' || kind === 'workflow' ? 'conversation' : 'choices';
  const add = (more: Conversation): void => {
    if (more.input?.length && saysNothing(found.input)) {
      found.input = more.input;
      if (more.metadata) found.metadata = more.metadata;
    }
    if (more.output === undefined && more.events === undefined) return;
    if (found.output === undefined || (saysNothing(found.output) && !saysNothing(more.output))) {
      found.answer = more.answer;
      found.output = more.output ?? found.output;
    }
    found.events ??= more.events;
    found.finishReason ??= more.finishReason;
  };
  const details = events.filter(({ name }) => name === 'gen_ai.client.inference.operation.details');
  for (const container of [attributes, ...details.map((event) => event.attributes)]) {
    if (instructions.length === 0) instructions = instructionsIn(container);
    add(inAttributes(container, form));
  }
  if (events.length > 0) add(inEvents(events));
  add(inEvents(listedEvents(attributes, 'events')));
  add(numbered(attributes, form));
  if (isPydanticAgent(attributes)) add(inAgentRun(attributes));
  add(whole(attributes, form));
  for (const event of events) add(whole(event.attributes, form));
  if (found.input) found.input = instructed(instructions, found.input);
  else if (instructions.length > 0) found.instructions = instructions;
  return found;
}

/** Messages with the instructions before them, unless they say them. */
export function instructed(instructions: SaidMessage[], messages: SaidMessage[]): SaidMessage[] {
  const [instruction] = instructions;
  const isSaid = messages.some(({ role, content }) => role === 'system' && isEqual(content, instruction?.content));
  return instruction && !isSaid ? [...instructions, ...messages] : messages;
}

function instructionsIn(attributes: Attributes): SaidMessage[] {
  const parts = attributes.structure('gen_ai.system_instructions');
  if (Array.isArray(parts)) return parts.length === 0 ? [] : messagesOf([{ role: 'system', parts }], 'system');
  return messagesOf(attributes.text('gen_ai.system_instructions'), 'system');
}

/** `gen_ai.input.messages` and `gen_ai.output.messages`. */
const inAttributes = (attributes: Attributes, form: AnswerForm): Conversation => ({
  input: messagesOf(listText(attributes, 'gen_ai.input.messages'), 'user'),
  ...answerOf(listText(attributes, 'gen_ai.output.messages'), form),
});

/** A list, or what stands in its place, as text; undefined where it is empty. */
function listText(attributes: Attributes, ...names: string[]): string | undefined {
  const text = attributes.text(...names);
  return text !== undefined && /^\s*(?:\[\s*\]|null|"")\s*$/.test(text) ? undefined : text;
}

const eventRoles: ReadonlyMap<string, string> = new Map([
  ['gen_ai.system.message', 'system'],
  ['gen_ai.user.message', 'user'],
  ['gen_ai.assistant.message', 'assistant'],
  ['gen_ai.tool.message', 'tool'],
]);

type MessageEvents = readonly Pick<SpanEvent, 'name' | 'attributes'>[];

/** One span event for each message, and `gen_ai.choice` for each answer. */
function inEvents(events: MessageEvents): Conversation {
  const input: SaidMessage[] = [];
  const choices: { index: number; choice: AttributeValue }[] = [];
  for (const { name, attributes } of events) {
    const role = eventRoles.get(name);
    if (role) for (const message of messagesOf(bodyOf(attributes), role)) input.push(message);
    else if (name === 'gen_ai.choice')
      choices.push({ index: attributes.number('index') ?? choices.length, choice: choiceOf(attributes) });
  }
  choices.sort((one, other) => one.index - other.index);
  return { input, ...answerOf(choices.map(({ choice }) => choice)) };
}

/** The same events as a list in one attribute, as instrumentations wrote them that had no log records. */
function listedEvents(attributes: Attributes, name: string): MessageEvents {
  const list = structureOf(attributes.peek(name));
  if (!Array.isArray(list) || !list.every(isNamedEvent)) return [];
  if (list.every(isNothingButMessage)) attributes.markRead(name);
  return list.map((event) => ({ name: event['event.name'], attributes: Attributes.of(Object.entries(event)) }));
}

const isNamedEvent = (value: AttributeValue): value is { [key: string]: AttributeValue; 'event.name': string } =>
  isTree(value) && typeof value['event.name'] === 'string' && value['event.name'].startsWith('gen_ai.');

/** Attributes beside the message of an event that say nothing by themselves. */
const besideMessage = ['gen_ai.system', 'event.name', 'gen_ai.message.index'];

const isNothingButMessage = (event: { [key: string]: AttributeValue; 'event.name': string }): boolean =>
  (event['event.name'] === 'gen_ai.choice' || eventRoles.has(event['event.name'])) &&
  Object.keys(event).every((field) => !field.includes('.') || besideMessage.includes(field));

export const isPydanticAgent = (attributes: Attributes): boolean =>
  attributes.has('pydantic_ai.all_messages') || (attributes.has('agent_name') && attributes.has('all_messages_events'));

/** The whole conversation of an agent of Pydantic AI, with its result. */
function inAgentRun(attributes: Attributes): Conversation {
  const said = listText(attributes, 'pydantic_ai.all_messages', 'all_messages_events');
  const all = messagesOf(said, 'user');
  const list = said === undefined ? undefined : parseJson(said);
  const last = Array.isArray(list) && all.at(-1)?.role === 'assistant' ? answerOf(list.slice(-1)) : undefined;
  const result = attributes.text('final_result');
  const output = result === undefined ? last?.output : { role: 'assistant' as const, content: result };
  return { input: last ? all.slice(0, -1) : all, ...last, ...(output && { output }) };
}

/** The fields of an event's message: attributes of their own, or all in one. */
function bodyOf(attributes: Attributes): { [key: string]: AttributeValue } {
  const given = attributes.structure('gen_ai.event.content');
  const whole = Array.isArray(given) ? { content: given } : given;
  attributes.markRead(...besideMessage);
  const body: { [key: string]: AttributeValue } = Object.create(null);
  if (isTree(whole)) for (const [name, value] of Object.entries(whole)) body[name] = value;
  else
    for (const [name, value] of attributes.rest()) {
      if (name.includes('.')) continue; // no field of its message
      attributes.markRead(name);
      body[storableKey(name)] = value;
    }
  const { content } = body;
  const parts = typeof content === 'string' ? attributes.structure('content') : undefined;
  if (Array.isArray(parts)) body.content = parts;
  return body;
}

/** Contents of an answer that some write beside its message. */
const contentsBeside = ['tool_calls', 'function_call', 'refusal', 'reasoning_content', 'reasoning', 'thinking', 'audio'];

function choiceOf(attributes: Attributes): AttributeValue {
  const body = bodyOf(attributes);
  const message = attributes.structure('message') ?? body.message;
  if (message === undefined) return body;
  if (!isTree(message)) return { ...body, content: message };
  const isMessage = 'role' in message || hasContents(message);
  if (!isMessage) return { ...body, content: textOf(message) };
  const beside = contentsBeside.filter((name) => name in body && !(name in message));
  return { ...body, message: { ...message, ...Object.fromEntries(beside.map((name) => [name, body[name] as AttributeValue])) } };
}

/** `gen_ai.prompt.0.role`, `gen_ai.completion.0.content` and so on, of the instrumentations before there was a convention. */
function numbered(attributes: Attributes, form: AnswerForm): Conversation {
  const messageOf = (item: Attributes): AttributeValue => ({
    role: item.text('role') ?? '',
    content: item.structure('content') ?? item.text('content') ?? '',
    tool_calls: item.items('tool_calls').map((call) => ({
      id: call.text('id') ?? '',
      name: call.text('name') ?? '',
      arguments: call.text('arguments') ?? '',
    })),
    function_call: { name: item.text('function_call.name') ?? '', arguments: item.text('function_call.arguments') ?? '' },
    tool_call_id: item.text('tool_call_id') ?? '',
    finish_reason: item.text('finish_reason') ?? '',
  });
  return {
    input: attributes.items('gen_ai.prompt').flatMap((item) => messagesOf(messageOf(item), roleOf(item.text('role'), 'user'))),
    ...answerOf(attributes.items('gen_ai.completion').map(messageOf), form),
  };
}

/** `gen_ai.prompt` and `gen_ai.completion` in one piece, on the span or on an event. */
function whole(attributes: Attributes, form: AnswerForm): Conversation {
  const text = listText(attributes, 'gen_ai.prompt');
  const request = text === undefined ? undefined : requestIn(text);
  return {
    input: request?.messages ?? messagesOf(text, 'user'),
    ...(request && { metadata: request.beside.map(([name, value]) => [`gen_ai.prompt.${name}`, value]) }),
    ...answerOf(listText(attributes, 'gen_ai.completion'), form),
  };
}
