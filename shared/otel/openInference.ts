import type { Attributes, AttributeValue } from './attributes.ts';
import { plainValues } from './documents.ts';
import { answerOf, messagesOf, roleOf } from './messages.ts';
import { temperatureIn } from './ownAttributes.ts';
import type { OtelSpan } from './span.ts';
import type { MappedKind, RetrievedDocument, SaidMessage, SpanContent, SpanRole } from './spanContent.ts';

// https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md
const kinds: ReadonlyMap<string, MappedKind> = new Map([
  ['LLM', 'llm'],
  ['TOOL', 'tool'],
  ['RETRIEVER', 'retriever'],
  ['RERANKER', 'retriever'],
  ['AGENT', 'agent'],
  ['CHAIN', 'workflow'],
  ['EMBEDDING', 'workflow'],
  ['GUARDRAIL', 'workflow'],
  ['EVALUATOR', 'workflow'],
  ['PROMPT', 'workflow'],
]);

/** Returns what the span calls itself in the words of OpenInference. */
export function openInferenceRole({ attributes }: OtelSpan): SpanRole | undefined {
  const named = attributes.peek('openinference.span.kind');
  const name = typeof named === 'string' ? named.toUpperCase() : '';
  const kind = kinds.get(name);
  return kind && { kind, callsModel: kind === 'llm' || name === 'EMBEDDING' };
}

/** Returns what the conventions of OpenInference say of a span. */
export function readOpenInference({ attributes, events, startNs }: OtelSpan, { kind }: SpanRole): SpanContent {
  const metadata = attributes.tree('metadata');
  const tags = attributes.texts('tag.tags');
  const firstToken = events.find(({ name }) => name === 'First Token Stream Event');
  const content: SpanContent = {
    sessionId: attributes.text('session.id'),
    tags: tags.length > 0 ? tags : undefined,
    metadata: metadata && Object.entries(metadata),
    timeToFirstTokenNs: firstToken && startNs > 0n ? Math.max(0, Number(firstToken.atNs - startNs)) : undefined,
  };
  if (kind === 'llm' && attributes.hasAny('llm.')) Object.assign(content, modelCall(attributes));
  if (kind === 'agent') content.agentName = attributes.text('agent.name');
  if (kind === 'agent' || kind === 'workflow') Object.assign(content, conversation(attributes));
  if (kind === 'tool') {
    content.toolCallId = attributes.text('tool_call.id', 'tool.id');
    // The arguments of the call; the tool's definition only where the span has no input.
    content.input = attributes.has('input.value') ? undefined : attributes.text('tool.parameters');
  }
  if (kind === 'retriever') {
    content.input = attributes.text('reranker.query');
    content.output = documentsOf(attributes, 'retrieval.documents') ?? documentsOf(attributes, 'reranker.output_documents');
  }
  return content;
}

/** The messages of a step that has no whole input or output; those that the latter repeat are not kept twice. */
function conversation(attributes: Attributes): SpanContent {
  const isWhole = (name: string, prefix: string): boolean => {
    const whole = attributes.peek(name);
    if (typeof whole !== 'string' || whole === '') return false;
    for (const item of attributes.items(prefix)) markRepeated(item, whole);
    return true;
  };
  const content: SpanContent = {};
  if (!isWhole('input.value', 'llm.input_messages')) content.input = nonEmpty(inputIn(attributes));
  if (!isWhole('output.value', 'llm.output_messages')) {
    const answers = attributes.items('llm.output_messages').map(messageOf);
    if (answers.length > 0) Object.assign(content, answerOf(answers, 'conversation'));
  }
  return content;
}

const nonEmpty = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined);

/** Roles have other names in the form of a library: a message is repeated where its texts are. */
function markRepeated(message: Attributes, whole: string): void {
  const isSaid = (value: AttributeValue): boolean => whole.includes(JSON.stringify(value).replace(/^"|"$/g, ''));
  if (message.rest().every(([name, value]) => name === 'message.role' || isSaid(value))) message.entries();
}

const inputIn = (attributes: Attributes): SaidMessage[] =>
  attributes.items('llm.input_messages').flatMap((item) => messagesOf(messageOf(item), roleIn(item, 'user')));

function modelCall(attributes: Attributes): SpanContent {
  const input = inputIn(attributes);
  const prompts = attributes.items('llm.prompts').map((item) => item.text('prompt.text') ?? '');
  const tools = attributes.items('llm.tools').flatMap((item) => {
    const schema = item.tree('tool.json_schema');
    return schema ? [schema] : [];
  });
  const choices = attributes.items('llm.choices').map((item) => item.text('completion.text') ?? '');
  const answers = attributes.items('llm.output_messages').map(messageOf);
  const temperature = temperatureIn(attributes, ['llm.invocation_parameters']);
  return {
    // Instrumentations write a message for each part of an answer.
    ...(answers.length > 0 ? answerOf(answers, 'parts') : answerOf(choices)),
    ...(input.length > 0 ? { input } : prompts.length > 0 ? { input: messagesOf(prompts, 'user') } : {}),
    ...(tools.length > 0 ? { tools } : {}),
    model: attributes.text('llm.model_name'),
    ...(temperature === undefined ? {} : { temperature }),
    ...finishReason(attributes.text('llm.finish_reason')),
  };
}

const finishReason = (reason: string | undefined): Pick<SpanContent, 'finishReason'> =>
  reason === undefined ? {} : { finishReason: reason };

const roleIn = (item: Attributes, byDefault: Parameters<typeof roleOf>[1]) => roleOf(item.text('message.role'), byDefault);

/** A message out of `message.role`, `message.content` or `message.contents.0.message_content.text`, `message.tool_calls.0.tool_call.…`. */
function messageOf(item: Attributes): AttributeValue {
  const parts = item.items('message.contents').map(partOf);
  const calls = item.items('message.tool_calls').map((call) => ({
    id: call.text('tool_call.id') ?? '',
    name: call.text('tool_call.function.name') ?? '',
    arguments: call.text('tool_call.function.arguments') ?? '',
  }));
  const called = item.text('message.function_call_name');
  const legacy =
    called === undefined ? [] : [{ id: '', name: called, arguments: item.text('message.function_call_arguments_json') ?? '' }];
  if (item.peek('message.content') === parts.filter((part) => typeof part === 'string').join('\n'))
    item.markRead('message.content');
  return {
    role: item.text('message.role') ?? '',
    content: parts.length > 0 ? parts : (item.text('message.content') ?? ''),
    tool_calls: [...calls, ...legacy],
    tool_call_id: item.text('message.tool_call_id') ?? '',
    name: item.text('message.name') ?? '',
  };
}

function partOf(item: Attributes): AttributeValue {
  const text = item.text('message_content.text', 'message_content.image.image.url', 'message_content.audio.audio.url');
  const type = item.text('message_content.type');
  return type === 'reasoning' ? { type, text: text ?? '' } : (text ?? Object.fromEntries(item.entries()));
}

function documentsOf(attributes: Attributes, prefix: string): RetrievedDocument[] | undefined {
  const documents = attributes.items(prefix).map((item): RetrievedDocument => {
    const metadata = item.tree('document.metadata');
    const about: [string, AttributeValue | undefined][] = [
      ['id', item.get('document.id')],
      ['score', item.number('document.score')],
    ];
    const known = about.filter((entry): entry is [string, AttributeValue] => entry[1] !== undefined);
    return {
      content: item.text('document.content') ?? '',
      metadata: plainValues([...Object.entries(metadata ?? {}), ...known]),
    };
  });
  return documents.length > 0 ? documents : undefined;
}
