import { isObject } from '../wire/isObject.ts';
import { messageRole } from '../wire/messageRoles.ts';
import type { AttributeTree, AttributeValue } from './attributes.ts';

export const isTree = (value: unknown): value is AttributeTree => isObject(value);

/** Null, or a text or list of nothing. */
export const isNothing = (value: AttributeValue | undefined): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** The first of these that is a text and not empty. */
export function firstText(...values: (AttributeValue | undefined)[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}

/** Why a model stopped, as providers and libraries call it. */
export const finishReasonOf = (value: AttributeTree): string | undefined => {
  const about = isTree(value.generation_info) ? value.generation_info : value.response_metadata;
  const said = firstText(value.finish_reason, value.finishReason, value.stop_reason, value.stopReason, value.done_reason);
  return said ?? (isTree(about) ? firstText(about.finish_reason, about.stop_reason) : undefined);
};

/**
 * A message as the rest of the code reads it, out of what libraries put around one: LangChain's serialized objects (`{"lc": 1, "kwargs": {…}}`), its
 * dictionaries (`{"type": "human", "data": {…}}`, `{"type": "ai", "content": "…"}`), and the records of Mastra, whose content has the parts.
 */
export function plainMessage(value: AttributeTree): AttributeTree {
  const { id, kwargs, data, type } = value;
  if (isTree(kwargs) && Array.isArray(id)) return plainMessage({ type: id.at(-1) ?? null, ...kwargs });
  if (isTree(data) && typeof type === 'string' && 'content' in data) return plainMessage({ ...data, type });
  if ('role' in value || !isClassOfMessage(type)) return withContentOfParts(value);
  const { additional_kwargs: more, response_metadata: about, ...message } = value;
  delete message.type;
  const others = isTree(more) ? { ...more } : {};
  if (!isNothing(message.tool_calls)) delete others.tool_calls;
  const calls = firstList(message.tool_calls, others.tool_calls);
  delete others.tool_calls;
  const finish = finishReasonOf(value);
  const isSaid = isTree(about) && Object.keys(about).every((name) => name === 'finish_reason' || name === 'stop_reason');
  return {
    ...others,
    ...withContentOfParts(message),
    role: type,
    ...(calls && { tool_calls: calls }),
    ...(finish === undefined ? {} : { finish_reason: finish }),
    ...(about === undefined || isSaid || isEmptyTree(about) ? {} : { response_metadata: about }),
  };
}

const isEmptyTree = (value: AttributeValue): boolean => isTree(value) && Object.keys(value).length === 0;

const firstList = (...values: (AttributeValue | undefined)[]): AttributeValue[] | undefined =>
  values.find((value): value is AttributeValue[] => Array.isArray(value) && value.length > 0);

/** The names by which LangChain calls the kinds of its messages, `HumanMessageChunk` among them. */
const isClassOfMessage = (type: AttributeValue | undefined): type is string =>
  typeof type === 'string' &&
  (/^(?:human|ai|system|tool|function|chat)$/i.test(type) || /^[A-Z]\w*Message(?:Chunk)?$/.test(type));

/** Mastra keeps a message as `{"role": "user", "content": {"format": 2, "parts": […]}}`. */
function withContentOfParts(value: AttributeTree): AttributeTree {
  const { content } = value;
  if (!isTree(content)) return value;
  const said = content.parts ?? content.content;
  return Array.isArray(said) || (typeof said === 'string' && 'format' in content) ? { ...value, content: said } : value;
}

/** Messages that are a part of a value, and what else that says. */
export interface Within {
  items: AttributeValue[];
  finishReason?: string | undefined;
  /** Values beside the messages, by name. */
  beside: [string, AttributeValue][];
}

/** Where requests hold their messages: those of Gemini and of the Agent Development Kit call them `contents`, OpenAI's Responses `input`. */
const placesOfRequests = ['messages', 'contents', 'input'];
const placesOfInstructions = ['system', 'system_instruction', 'systemInstruction', 'instructions'];

/** The messages of a request, with its instructions before them; undefined where a value is no request. */
export function requestWithin(value: AttributeTree, isMessage: (one: AttributeValue) => boolean): Within | undefined {
  const { inputs, ...around } = value;
  const inner = isTree(inputs) ? requestWithin(inputs, isMessage) : undefined;
  if (inner) return { ...inner, beside: [...inner.beside, ...aboutRequest(around)] };
  const place = placesOfRequests.find((name) => isListOf(flat(value[name]), (one) => isPair(one) || isMessage(one)));
  if (place === undefined) return undefined;
  const { [place]: messages, ...others } = value;
  const config = isTree(others.config) ? { ...others.config } : {};
  const instructions: AttributeValue[] = [];
  for (const holder of [others, config])
    for (const name of placesOfInstructions) {
      const said = holder[name];
      if (isNothing(said) || said === undefined) continue;
      delete holder[name];
      instructions.push({ role: 'system', ...(isTree(said) && !('text' in said) ? said : { content: said }) });
    }
  if (isTree(others.config)) others.config = config;
  const items = (flat(messages) as AttributeValue[]).map((one) => (isPair(one) ? { role: one[0], content: one[1] } : one));
  return { items: [...instructions, ...items], beside: aboutRequest(others) };
}

/** A role and a text, as LangChain takes messages, too. */
const isPair = (value: AttributeValue): value is [string, string] =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((one) => typeof one === 'string') &&
  messageRole(value[0]) !== undefined;

/** The lists of several calls of LangChain are lists of lists: one call is one of them. */
const flat = (value: AttributeValue | undefined): AttributeValue | undefined =>
  Array.isArray(value) && value.length === 1 && Array.isArray(value[0]) && !isPair(value[0]) ? value[0] : value;

const isListOf = (value: AttributeValue | undefined, isOne: (one: AttributeValue) => boolean): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isOne);

/**
 * The messages in what a provider or a library answers: choices (OpenAI), candidates (Gemini), generations (LangChain), `output` (OpenAI's Responses,
 * Bedrock), `content` with parts (the Agent Development Kit), `message` (Ollama, Genkit), `messages` (the state of a graph, or an `update` of it), or a
 * text beside the tool calls (the AI SDK, Mastra). Undefined where a value is no answer.
 */
export function answerWithin(value: AttributeTree, isMessage: (one: AttributeValue) => boolean): Within | undefined {
  const { choices, candidates, generations, message, content, output, outputs, messages, update } = value;
  const isOne = (one: AttributeValue): boolean => isMessage(one) || (isTree(one) && answerWithin(one, isMessage) !== undefined);
  const of = (place: string, items: AttributeValue[]): Within => {
    const { [place]: _, ...others } = value;
    return { items, finishReason: finishReasonOf(value), beside: aboutAnswer(others) };
  };
  if (Array.isArray(choices)) return of('choices', choices);
  if (isListOf(candidates, isTree)) return of('candidates', candidates as AttributeValue[]);
  if (isListOf(generations, (one) => isTree(one) || isListOf(one, isTree)))
    return of('generations', (generations as AttributeValue[]).flat().map(generationOf));
  if (isTree(message)) return of('message', [message]);
  if (isTree(content) && !('role' in value) && ('parts' in content || isMessage(content))) return of('content', [content]);
  for (const [place, said] of [['output', output] as const, ['outputs', outputs] as const]) {
    const list = isTree(said) ? [said] : said;
    if (isListOf(list, isOne)) return of(place, list as AttributeValue[]);
  }
  if (isTree(update) && 'goto' in value && isOne(update)) return of('update', [update]);
  if (isListOf(flat(messages), isMessage)) return of('messages', flat(messages) as AttributeValue[]);
  return isResult(value) ? resultOf(value) : undefined;
}

/** A generation of LangChain has a text, and the message that it is the text of. */
const generationOf = (value: AttributeValue): AttributeValue => {
  if (!isTree(value)) return value;
  const { message, text } = value;
  const finish_reason = finishReasonOf(value) ?? null;
  return isTree(message) ? { message, finish_reason } : { role: 'assistant', content: text ?? '', finish_reason };
};

/** The words that the AI SDK and Mastra use for a result. */
const fieldsOfResult: ReadonlySet<string> = new Set([
  ...['text', 'toolCalls', 'toolResults', 'reasoning', 'reasoningText', 'files', 'sources', 'warnings', 'object', 'steps'],
  ...['finishReason', 'usage', 'totalUsage', 'request', 'response', 'providerMetadata', 'tripwire'],
]);

/** A text alone is what an application may have asked a model for. */
const isResult = (value: AttributeTree): boolean => {
  const names = Object.keys(value);
  return typeof value.text === 'string' && names.length > 1 && names.every((name) => fieldsOfResult.has(name));
};

function resultOf(value: AttributeTree): Within {
  const { text, toolCalls, reasoning, reasoningText, ...others } = value;
  const thought = firstText(reasoningText, reasoning);
  const parts = [...(thought === undefined ? [] : [{ type: 'reasoning', content: thought }]), text as AttributeValue];
  return {
    items: [{ role: 'assistant', parts, tool_calls: toolCalls ?? [] }],
    finishReason: finishReasonOf(value),
    beside: aboutAnswer({ ...others, ...(thought === undefined ? { reasoning: reasoning ?? null } : {}) }),
  };
}

/** Fields that repeat what a record says elsewhere: the model, the tokens, the kind of object and its own id. */
const ofEnvelope: ReadonlySet<string> = new Set([
  ...['id', 'object', 'type', 'created', 'created_at', 'model', 'model_version', 'modelVersion', 'usage', 'usage_metadata'],
  ...['usageMetadata', 'finish_reason', 'finishReason', 'stop_reason', 'stopReason', 'done', 'done_reason', 'generation_info'],
  ...['index', 'status'],
]);

const aboutAnswer = (others: AttributeTree): [string, AttributeValue][] =>
  Object.entries(others).filter(([name, one]) => !ofEnvelope.has(name) && !isNothing(one) && !isEmptyTree(one));

const aboutRequest = (others: AttributeTree): [string, AttributeValue][] =>
  Object.entries(others).filter(([name, one]) => name !== 'model' && !isNothing(one) && !isEmptyTree(one));
