import { isDeepStrictEqual as isEqual } from 'node:util';
import { storableKey } from '../json/storable.ts';
import { Attributes, type AttributeValue, parseJson, structureOf, textOf } from './attributes.ts';
import { isDatabaseSearch } from './database.ts';
import { documentOf, documentsIn } from './documents.ts';
import { answerOf, hasContents, isTree, messagesOf, roleOf } from './messages.ts';
import { isDurationOf, type OtelSpan, type SpanEvent } from './span.ts';
import type { MappedKind, SaidMessage, SpanContent, SpanRole } from './spanContent.ts';

// https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and gen-ai-agent-spans/. Embeddings are model calls without a conversation,
// and the interface has no kind of their own for them.
const kinds: ReadonlyMap<string, MappedKind> = new Map([
  ['chat', 'llm'],
  ['text_completion', 'llm'],
  ['completion', 'llm'],
  ['generate_content', 'llm'],
  ['execute_tool', 'tool'],
  ['invoke_agent', 'agent'],
  ['create_agent', 'agent'],
  ['invoke_workflow', 'workflow'],
  ['embeddings', 'workflow'],
]);
// Older instrumentations name the kind of spans that are no model calls here; all others are steps of any kind.
const entityKinds: ReadonlyMap<string, MappedKind> = new Map([
  ['agent', 'agent'],
  ['tool', 'tool'],
]);

/** What the span calls itself in the words of the conventions for generative AI. */
export function genAiRole({ attributes }: OtelSpan): SpanRole | undefined {
  const operation = attributes.peek('gen_ai.operation.name') ?? attributes.peek('llm.request.type');
  const named = typeof operation === 'string' ? operation : '';
  // Libraries have names of their own for these three.
  if (/embed/i.test(named)) return { kind: 'workflow', callsModel: true };
  if (/rerank|retriev/i.test(named)) return { kind: 'retriever', callsModel: false };
  const kind = kinds.get(named) ?? kindOf(attributes);
  return kind && { kind, callsModel: kind === 'llm' };
}

/** What the OpenTelemetry conventions for generative AI say of a span, in their current form and the ones before it. */
export function readGenAi(span: OtelSpan, { kind }: SpanRole): SpanContent {
  const { attributes } = span;
  if (!speaksOfModels(span)) return {};
  const content: SpanContent = {
    sessionId: attributes.text('gen_ai.conversation.id', 'traceloop.association.properties.session_id'),
    // Those of a tool are texts, which messages do not fit into.
    ...(kind === 'tool' ? {} : kind === 'retriever' ? retrieval(span) : conversation(span)),
  };
  if (kind === 'llm') Object.assign(content, modelCall(attributes));
  if (kind === 'agent') content.agentName = attributes.text('gen_ai.agent.name', 'traceloop.entity.name', 'agent_name');
  if (kind === 'tool') {
    content.toolCallId = attributes.text('gen_ai.tool.call.id');
    content.input = attributes.text('gen_ai.tool.call.arguments', 'tool_arguments');
    content.output = attributes.text('gen_ai.tool.call.result', 'tool_response');
    if (!attributes.has('input.value')) content.input ??= saidIn(attributes, 'gen_ai.input.messages', 'user');
    if (!attributes.has('output.value')) content.output ??= saidIn(attributes, 'gen_ai.output.messages', 'assistant')?.at(-1);
  }
  content.input ??= attributes.text('traceloop.entity.input');
  content.output ??= attributes.text('traceloop.entity.output');
  return content;
}

/** Most spans of an application have nothing of this, and looking for every form costs. */
const speaksOfModels = ({ attributes, events }: OtelSpan): boolean =>
  attributes.hasAny('gen_ai.') ||
  attributes.hasAny('traceloop.') ||
  attributes.has('llm.request.type') ||
  isPydanticAgent(attributes) ||
  events.some(({ name }) => name.startsWith('gen_ai.'));

function kindOf(attributes: Attributes): MappedKind | undefined {
  if (isDatabaseSearch(attributes)) return 'retriever';
  const entity = attributes.peek('traceloop.span.kind');
  if (typeof entity === 'string') return entityKinds.get(entity);
  const isTool = ['gen_ai.tool.call.id', 'tool_arguments', 'tool_response'].some((name) => attributes.has(name));
  if (isTool && attributes.has('gen_ai.tool.name')) return 'tool';
  if (isPydanticAgent(attributes)) return 'agent';
  if (attributes.peek('gen_ai.request.model') || attributes.peek('gen_ai.response.model')) return 'llm';
  return documentsIn(attributes.peek('gen_ai.retrieval.documents'))?.length ? 'retriever' : undefined;
}

const isPydanticAgent = (attributes: Attributes): boolean =>
  attributes.has('agent_name') && (attributes.has('pydantic_ai.all_messages') || attributes.has('all_messages_events'));

function modelCall(attributes: Attributes): SpanContent {
  const seconds = attributes.numberThat(isDurationOf(1e9), 'gen_ai.response.time_to_first_chunk');
  return {
    model: attributes.text('gen_ai.response.model', 'gen_ai.request.model'),
    temperature: attributes.number('gen_ai.request.temperature'),
    ...given('finishReason', attributes.texts('gen_ai.response.finish_reasons', 'gen_ai.response.finish_reason')[0]),
    ...given('timeToFirstTokenNs', seconds === undefined ? undefined : Math.max(0, Math.round(seconds * 1e9))),
    ...given('tools', toolsOf(attributes)),
  };
}

const given = <K extends keyof SpanContent>(name: K, value: SpanContent[K]): Pick<SpanContent, K> | undefined =>
  value === undefined ? undefined : ({ [name]: value } as Pick<SpanContent, K>);

function toolsOf(attributes: Attributes): SpanContent['tools'] {
  const tools = (attributes.list('gen_ai.tool.definitions') ?? []).filter(isTree);
  const functions = attributes.items('llm.request.functions').map((item) => ({
    type: 'function',
    function: {
      name: item.text('name') ?? '',
      description: item.text('description') ?? '',
      parameters: item.structure('parameters') ?? {},
    },
  }));
  const all = [...tools, ...functions];
  return all.length > 0 ? all : undefined;
}

interface Conversation extends Pick<SpanContent, 'output' | 'answer' | 'events' | 'finishReason'> {
  input?: SaidMessage[];
}

/** Messages, from the newest form in which the span has any; instructions stand beside every form. */
function conversation(span: OtelSpan): Conversation {
  const { attributes, events } = span;
  const found: Conversation = {};
  let instructions: SaidMessage[] = [];
  const add = (form: Conversation): void => {
    if (form.input?.length) found.input ??= form.input;
    if (form.output === undefined && form.events === undefined) return;
    if (found.output === undefined) found.answer = form.answer;
    found.output ??= form.output;
    found.events ??= form.events;
    found.finishReason ??= form.finishReason;
  };
  const details = events.filter(({ name }) => name === 'gen_ai.client.inference.operation.details');
  for (const container of [attributes, ...details.map((event) => event.attributes)]) {
    if (instructions.length === 0) instructions = instructionsIn(container);
    add(inAttributes(container));
  }
  if (events.length > 0) add(inEvents(events));
  add(inEvents(listedEvents(attributes, 'events')));
  add(numbered(attributes));
  if (isPydanticAgent(attributes)) add(inAgentRun(attributes));
  add(whole(attributes));
  for (const event of events) add(whole(event.attributes));
  const [instruction] = instructions;
  const isSaid = found.input?.some(({ role, content }) => role === 'system' && isEqual(content, instruction?.content));
  if (instruction && !isSaid) found.input = [...instructions, ...(found.input ?? [])];
  return found;
}

function instructionsIn(attributes: Attributes): SaidMessage[] {
  const parts = attributes.structure('gen_ai.system_instructions');
  if (Array.isArray(parts)) return parts.length === 0 ? [] : messagesOf([{ role: 'system', parts }], 'system');
  return messagesOf(attributes.text('gen_ai.system_instructions'), 'system');
}

/** `gen_ai.input.messages` and `gen_ai.output.messages`. */
const inAttributes = (attributes: Attributes): Conversation => ({
  input: messagesOf(listText(attributes, 'gen_ai.input.messages'), 'user'),
  ...answerOf(listText(attributes, 'gen_ai.output.messages')),
});

/** Query and documents where they have a name of their own, and else the conversation. What it says beside these is metadata. */
function retrieval(span: OtelSpan): SpanContent {
  const { attributes } = span;
  const said = conversation(span);
  const query = attributes.text('gen_ai.retrieval.query.text');
  const documents = attributes.list('gen_ai.retrieval.documents')?.map(documentOf);
  const metadata: [string, AttributeValue][] = [];
  if (query !== undefined && said.input) metadata.push(['gen_ai.input.messages', JSON.stringify(said.input.map(asWritten))]);
  if (documents && said.output) metadata.push(['gen_ai.output.messages', JSON.stringify(asWritten(said.output as SaidMessage))]);
  return { ...said, input: query ?? said.input, output: documents ?? said.output, metadata };
}

const asWritten = ({ others = [], ...message }: SaidMessage) => ({ ...message, ...Object.fromEntries(others) });

/** Messages of a step whose input and output are texts. They stay with the metadata too, unless one text is all they say. */
function saidIn(attributes: Attributes, name: string, role: string): SaidMessage[] | undefined {
  const messages = messagesOf(attributes.peek(name), role);
  const [only] = messages;
  if (!only) return undefined;
  if (messages.length === 1 && typeof only.content === 'string' && !only.tool_calls && !only.tool_call_id)
    attributes.markRead(name);
  return messages;
}

/** A list, or what stands in its place, as text; undefined where it is empty. */
function listText(attributes: Attributes, ...names: string[]): string | undefined {
  const text = attributes.text(...names);
  return text?.trim() === '[]' ? undefined : text;
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

/** What stands beside the message of an event and says nothing by itself. */
const besideMessage = ['gen_ai.system', 'event.name', 'gen_ai.message.index'];

const isNothingButMessage = (event: { [key: string]: AttributeValue; 'event.name': string }): boolean =>
  (event['event.name'] === 'gen_ai.choice' || eventRoles.has(event['event.name'])) &&
  Object.keys(event).every((field) => !field.includes('.') || besideMessage.includes(field));

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
function numbered(attributes: Attributes): Conversation {
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
    ...answerOf(attributes.items('gen_ai.completion').map(messageOf)),
  };
}

/** `gen_ai.prompt` and `gen_ai.completion` in one piece, on the span or on an event. */
function whole(attributes: Attributes): Conversation {
  return { input: messagesOf(attributes.text('gen_ai.prompt'), 'user'), ...answerOf(attributes.text('gen_ai.completion')) };
}
