import { type Attributes, type AttributeValue, structureOf } from './attributes.ts';
import { isTree } from './messageForms.ts';
import { answerOf, messagesOf } from './messages.ts';
import { isDurationOf, type OtelSpan } from './span.ts';
import type { SpanContent, SpanRole } from './spanContent.ts';

// https://ai-sdk.dev/docs/ai-sdk-core/telemetry#collected-data. Attributes of version 3, where they had other names, come behind the present ones.
const OPERATION = 'ai.operationId';

/** Returns what the span calls itself in the words of the AI SDK for TypeScript: its calls of a model are spans below one of the whole generation. */
export function vercelAiRole({ attributes }: OtelSpan): SpanRole | undefined {
  const operation = attributes.peek(OPERATION);
  if (typeof operation !== 'string') return undefined;
  if (/\.do(Generate|Stream)$/.test(operation)) return { kind: 'llm', callsModel: true };
  if (operation === 'ai.toolCall') return { kind: 'tool', callsModel: false };
  return { kind: 'workflow', callsModel: operation.endsWith('.doEmbed') };
}

/** Returns what the attributes `ai.*` of that SDK say of a span. */
export function readVercelAi({ attributes }: OtelSpan, { kind }: SpanRole): SpanContent {
  if (!attributes.has(OPERATION)) return {};
  if (kind === 'tool')
    return {
      toolCallId: attributes.text('ai.toolCall.id'),
      input: attributes.text('ai.toolCall.args', 'ai.toolCall.input'),
      output: attributes.text('ai.toolCall.result', 'ai.toolCall.output'),
    };
  if (kind === 'retriever') return {};
  const messages = messagesOf(attributes.structure('ai.prompt.messages') ?? promptOf(attributes), 'user');
  const input = messages.length > 0 ? messages : attributes.text('ai.value', 'ai.values');
  return { input, ...answerIn(attributes), ...(kind === 'llm' ? modelCall(attributes) : {}) };
}

/** `ai.prompt` of a whole generation: a text or messages, and the instructions beside them. */
function promptOf(attributes: Attributes): AttributeValue | undefined {
  const prompt = attributes.structure('ai.prompt');
  if (!isTree(prompt)) return prompt ?? attributes.text('ai.prompt');
  const { system, prompt: question, messages } = prompt;
  const asked = messages ?? question;
  return [
    ...(system === undefined ? [] : [{ role: 'system', content: system }]),
    ...(Array.isArray(asked) ? asked : asked === undefined ? [] : [{ role: 'user', content: asked }]),
  ];
}

function answerIn(attributes: Attributes): Pick<SpanContent, 'output' | 'events'> {
  const text = attributes.text('ai.response.text', 'ai.response.object', 'ai.result.text', 'ai.result.object');
  const reasoning = attributes.text('ai.response.reasoning');
  const calls = attributes.structure('ai.response.toolCalls', 'ai.result.toolCalls');
  if (text === undefined && reasoning === undefined && calls === undefined) return {};
  const parts = [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', content: reasoning }]),
    ...(text === undefined ? [] : [text]),
  ];
  const { output, events } = answerOf({ role: 'assistant', parts, tool_calls: calls ?? [] });
  return { output, ...(events && { events }) };
}

function modelCall(attributes: Attributes): SpanContent {
  const milliseconds = attributes.numberThat(isDurationOf(1e6), 'ai.response.msToFirstChunk', 'ai.stream.msToFirstChunk');
  const tools = (attributes.list('ai.prompt.tools') ?? []).map(structureOf).filter(isTree);
  return {
    model: attributes.text('ai.response.model', 'ai.model.id'),
    temperature: attributes.number('ai.settings.temperature'),
    finishReason: attributes.text('ai.response.finishReason', 'ai.finishReason'),
    ...(milliseconds === undefined ? {} : { timeToFirstTokenNs: Math.max(0, Math.round(milliseconds * 1e6)) }),
    ...(tools.length > 0 ? { tools } : {}),
  };
}
