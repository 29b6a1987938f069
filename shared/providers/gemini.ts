import { parsedOrNothing } from '../json/parseJson.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { fieldsOf, objectsIn, onlyKnown, type ReadMessage, readMessages, textIn, withFieldNames } from './chatParts.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import { eventData } from './eventData.ts';

/** The protocol of Gemini models: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference */
export const gemini: ChatProtocol = {
  hasLogProbabilities: true,
  toRequest,
  toCompletion: (said) => completionOf(said, 0) ?? said,
  async *pieces(parts) {
    let calls = 0;
    for await (const { lines } of eventData(parts)) {
      const said = parsedOrNothing(lines.join('\n'));
      const completion = completionOf(said, calls);
      calls += completion?.choices[0]?.message.tool_calls.length ?? 0;
      if (completion)
        yield { ...completion, choices: completion.choices.map(({ message, ...choice }) => ({ ...choice, delta: message })) };
      else yield isObject(said) && said.error === undefined ? said : toError(said);
    }
  },
  toError,
};

const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'stop'],
  ...['tools', 'tool_choice', 'response_format', 'reasoning_effort', 'n', 'seed', 'frequency_penalty', 'presence_penalty'],
  ...['logprobs', 'top_logprobs'],
]);

function toRequest(body: Fields): Fields {
  onlyKnown(body, KNOWN, 'Gemini');
  const messages = readMessages(body.messages);
  const others = messages.filter(({ role }) => role !== 'system');
  const isNew = !/gemini-[12]\b/.test(String(body.model));
  const system = others.length > 0 ? messages.filter(({ role }) => role === 'system').flatMap((one) => partsOf(one, isNew)) : [];
  const format = fieldsOf(body.response_format);
  const effort = textIn(body.reasoning_effort);
  const given = {
    temperature: body.temperature,
    topP: body.top_p,
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
    stopSequences: body.stop === undefined ? undefined : [body.stop].flat(),
    candidateCount: body.n,
    seed: body.seed,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
    responseLogprobs: body.logprobs,
    logprobs: body.top_logprobs,
    responseMimeType: /^json_/.test(String(format.type)) ? 'application/json' : undefined,
    responseJsonSchema: fieldsOf(format.json_schema).schema,
    thinkingConfig: effort === undefined ? undefined : { includeThoughts: true, ...thinking(effort, isNew) },
  };
  const generationConfig = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return {
    contents: contentsOf(others.length > 0 ? others : messages, isNew),
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...toolsOf(body),
  };
}

/** All answers of one turn's tools stand in one content. */
function contentsOf(messages: readonly ReadMessage[], isNew: boolean): Fields[] {
  const contents: { role: string; parts: Fields[] }[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'model' : 'user';
    const parts = partsOf(message, isNew);
    const last = contents.at(-1);
    if (parts.length === 0) continue;
    if (last?.role === role) last.parts.push(...parts);
    else contents.push({ role, parts });
  }
  return contents;
}

/**
 * Replaces the signature of a call where it was not stored: since Gemini 3 the API refuses a first call without one.
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures
 */
const NO_SIGNATURE = 'skip_thought_signature_validator';

function partsOf({ parts, calls, answers }: ReadMessage, isNew: boolean): Fields[] {
  const content = parts.flatMap((part): Fields[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }];
    if (part.type === 'data') return [{ inlineData: { mimeType: part.mediaType, data: part.base64 } }];
    return [{ fileData: { fileUri: part.url, mimeType: part.mediaType ?? mimeTypeAt(part.url, part.kind) } }];
  });
  if (answers) {
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    const said = parsedOrNothing(text);
    return [{ functionResponse: { name: answers.name, response: isObject(said) ? said : { result: text } } }];
  }
  return [
    ...content,
    ...calls.map(({ name, input, signature }, index) => {
      const thoughtSignature = signature ?? (isNew && index === 0 ? NO_SIGNATURE : undefined);
      return { functionCall: { name, args: input }, ...(thoughtSignature !== undefined && { thoughtSignature }) };
    }),
  ];
}

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};

/** Google asks for the type of a file that it fetches. */
function mimeTypeAt(url: string, kind: 'image' | 'file'): string {
  const ending = /\.(\w+)(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? '';
  return kind === 'image' ? (IMAGE_TYPES[ending] ?? 'image/png') : 'application/pdf';
}

function toolsOf({ tools, tool_choice: choice }: Fields): Fields {
  const functionDeclarations = objectsIn(tools).map((tool) => {
    const { name, description, parameters } = fieldsOf(tool.function);
    return {
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parametersJsonSchema: parameters }),
    };
  });
  if (functionDeclarations.length === 0) return {};
  const named = textIn(fieldsOf(fieldsOf(choice).function).name);
  const mode = named !== undefined || choice === 'required' ? 'ANY' : choice === 'none' ? 'NONE' : undefined;
  const functionCallingConfig = { mode, ...(named !== undefined && { allowedFunctionNames: [named] }) };
  return { tools: [{ functionDeclarations }], ...(mode !== undefined && { toolConfig: { functionCallingConfig } }) };
}

/** Tokens of thought, as Google's endpoint for clients of OpenAI counts the efforts: https://ai.google.dev/gemini-api/docs/openai#thinking */
const BUDGETS: Readonly<Record<string, number>> = { none: 0, minimal: 1_024, low: 1_024, medium: 8_192, high: 24_576 };

const thinking = (effort: string, isNew: boolean): Fields =>
  isNew ? { thinkingLevel: effort === 'none' ? 'minimal' : effort } : { thinkingBudget: BUDGETS[effort] ?? BUDGETS.high };

const FINISH_REASONS: Readonly<Record<string, string>> = {
  ...{ STOP: 'stop', MAX_TOKENS: 'length', SAFETY: 'content_filter', RECITATION: 'content_filter', BLOCKLIST: 'content_filter' },
  ...{
    PROHIBITED_CONTENT: 'content_filter',
    SPII: 'content_filter',
    IMAGE_SAFETY: 'content_filter',
    MODEL_ARMOR: 'content_filter',
  },
};

/** An answer, or a piece of one, as a chat completion; undefined where it is none. @param before calls of tools in earlier pieces */
function completionOf(said: unknown, before: number) {
  const { candidates, promptFeedback, usageMetadata, modelVersion } = fieldsOf(said);
  const [candidate] = objectsIn(candidates);
  // A prompt that was refused has no answer.
  const isBlocked = fieldsOf(promptFeedback).blockReason !== undefined;
  if (!candidate && !isBlocked) return undefined;
  const parts = objectsIn(fieldsOf(candidate?.content).parts);
  const textOf = (isThought: boolean) =>
    parts
      .filter(({ thought }) => (thought === true) === isThought)
      .map(({ text }) => textIn(text) ?? '')
      .join('');
  const calls = parts.flatMap(({ functionCall }) => (isObject(functionCall) ? [functionCall] : []));
  const reasoning = textOf(true);
  const reason = isBlocked && !candidate ? 'SAFETY' : textIn(candidate?.finishReason);
  const message = {
    content: textOf(false),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    tool_calls: calls.map(({ id, name, args }, at) => ({
      index: before + at,
      id: textIn(id) ?? `call_${before + at}`,
      function: { name, arguments: JSON.stringify(args ?? {}) },
    })),
  };
  return {
    choices: [
      {
        ...{ index: 0, message, ...logProbabilitiesOf(candidate) },
        ...(reason !== undefined && { finish_reason: finishReason(reason, before + calls.length) }),
      },
    ],
    ...(textIn(modelVersion) !== undefined && { model: modelVersion }),
    ...(usageMetadata != null && { usageMetadata }),
  };
}

/** Reads the log probability of each token where they were asked for; the mean of all comes with them, or alone. */
function logProbabilitiesOf({ logprobsResult, avgLogprobs }: Fields = {}): Fields {
  const content = objectsIn(fieldsOf(logprobsResult).chosenCandidates).map(({ token, logProbability }) => ({
    ...{ token, logprob: logProbability },
  }));
  if (content.length === 0 && avgLogprobs === undefined) return {};
  return { logprobs: { ...(content.length > 0 && { content }), average: avgLogprobs } };
}

const finishReason = (reason: string, calls: number): string =>
  reason === 'STOP' && calls > 0 ? 'tool_calls' : (FINISH_REASONS[reason] ?? reason.toLowerCase());

/** Names of fields in messages, as chat completion requests call them. */
const FIELD_NAMES: readonly (readonly [RegExp, string])[] = [
  [/response ?mime ?type|response(?:Json)?Schema|response_(?:json_)?schema|response_mime_type/gi, 'response_format'],
  [/thinking[ _]?(?:config|level|budget)(?:\.\w+)*/gi, 'reasoning_effort'],
  [/topP/g, 'top_p'],
  [/response_?logprobs|logprobs/gi, 'logprobs'],
  [/maxOutputTokens|max_output_tokens/g, 'max_tokens'],
  [/stopSequences|stop_sequences/g, 'stop'],
  [/candidateCount|candidate_count|multiple candidates/gi, 'n'],
  [/penalty/gi, 'frequency_penalty presence_penalty'],
];

/** Errors stand in a list where the whole answer was to be one. */
function toError(said: unknown): unknown {
  const error = fieldsOf(Array.isArray(said) ? said[0] : said).error;
  return isObject(error) ? { error: { ...error, message: withFieldNames(textIn(error.message) ?? '', FIELD_NAMES) } } : said;
}
