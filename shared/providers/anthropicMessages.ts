import { parsedOrNothing } from '../json/parseJson.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { anthropicSchema } from './anthropicSchema.ts';
import {
  fieldsOf,
  objectsIn,
  onlyKnown,
  partedSystem,
  type ReadMessage,
  readMessages,
  textIn,
  turnsOf,
  unsayable,
  withFieldNames,
} from './chatParts.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import { eventData } from './eventData.ts';
import { AttemptFailure } from './failures.ts';

/** The Messages API of Anthropic: https://docs.claude.com/en/api/messages */
export const anthropicMessages: ChatProtocol = {
  toRequest,
  toCompletion(said) {
    if (!isMessage(said)) return said;
    return { choices: [{ message: messageOf(blocksIn(said.content)), ...reasonOf(said) }], model: said.model, usage: said.usage };
  },
  async *pieces(parts) {
    const usage: Fields = {};
    for await (const { lines } of eventData(parts)) {
      const said = parsedOrNothing(lines.join('\n'));
      yield isObject(said) ? pieceOf(said, usage) : { error: { type: 'error' } };
    }
  },
  toError,
};

/** The same models at Google, which has the name of the model in the address: https://docs.claude.com/en/api/claude-on-vertex-ai */
export const anthropicOnVertex: ChatProtocol = {
  ...anthropicMessages,
  toRequest(body) {
    const { model: _, ...rest } = toRequest(body);
    return { anthropic_version: 'vertex-2023-10-16', ...rest };
  },
};

const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'temperature', 'top_p', 'top_k', 'max_tokens', 'max_completion_tokens'],
  ...['stop', 'tools', 'tool_choice', 'response_format', 'reasoning_effort'],
]);

function toRequest(body: Fields): Fields {
  onlyKnown(body, KNOWN, 'the Messages API of Anthropic');
  const model = String(body.model);
  const parted = partedSystem(readMessages(body.messages));
  const system = parted.system.flatMap(blocksOf);
  const thinking = thinkingOf(model, textIn(body.reasoning_effort));
  const most = body.max_completion_tokens ?? body.max_tokens;
  const outputConfig = {
    ...(thinking.effort !== undefined && { effort: thinking.effort }),
    ...(body.response_format !== undefined && { format: formatOf(fieldsOf(body.response_format)) }),
  };
  return {
    model: body.model,
    // It is required, and holds thoughts as well.
    max_tokens: typeof most === 'number' ? most + thinking.budget : (most ?? mostOf(model)),
    messages: turnsOf(parted.others, blocksOf),
    ...(system.length > 0 && { system }),
    ...(body.temperature !== undefined && { temperature: body.temperature }),
    ...(body.top_p !== undefined && { top_p: body.top_p }),
    ...(body.top_k !== undefined && { top_k: body.top_k }),
    ...(body.stop !== undefined && { stop_sequences: [body.stop].flat() }),
    ...toolsOf(body),
    ...(thinking.field && { thinking: thinking.field }),
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    ...(body.stream === true && { stream: true }),
  };
}

/** The limit of an answer's tokens that a request without one gets: what the models of an age give at least. */
const mostOf = (model: string): number => (/claude-3-(?!7)/.test(model) ? 4_096 : 32_000);

/** Tokens of thought of models that take a number of them. */
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1_024, low: 1_024, medium: 8_192, high: 16_384 };

/** Models before 4.6 take a number of tokens in place of an effort. */
const takesBudget = (model: string): boolean =>
  /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d))?(?:[-@](?:\d{8}|latest)|$))/.test(model);

function thinkingOf(model: string, effort: string | undefined): { field?: Fields; effort?: string; budget: number } {
  if (effort === undefined) return { budget: 0 };
  if (effort === 'none') return { field: { type: 'disabled' }, budget: 0 };
  if (!takesBudget(model)) return { field: { type: 'adaptive' }, effort: effort === 'minimal' ? 'low' : effort, budget: 0 };
  const budget = BUDGETS[effort] ?? (BUDGETS.high as number);
  return { field: { type: 'enabled', budget_tokens: budget }, budget };
}

function formatOf({ type, json_schema }: Fields): Fields {
  const { schema } = fieldsOf(json_schema);
  if (type !== 'json_schema' || !isObject(schema))
    throw unsayable('response_format', `the Messages API of Anthropic has no response_format "${type}", only json_schema`);
  return { type: 'json_schema', schema: anthropicSchema(schema) };
}

/** Blank texts are refused. */
function blocksOf({ parts, calls, answers }: ReadMessage): Fields[] {
  const content = parts.flatMap((part): Fields[] => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
    if (part.type === 'link')
      return [{ type: part.kind === 'image' ? 'image' : 'document', source: { type: 'url', url: part.url } }];
    return [mediaBlock(part)];
  });
  if (answers) return [{ type: 'tool_result', tool_use_id: idOf(answers.id), content }];
  return [...content, ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id: idOf(id), name, input }))];
}

/** Other characters are refused in the ids of calls, and those of other providers' calls may have some. */
const idOf = (id: string): string => id.replaceAll(/[^\w-]/g, '_') || 'call';

function mediaBlock({ mediaType, base64, name }: { mediaType: string; base64: string; name: string | undefined }): Fields {
  const title = name !== undefined && { title: name };
  if (mediaType.startsWith('image/'))
    return {
      type: 'image',
      source: { type: 'base64', media_type: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data: base64 },
    };
  if (mediaType === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data: base64 }, ...title };
  if (mediaType.startsWith('text/')) {
    const data = Buffer.from(base64, 'base64').toString('utf8');
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...title };
  }
  throw new AttemptFailure('refused', `Claude takes no file of the type ${mediaType}`, { retry: false, status: 400 });
}

function toolsOf({ tools, tool_choice: choice }: Fields): Fields {
  const given = objectsIn(tools).map((tool) => {
    const { name, description, parameters, strict } = fieldsOf(tool.function);
    return {
      name,
      ...(typeof description === 'string' && description !== '' && { description }),
      input_schema: parameters ?? { type: 'object', properties: {} },
      ...(strict === true && { strict }),
    };
  });
  if (given.length === 0) return {};
  const named = textIn(fieldsOf(fieldsOf(choice).function).name);
  const kind = choice === 'required' ? 'any' : choice === 'auto' || choice === 'none' ? choice : undefined;
  const toolChoice = named !== undefined ? { type: 'tool', name: named } : kind !== undefined && { type: kind };
  return { tools: given, ...(toolChoice && { tool_choice: toolChoice }) };
}

/** An answer by its type, or by the content that a gateway gives without one. */
const isMessage = (said: unknown): said is Fields =>
  isObject(said) && said.type !== 'error' && !('choices' in said) && (said.type === 'message' || 'content' in said);

/** Content is a list of blocks; some gateways give the text alone. */
const blocksIn = (content: unknown): Fields[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : objectsIn(isObject(content) ? [content] : content);

function messageOf(blocks: readonly Fields[]): Fields {
  const reasoning = blocks.map(({ thinking }) => textIn(thinking) ?? '').join('');
  return {
    content: blocks.map(({ text }) => textIn(text) ?? '').join(''),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    tool_calls: blocks.filter(isCall).map(({ id, name, input }) => ({ id, function: { name, arguments: input ?? {} } })),
  };
}

const isCall = ({ type }: Fields): boolean => type === 'tool_use';

const FINISH_REASONS: Readonly<Record<string, string>> = {
  ...{ end_turn: 'stop', stop_sequence: 'stop', tool_use: 'tool_calls' },
  ...{ max_tokens: 'length', model_context_window_exceeded: 'length', refusal: 'content_filter' },
};

const reasonOf = ({ stop_reason: reason }: Fields): Fields =>
  typeof reason === 'string' ? { finish_reason: FINISH_REASONS[reason] ?? reason } : {};

/** @param usage what has been counted so far: the last event repeats only some counts of the first one */
function pieceOf(said: Fields, usage: Fields): unknown {
  const choice = (delta: Fields, more: Fields = {}) => ({ choices: [{ index: 0, delta, ...more }] });
  const call = (more: Fields) => choice({ tool_calls: [{ index: said.index, ...more }] });
  const counted = (counts: unknown) => {
    for (const [name, count] of Object.entries(fieldsOf(counts))) if (count !== null) usage[name] = count;
    return Object.keys(usage).length > 0 ? { usage: { ...usage } } : {};
  };
  switch (said.type) {
    case 'message_start': {
      const { model, usage: counts } = fieldsOf(said.message);
      return { model, ...counted(counts) };
    }
    case 'content_block_start': {
      const block = fieldsOf(said.content_block);
      if (!isCall(block)) return choice(messageOf([block]));
      const { id, name, input } = block;
      const isWhole = Object.keys(fieldsOf(input)).length > 0;
      return call({ id, function: { name, ...(isWhole && { arguments: JSON.stringify(input) }) } });
    }
    case 'content_block_delta': {
      const { text, thinking, partial_json } = fieldsOf(said.delta);
      if (partial_json !== undefined) return call({ function: { arguments: partial_json } });
      return choice(thinking === undefined ? { content: text } : { reasoning_content: thinking });
    }
    case 'message_delta':
      return { ...choice({}, reasonOf(fieldsOf(said.delta))), ...counted(said.usage) };
    case 'message_stop':
      return '[DONE]';
    default:
      return said.error === undefined ? {} : toError(said);
  }
}

/** Names of fields in messages, as chat completion requests call them. */
const FIELD_NAMES: readonly (readonly [RegExp, string])[] = [
  [/output_config\.format(?:\.\w+)*|output_format/g, 'response_format'],
  [/output_config\.effort|\bthinking(?:\.\w+)*|\beffort\b|budget_tokens/g, 'reasoning_effort'],
  [/output_config/g, 'response_format reasoning_effort'],
  [/stop_sequences/g, 'stop'],
];

/** Google answers with an error of its own where the request has not come to the model, in a list where the answer was to be a stream. */
function toError(said: unknown): unknown {
  const error = fieldsOf(Array.isArray(said) ? said[0] : said).error;
  return isObject(error) ? { error: { ...error, message: withFieldNames(textIn(error.message) ?? '', FIELD_NAMES) } } : said;
}
