import type { Attributes, AttributeValue } from './attributes.ts';
import { isDatabaseSearch } from './database.ts';
import { documentOf, documentsIn } from './documents.ts';
import { type Conversation, conversation, isPydanticAgent } from './genAiMessages.ts';
import { isTree } from './messageForms.ts';
import { durationNs, isDurationOf, type OtelSpan } from './span.ts';
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

/** Returns what the span calls itself in the words of the conventions for generative AI. */
export function genAiRole({ attributes }: OtelSpan): SpanRole | undefined {
  const operation = attributes.peek('gen_ai.operation.name') ?? attributes.peek('llm.request.type');
  const named = typeof operation === 'string' ? operation : '';
  // Libraries have names of their own for these three.
  if (/embed/i.test(named)) return { kind: 'workflow', callsModel: true };
  if (/rerank|retriev/i.test(named)) return { kind: 'retriever', callsModel: false };
  const kind = kinds.get(named) ?? kindOf(attributes);
  return kind && { kind, callsModel: kind === 'llm' };
}

/** Returns what the OpenTelemetry conventions for generative AI say of a span, in their current form and the ones before it. */
export function readGenAi(span: OtelSpan, { kind }: SpanRole): SpanContent {
  const { attributes } = span;
  if (!speaksOfModels(span)) return {};
  const content: SpanContent = {
    sessionId: attributes.text('gen_ai.conversation.id'),
    ...(kind === 'tool' ? toolUse(span) : kind === 'retriever' ? retrieval(span) : conversation(span, kind)),
  };
  if (kind === 'llm') Object.assign(content, modelCall(span));
  if (kind === 'agent') content.agentName = attributes.text('gen_ai.agent.name', 'traceloop.entity.name', 'agent_name');
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

function modelCall(span: OtelSpan): SpanContent {
  const { attributes } = span;
  return {
    model: attributes.text('gen_ai.response.model', 'gen_ai.request.model'),
    temperature: attributes.number('gen_ai.request.temperature'),
    ...partOf('finishReason', attributes.texts('gen_ai.response.finish_reasons', 'gen_ai.response.finish_reason')[0]),
    ...partOf('timeToFirstTokenNs', timeToFirstTokenNs(span)),
    ...partOf('tools', toolsOf(attributes)),
  };
}

/** The conventions count in seconds. Strands writes milliseconds, which the span's own duration shows: no first token comes after the last. */
function timeToFirstTokenNs(span: OtelSpan): number | undefined {
  const seconds = span.attributes.numberThat(
    isDurationOf(1e9),
    'gen_ai.response.time_to_first_chunk',
    'gen_ai.client.operation.time_to_first_chunk',
    'gen_ai.response.time_to_first_token',
    'gen_ai.server.time_to_first_token',
  );
  if (seconds === undefined) return undefined;
  const duration = durationNs(span);
  const isMilliseconds = duration !== undefined && seconds * 1e9 > 2 * duration && seconds * 1e6 <= 2 * duration;
  return Math.max(0, Math.round(seconds * (isMilliseconds ? 1e6 : 1e9)));
}

const partOf = <K extends keyof SpanContent>(name: K, value: SpanContent[K]): Pick<SpanContent, K> | undefined =>
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

/** Arguments and result where they have a name of their own, and else the messages, as Strands and LangSmith write them. */
function toolUse(span: OtelSpan): SpanContent {
  const { attributes } = span;
  return {
    toolCallId: attributes.text('gen_ai.tool.call.id'),
    ...withMessages(
      conversation(span, 'tool'),
      attributes.text('gen_ai.tool.call.arguments', 'gen_ai.tool.input', 'tool_arguments', 'input.value'),
      attributes.text('gen_ai.tool.call.result', 'gen_ai.tool.output', 'tool_response', 'output.value'),
    ),
  };
}

/** Query and documents where they have a name of their own, and else the conversation. */
function retrieval(span: OtelSpan): SpanContent {
  const { attributes } = span;
  const query = attributes.text('gen_ai.retrieval.query.text');
  return withMessages(conversation(span, 'retriever'), query, attributes.list('gen_ai.retrieval.documents')?.map(documentOf));
}

/** Adds messages beside an input and an output, as metadata. */
function withMessages(said: Conversation, input: SpanContent['input'], output: SpanContent['output']): SpanContent {
  const metadata: [string, AttributeValue][] = [...(said.metadata ?? [])];
  if (input !== undefined && said.input) metadata.push(['gen_ai.input.messages', JSON.stringify(said.input.map(asWritten))]);
  if (output !== undefined && said.output)
    metadata.push(['gen_ai.output.messages', JSON.stringify(asWritten(said.output as SaidMessage))]);
  return { ...said, input: input ?? said.input, output: output ?? said.output, metadata };
}

const asWritten = ({ others = [], ...message }: SaidMessage) => ({ ...message, ...Object.fromEntries(others) });
