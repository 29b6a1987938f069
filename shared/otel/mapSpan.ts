import { type MessageRole, messageRole } from '../wire/messageRoles.ts';
import type { LoggedMessage } from '../wire/recordParts.ts';
import { type Attributes, type AttributeValue, textOf } from './attributes.ts';
import { resultsIn } from './database.ts';
import { documentsIn } from './documents.ts';
import { argumentsWithin } from './functionCalls.ts';
import { genAiRole, readGenAi } from './genAi.ts';
import { instructed } from './genAiMessages.ts';
import { answerIn, contentText, messagesOf, requestIn } from './messages.ts';
import { openInferenceRole, readOpenInference } from './openInference.ts';
import { ownRole, readOwn } from './ownAttributes.ts';
import { durationNs, type OtelSpan, timeOfNs } from './span.ts';
import {
  firstOf,
  type MappedKind,
  type ReportedUsage,
  type RetrievedDocument,
  type SaidMessage,
  type SpanContent,
  type SpanRole,
  type StepInput,
  type StepOutput,
} from './spanContent.ts';
import { SpanMetadata, sharedRoom } from './spanMetadata.ts';
import { readUsage } from './usage.ts';
import { readVercelAi, vercelAiRole } from './vercelAi.ts';

/** A span in the words of the interface, without the ids that depend on where it is stored. */
export interface MappedSpan {
  type: MappedKind;
  name: string;
  created_at?: string;
  input?: StepInput<LoggedMessage>;
  output?: StepOutput<LoggedMessage>;
  status_code: number;
  error_message?: string;
  user_metadata: Record<string, string>;
  metrics: Record<string, number>;
  tags?: string[];
  dataset_input?: string;
  dataset_output?: string;
  dataset_metadata?: Record<string, string>;
  events?: SpanContent['events'];
  tools?: SpanContent['tools'];
  model?: string;
  temperature?: number;
  finish_reason?: string;
  tool_call_id?: string;
  agent_type?: string;
  agent_name?: string;
}

export interface Mapped {
  span: MappedSpan;
  /** A convention for generative AI says what it is. */
  isNamed: boolean;
  /** The caller's own name of the session. */
  sessionId: string | undefined;
}

const plainRole: SpanRole = { kind: 'workflow', callsModel: false };

/** A span of any convention as a record: all are read as what the first of them calls the span, and what the first of them says counts. */
export function mapSpan(span: OtelSpan, room = sharedRoom(1)): Mapped {
  const plain: SpanContent = {
    input: span.attributes.text('input.value'),
    output: span.attributes.text('output.value'),
  };
  span.attributes.markRead('input.mime_type', 'output.mime_type');
  const named = openInferenceRole(span) ?? vercelAiRole(span) ?? ownRole(span) ?? genAiRole(span);
  const role = named ?? plainRole;
  const known = firstOf(readOpenInference(span, role), readGenAi(span, role), readVercelAi(span, role));
  const content = firstOf(known, readOwn(span, role, known), plain);
  if (typeof content.input === 'string' && (role.kind === 'agent' || role.kind === 'workflow')) readInput(content, content.input);
  if (typeof content.input === 'string' && role.kind === 'tool') readArguments(content, content.input);
  if (typeof content.output === 'string' && role.kind !== 'llm') readOutput(content, content.output, role.kind);
  if (content.instructions) {
    const { input = [], instructions } = content;
    content.input = instructed(instructions, typeof input === 'string' ? messagesOf(input, 'user') : input);
  }
  const usage = readUsage(span.attributes, role);
  const retrieval = role.kind === 'retriever' || named === undefined ? retrievalIn(span, content, plain) : undefined;
  const isRetrieval = retrieval && (named !== undefined || retrieval.documents.length > 0);
  const type = isRetrieval ? 'retriever' : role.kind;
  const { others = [] } = isRetrieval && content.output !== undefined && isMessage(content.output) ? content.output : {};
  if (isRetrieval) content.output = retrieval.documents;
  const exception = span.events.findLast(({ name }) => name === 'exception');
  const error = errorOf(span, exception?.attributes);
  const created_at = timeOfNs(span.startNs) ?? timeOfNs(span.endNs);
  // One object that grows: spread together out of parts, which each are made and thrown away, it takes several times as long.
  const mapped = { type, name: span.name } as MappedSpan;
  if (created_at !== undefined) mapped.created_at = created_at;
  const { said, dropped } = addTexts(mapped, content);
  mapped.status_code = error.statusCode;
  if (error.message !== undefined) mapped.error_message = error.message;
  const metadata = new SpanMetadata();
  metadata.addAll(content.metadata);
  const sessionId = isRedacted(content.sessionId) ? undefined : content.sessionId;
  if (sessionId !== content.sessionId) metadata.add('session.id', content.sessionId as string);
  addWithoutColumn(metadata, type, content);
  metadata.addAll(error.others);
  for (const [name, value] of others) metadata.add(`output.${name}`, value);
  if (isRetrieval) metadata.addAll(retrieval.beside);
  metadata.addAll(said);
  metadata.drop(dropped);
  metadata.addUnread(span, exception, room);
  mapped.user_metadata = metadata.texts();
  mapped.metrics = metricsOf(span, content, usage);
  if (content.tags) mapped.tags = content.tags;
  addDataset(mapped, content);
  if (type === 'agent') {
    mapped.agent_type = 'default';
    if (content.agentName !== undefined) mapped.agent_name = content.agentName;
  }
  if (type === 'tool' && content.toolCallId !== undefined) mapped.tool_call_id = content.toolCallId;
  if (type === 'llm') addModelCall(mapped, content);
  else if (usage) {
    const model = modelNamed(span.attributes);
    if (model !== undefined) mapped.model = model; // by which it is priced; it stays in the metadata, where it is shown
  }
  return { sessionId, isNamed: named !== undefined, span: mapped };
}

/** Recognizes what is written in place of a text that must not be seen: the sessions of all users would be one. */
const isRedacted = (text: string | undefined): boolean =>
  text !== undefined && /^\[?(?:scrubbed|redacted|filtered|masked)\b|^\*+$/i.test(text);

/** Reads the arguments of a tool from an input that says how its function was called. */
function readArguments(content: SpanContent, text: string): void {
  const call = argumentsWithin(text);
  if (!call) return;
  content.input = call.text;
  const beside = call.beside.map(([name, value]): [string, AttributeValue] => [`input.${name}`, value]);
  content.metadata = [...(content.metadata ?? []), ...beside];
}

/** The messages in a step's input that is the JSON of some, such as the state of a graph. */
function readInput(content: SpanContent, text: string): void {
  const request = requestIn(text);
  if (!request) return;
  content.input = request.messages;
  const beside = request.beside.map(([name, value]): [string, AttributeValue] => [`input.${name}`, value]);
  content.metadata = [...(content.metadata ?? []), ...beside];
}

/** The answer in a step's output that is the JSON of messages, and what a tool answered where it is one of a tool. */
function readOutput(content: SpanContent, text: string, kind: MappedKind): void {
  if (kind === 'retriever') return;
  const answer = answerIn(text, 'conversation');
  if (!answer?.output || documentsIn(text) || (kind === 'tool' && answer.output.role !== 'tool')) return;
  if (kind === 'tool') content.toolCallId ??= answer.output.tool_call_id ?? undefined;
  Object.assign(content, answer);
}

interface Retrieval {
  documents: RetrievedDocument[];
  /** Other fields of the answer. */
  beside: [string, AttributeValue][];
}

/** The documents that a span answered with, whichever convention holds the answer, or else those of its events. */
function retrievalIn({ events }: OtelSpan, { answer, output }: SpanContent, plain: SpanContent): Retrieval | undefined {
  if (Array.isArray(output)) return { documents: output, beside: [] };
  const around: Retrieval['beside'] = [];
  const documents = documentsAnswered(answer, output, around);
  if (documents) return { documents, beside: around.map(([name, value]) => [`output.${name}`, value]) };
  const others = (plain.output === output ? undefined : documentsAnswered(undefined, plain.output)) ?? resultsIn(events);
  if (!others) return undefined;
  return { documents: others, beside: output === undefined ? [] : [['output', textOf(output as AttributeValue)]] };
}

function documentsAnswered(
  answer: AttributeValue | undefined,
  output: StepOutput | undefined,
  around: Retrieval['beside'] = [],
): RetrievedDocument[] | undefined {
  if (output === undefined || Array.isArray(output)) return undefined;
  if (typeof output === 'string') return documentsIn(output, around);
  if (output.tool_calls) return undefined;
  return documentsIn(answer, around) ?? (typeof output.content === 'string' ? documentsIn(output.content, around) : undefined);
}

function addDataset(mapped: MappedSpan, { datasetInput, datasetOutput, datasetMetadata }: SpanContent): void {
  if (datasetInput !== undefined) mapped.dataset_input = datasetInput;
  if (datasetOutput !== undefined) mapped.dataset_output = datasetOutput;
  if (!datasetMetadata) return;
  const metadata = new SpanMetadata();
  metadata.addAll(Object.entries(datasetMetadata));
  mapped.dataset_metadata = metadata.texts();
}

/** Adds the fields that only the record of a model call has columns for. */
function addWithoutColumn(to: SpanMetadata, type: MappedKind, { events, finishReason }: SpanContent): void {
  if (type === 'llm') return;
  if (events) to.add('gen_ai.output.events', JSON.stringify(events));
  if (finishReason !== undefined) to.add('gen_ai.output.finish_reason', finishReason);
}

/** The model whose usage a span says that is no model call of a conversation, such as an embedding. */
function modelNamed(attributes: Attributes): string | undefined {
  for (const name of modelNames) {
    const model = attributes.peek(name);
    if (typeof model === 'string' && model !== '') return model;
  }
  return undefined;
}

const modelNames = [
  'embedding.model_name',
  'llm.model_name',
  'gen_ai.response.model',
  'gen_ai.request.model',
  'ai.response.model',
  'ai.model.id',
  'langfuse.observation.model.name',
  'mlflow.llm.model',
  'model',
];

function addModelCall(mapped: MappedSpan, { temperature, model, finishReason, tools, events }: SpanContent): void {
  if (temperature !== undefined) mapped.temperature = temperature;
  if (model !== undefined) mapped.model = model;
  if (finishReason !== undefined) mapped.finish_reason = finishReason;
  if (tools) mapped.tools = tools;
  if (events) mapped.events = events;
}

/**
 * Input and output in the shape that the interface gives to records of this kind.
 * @returns what these leave out: the roles that the interface does not have and what else messages say, by their places, and messages that are more
 * than a text
 */
function addTexts(mapped: MappedSpan, content: SpanContent): { said: [string, AttributeValue][]; dropped: number } {
  const { type } = mapped;
  const said: [string, AttributeValue][] = [];
  let dropped = 0;
  const keep = (path: string, value: AttributeValue): void => {
    if (said.length < MAX_SAID) said.push([path, value]);
    else dropped++;
  };
  const known = (attribute: string, byDefault: MessageRole, message: SaidMessage): LoggedMessage => {
    const role = messageRole(message.role);
    if (role === undefined) keep(`${attribute}.role`, message.role);
    const made = { ...message, role: role ?? byDefault };
    if (!message.others) return made;
    for (const [name, value] of message.others) keep(`${attribute}.${name}`, value);
    delete made.others;
    return made;
  };
  if (content.input !== undefined) {
    const given = type === 'llm' && typeof content.input === 'string' ? messagesOf(content.input, 'user') : content.input;
    const input = typeof given === 'string' ? given : given.map((one, index) => known(`input.${index}`, 'user', one));
    mapped.input = type === 'tool' ? textOfCall(input) : type === 'retriever' ? textOfStep(input) : input;
    if ((type === 'retriever' || type === 'tool') && typeof input !== 'string' && !(input.length === 1 && input.every(isText)))
      said.push(['gen_ai.input.messages', JSON.stringify(input)]);
  }
  if (content.output !== undefined) {
    const output = isMessage(content.output) ? known('output', 'assistant', content.output) : content.output;
    if (type === 'llm') mapped.output = isMessage(output) ? output : { role: 'assistant', content: textOfStep(output) };
    else if (type === 'tool') mapped.output = textOfStep(output);
    else if (type === 'retriever') mapped.output = Array.isArray(output) ? output : [{ content: textOfStep(output) }];
    else mapped.output = output;
    if ((type === 'tool' || type === 'retriever') && isMessage(output) && !isText(output))
      said.push(['gen_ai.output.messages', JSON.stringify(output)]);
  }
  return { said, dropped };
}

const isText = ({ content, tool_calls, tool_call_id }: SaidMessage): boolean =>
  typeof content === 'string' && !tool_calls && !tool_call_id;

/** Fields of the messages of one span that are kept in its metadata, at most. */
const MAX_SAID = 100;

const isMessage = <M extends SaidMessage>(value: StepOutput<M>): value is M => typeof value === 'object' && !Array.isArray(value);

/** A step's input or output as one text: what was asked last, what was answered, or JSON where no text says it. */
export function textOfStep(step: StepInput | StepOutput): string {
  if (typeof step === 'string') return step;
  if (!Array.isArray(step)) return messageText(step);
  if (step.length === 0) return '';
  const messages = step.filter((one): one is SaidMessage => 'role' in one);
  if (messages.length === 0) return JSON.stringify(step satisfies (RetrievedDocument | SaidMessage)[]);
  const asked = messages.findLast(({ role }) => role === 'user') ?? messages.at(-1);
  return asked ? contentText(asked.content) : '';
}

const messageText = ({ content, tool_calls }: SaidMessage): string =>
  contentText(content) || (tool_calls?.length ? JSON.stringify(tool_calls) : '');

/** Returns the arguments of a tool, where messages call one tool and say nothing else. */
function textOfCall(input: StepInput): string {
  const text = textOfStep(input);
  const calls = text === '' && typeof input !== 'string' ? input.flatMap(({ tool_calls }) => tool_calls ?? []) : [];
  return calls.length === 1 ? (calls[0]?.function.arguments ?? '') : text || (calls.length > 0 ? JSON.stringify(calls) : '');
}

interface SpanError {
  statusCode: number;
  message?: string;
  /** Fields that the message does not hold. */
  others: [string, AttributeValue][];
}

/**
 * Outcome of a span. An exception makes a span a failed one unless its status says that all is well.
 * @param exception the last one
 */
function errorOf({ failed, statusMessage, attributes }: OtelSpan, exception: Attributes | undefined): SpanError {
  exception?.markRead('exception.escaped');
  const type = exception?.text('exception.type') ?? attributes.text('error.type');
  const hasFailed = failed ?? (exception !== undefined || type !== undefined);
  const statusCode =
    attributes.numberThat(isHttpStatus, 'http.response.status_code', 'http.status_code') ?? (hasFailed ? 500 : 200);
  const ofException = exception?.text('exception.message');
  const message = (): string =>
    [type, ofException ?? (statusMessage || undefined)].filter((part) => part !== undefined).join(': ');
  const others: [string, AttributeValue][] = exception?.rest() ?? [];
  if (!hasFailed && exception) others.push(['exception', message()]);
  else if (!hasFailed && type !== undefined) others.push(['error.type', type]);
  const isSaid = (ofException === undefined && hasFailed) || ofException === statusMessage;
  if (statusMessage !== '' && !isSaid) others.push(['otel.status_description', statusMessage]);
  if (!hasFailed) return { statusCode, others };
  return { statusCode: statusCode < 400 ? 500 : statusCode, message: message() || 'error', others };
}

const isHttpStatus = (code: number): boolean => Number.isInteger(code) && code >= 100 && code < 600;

function metricsOf(
  span: OtelSpan,
  { timeToFirstTokenNs }: SpanContent,
  usage: ReportedUsage | undefined,
): Record<string, number> {
  const metrics: Record<string, number> = {};
  const put = (name: string, value: number | undefined): void => {
    if (value !== undefined) metrics[name] = value;
  };
  put('duration_ns', durationNs(span));
  if (Number.isSafeInteger(timeToFirstTokenNs)) put('time_to_first_token_ns', timeToFirstTokenNs);
  if (!usage) return metrics;
  put('num_input_tokens', usage.inputTokens);
  put('num_output_tokens', usage.outputTokens);
  put('num_total_tokens', usage.totalTokens);
  put('num_cached_input_tokens', usage.cachedTokens);
  put('num_cache_write_input_tokens', usage.cacheWriteTokens);
  put('num_reasoning_output_tokens', usage.reasoningTokens);
  put('num_audio_input_tokens', usage.audioInputTokens);
  put('num_audio_output_tokens', usage.audioOutputTokens);
  put('num_image_input_tokens', usage.imageInputTokens);
  put('num_image_output_tokens', usage.imageOutputTokens);
  put('cost', usage.costUsd);
  return metrics;
}
