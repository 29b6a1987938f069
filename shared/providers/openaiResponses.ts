import { parsedOrNothing } from '../json/parseJson.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { fieldsOf, objectsIn, onlyKnown, type ReadMessage, readMessages, textIn, withFieldNames } from './chatParts.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import { eventData } from './eventData.ts';
import { endsInPath, protocolUrl } from './provider.ts';

/** OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses */
export const openaiResponses: ChatProtocol = {
  hasLogProbabilities: true,
  toRequest,
  toCompletion: (said) => (isResponse(said) ? completionOf(said) : said),
  async *pieces(parts) {
    let calls = 0;
    const positions = new Map<unknown, number>();
    const positionOf = (index: unknown) => {
      if (!positions.has(index)) positions.set(index, calls++);
      return positions.get(index);
    };
    for await (const { lines } of eventData(parts)) {
      const text = lines.join('\n');
      if (text.trim() === '[DONE]') continue;
      const said = parsedOrNothing(text);
      if (isObject(said)) yield* piecesOf(said, positionOf);
      else yield { error: { type: 'error' } };
    }
  },
  toError: (said) => {
    const { error } = fieldsOf(said);
    return isObject(error) ? { error: { ...error, ...withNamesOfChat(error) } } : said;
  },
};

const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens'],
  ...['tools', 'tool_choice', 'response_format', 'reasoning_effort', 'verbosity', 'logprobs', 'top_logprobs'],
]);

function toRequest(body: Fields): Fields {
  onlyKnown(body, KNOWN, "OpenAI's Responses API");
  const format = formatOf(fieldsOf(body.response_format));
  const text = {
    ...(format && { format }),
    ...(body.verbosity !== undefined && { verbosity: body.verbosity }),
  };
  const most = body.max_completion_tokens ?? body.max_tokens;
  return {
    model: body.model,
    input: readMessages(body.messages).flatMap(itemsOf),
    // Nothing is kept there: each call says all that it needs.
    store: false,
    ...(most !== undefined && { max_output_tokens: most }),
    ...(body.temperature !== undefined && { temperature: body.temperature }),
    ...(body.top_p !== undefined && { top_p: body.top_p }),
    ...(Object.keys(text).length > 0 && { text }),
    ...(body.reasoning_effort !== undefined && { reasoning: { effort: body.reasoning_effort, summary: 'auto' } }),
    ...toolsOf(body),
    ...(body.logprobs === true && { include: ['message.output_text.logprobs'] }),
    ...(body.top_logprobs !== undefined && { top_logprobs: body.top_logprobs }),
    ...(body.stream === true && { stream: true }),
  };
}

function itemsOf({ role, parts, calls, answers }: ReadMessage): Fields[] {
  if (answers) {
    const texts = parts.map((part) => (part.type === 'text' ? part.text : ''));
    return [{ type: 'function_call_output', call_id: answers.id, output: texts.join('') }];
  }
  const content = parts.flatMap((part): Fields[] => {
    if (part.type === 'text') return [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: part.text }];
    if (part.type === 'link')
      return [part.kind === 'image' ? { type: 'input_image', image_url: part.url } : { type: 'input_file', file_url: part.url }];
    const url = `data:${part.mediaType};base64,${part.base64}`;
    if (part.mediaType.startsWith('image/')) return [{ type: 'input_image', image_url: url }];
    return [{ type: 'input_file', filename: part.name ?? 'document', file_data: url }];
  });
  // A turn that has calls alone has no message.
  const isBlank = role === 'assistant' && calls.length > 0 && content.every(({ text }) => text === '');
  return [
    ...(isBlank || content.length === 0 ? [] : [{ type: 'message', role, content }]),
    ...calls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) })),
  ];
}

function formatOf({ type, json_schema }: Fields): Fields | undefined {
  if (type !== 'json_schema') return type === undefined ? undefined : { type };
  const { name, description, schema, strict } = fieldsOf(json_schema);
  return {
    type,
    name: name ?? 'answer',
    schema,
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  };
}

/** Functions stand in the list themselves, and are strict unless they say otherwise: chat completions have it the other way round. */
function toolsOf({ tools, tool_choice: choice }: Fields): Fields {
  const functions = objectsIn(tools).map((tool) => ({ type: 'function', strict: false, ...fieldsOf(tool.function) }));
  if (functions.length === 0) return {};
  const named = textIn(fieldsOf(fieldsOf(choice).function).name);
  const chosen = named === undefined ? choice : { type: 'function', name: named };
  return { tools: functions, ...(chosen !== undefined && { tool_choice: chosen }) };
}

const isResponse = (said: unknown): said is Fields =>
  isObject(said) && (said.object === 'response' || Array.isArray(said.output));

function completionOf(said: Fields): unknown {
  const { model, usage, status, error } = said;
  // A response that failed is answered 200.
  if (status === 'failed' && isObject(error)) return { error };
  const items = objectsIn(said.output);
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsIn(content));
  const written = parts.filter(({ type }) => type === 'output_text');
  const refusal = parts.map((part) => textIn(part.refusal) ?? '').join('');
  const thoughts = items
    .filter(({ type }) => type === 'reasoning')
    .map(reasoningIn)
    .join('\n\n');
  const calls = items.filter(({ type }) => type === 'function_call');
  return {
    model,
    usage,
    choices: [
      {
        message: {
          content: written.map(({ text }) => textIn(text) ?? '').join(''),
          ...(refusal !== '' && { refusal }),
          ...(thoughts !== '' && { reasoning_content: thoughts }),
          tool_calls: calls.map(({ call_id, id, name, arguments: given }) => ({
            id: call_id ?? id,
            function: { name, arguments: given },
          })),
        },
        finish_reason: finishReason(said, calls.length > 0),
        logprobs: { content: written.flatMap(({ logprobs }) => objectsIn(logprobs)) },
      },
    ],
  };
}

/** Reads the thoughts that are shown: a summary, or with open models the thoughts themselves. */
const reasoningIn = ({ summary, content }: Fields): string =>
  [...objectsIn(summary), ...objectsIn(content)].map(({ text }) => textIn(text) ?? '').join('\n\n');

function finishReason({ status, incomplete_details }: Fields, hasCalls: boolean): string | undefined {
  if (status !== 'incomplete') return hasCalls ? 'tool_calls' : 'stop';
  const { reason } = fieldsOf(incomplete_details);
  return reason === 'max_output_tokens' ? 'length' : textIn(reason);
}

/** @param positionOf the place of a call among those of the answer, by its place among all items */
function* piecesOf(said: Fields, positionOf: (index: unknown) => unknown): Generator<unknown> {
  const choice = (delta: Fields, more: Fields = {}) => ({ choices: [{ index: 0, delta, ...more }] });
  const call = (more: Fields) => choice({ tool_calls: [{ index: positionOf(said.output_index), ...more }] });
  const response = fieldsOf(said.response);
  switch (said.type) {
    case 'response.created':
      yield { model: response.model };
      break;
    case 'response.output_text.delta':
      yield choice({ content: said.delta }, { logprobs: { content: objectsIn(said.logprobs) } });
      break;
    case 'response.refusal.delta':
      yield choice({ refusal: said.delta });
      break;
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      yield choice({ reasoning_content: said.delta });
      break;
    case 'response.output_item.added': {
      const { type, call_id, id, name } = fieldsOf(said.item);
      if (type === 'function_call') yield call({ id: call_id ?? id, function: { name } });
      break;
    }
    case 'response.function_call_arguments.delta':
      yield call({ function: { arguments: said.delta } });
      break;
    case 'response.completed':
    case 'response.incomplete': {
      const hasCalls = objectsIn(response.output).some(({ type }) => type === 'function_call');
      yield { ...choice({}, { finish_reason: finishReason(response, hasCalls) }), model: response.model, usage: response.usage };
      yield '[DONE]';
      break;
    }
    case 'response.failed':
      yield { error: isObject(response.error) ? response.error : { type: 'error' } };
      break;
    default:
      if (said.type === 'error') yield { error: isObject(said.error) ? said.error : { ...said, type: said.code ?? 'error' } };
  }
}

/** Names of fields in messages, as chat completion requests call them. */
const FIELD_NAMES: readonly (readonly [RegExp, string])[] = [
  [/text\.format(?:\.\w+)*/g, 'response_format'],
  [/text\.verbosity/g, 'verbosity'],
  [/reasoning\.(?:effort|summary)/g, 'reasoning_effort'],
  [/max_output_tokens/g, 'max_completion_tokens'],
  [/message\.output_text\.logprobs|\binclude\b/g, 'logprobs'],
];

const withNamesOfChat = ({ message, param }: Fields): Fields => ({
  message: withFieldNames(textIn(message) ?? '', FIELD_NAMES),
  ...(typeof param === 'string' && { param: withFieldNames(param, FIELD_NAMES) }),
});

const PATH = '/responses';
/** True of an address that speaks this protocol. */
export const speaksResponses = (endpoint: string): boolean => endsInPath(endpoint, PATH);
export const responsesUrl = (endpoint: string): string => protocolUrl(endpoint, PATH);
