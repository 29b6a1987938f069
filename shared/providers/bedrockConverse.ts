import { parsedOrNothing } from '../json/parseJson.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { awsError, awsErrorKind } from './awsErrors.ts';
import { awsEvents } from './awsEventStream.ts';
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
} from './chatParts.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import { AttemptFailure } from './failures.ts';

/** The Converse API of AWS Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
export const converse: ChatProtocol = {
  toRequest,
  toCompletion(said) {
    const { output, stopReason, usage } = fieldsOf(said);
    const message = fieldsOf(output).message;
    // A wrong path is answered 200 with `{"Output": {"__type": …}}`.
    if (!isObject(message)) return isObject(said) && (awsErrorKind(said) || said.message) ? toError(said) : said;
    const content = objectsIn(message.content);
    const reasoning = content.map((block) => reasoningIn(fieldsOf(block.reasoningContent).reasoningText)).join('');
    return {
      choices: [
        {
          message: {
            content: content.map(textOf).join(''),
            ...(reasoning !== '' && { reasoning_content: reasoning }),
            tool_calls: content.flatMap(({ toolUse }) =>
              isObject(toolUse)
                ? [{ id: toolUse.toolUseId, function: { name: toolUse.name, arguments: JSON.stringify(toolUse.input ?? {}) } }]
                : [],
            ),
          },
          finish_reason: finishReason(stopReason),
        },
      ],
      usage: usageOf(usage),
    };
  },
  async *pieces(parts) {
    for await (const { headers, payload } of awsEvents(parts)) {
      const text = utf8.decode(payload);
      const said = fieldsOf(parsedOrNothing(text));
      const kind = headers[':exception-type'] ?? headers[':error-code'];
      if (headers[':message-type'] !== 'event' && kind !== undefined)
        yield awsError(kind, textIn(said.message) ?? headers[':error-message'] ?? '', FIELD_NAMES);
      else yield pieceOf(headers[':event-type'], said);
    }
  },
  toError,
};

const utf8 = new TextDecoder();

const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'stop'],
  ...['tools', 'tool_choice', 'response_format', 'reasoning_effort'],
]);

function toRequest(body: Fields): Fields {
  onlyKnown(body, KNOWN, 'the Converse API of Bedrock');
  const parted = partedSystem(readMessages(body.messages));
  const system = parted.system.flatMap(blocksOf);
  const inferenceConfig = {
    ...(body.temperature !== undefined && { temperature: body.temperature }),
    ...(body.top_p !== undefined && { topP: body.top_p }),
    ...maxTokensOf(body),
    ...(body.stop !== undefined && { stopSequences: [body.stop].flat() }),
  };
  const tools = toolConfig(body, parted.others);
  const effort = textIn(body.reasoning_effort);
  return {
    messages: turnsOf(parted.others, blocksOf),
    ...(system.length > 0 && { system }),
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(tools && { toolConfig: tools }),
    ...(body.response_format !== undefined && { outputConfig: { textFormat: textFormat(fieldsOf(body.response_format)) } }),
    ...(effort !== undefined && { additionalModelRequestFields: reasoningFields(String(body.model), effort) }),
  };
}

function maxTokensOf({ max_tokens, max_completion_tokens }: Fields): Fields {
  const most = max_completion_tokens ?? max_tokens;
  return most === undefined ? {} : { maxTokens: most };
}

/** Blank texts are refused. */
function blocksOf({ parts, calls, answers }: ReadMessage): Fields[] {
  const content = parts.flatMap((part): Fields[] => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ text: part.text }];
    if (part.type === 'link')
      throw new AttemptFailure('refused', `Bedrock reads no ${part.kind} by its URL: put it into the request as a data: URL`, {
        retry: false,
        status: 400,
      });
    return [mediaBlock(part)];
  });
  const uses = calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } }));
  return answers ? [{ toolResult: { toolUseId: answers.id, content } }] : [...content, ...uses];
}

const DOCUMENTS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
};

function mediaBlock({ mediaType, base64, name }: { mediaType: string; base64: string; name: string | undefined }): Fields {
  const [kind, format = ''] = mediaType.split('/');
  if (kind === 'image') return { image: { format: format === 'jpg' ? 'jpeg' : format, source: { bytes: base64 } } };
  const document = DOCUMENTS[mediaType];
  if (document === undefined)
    throw new AttemptFailure('refused', `Bedrock takes no file of the type ${mediaType}`, { retry: false, status: 400 });
  // Letters, digits, single spaces, dashes and brackets alone.
  const called = (name ?? '').replaceAll(/[^\w\-()[\]]+|_+/g, ' ').trim();
  return { document: { format: document, name: called === '' ? 'document' : called, source: { bytes: base64 } } };
}

/** With calls or results in the messages the tools must be there, whether or not one may be called now. */
function toolConfig({ tools, tool_choice: choice }: Fields, messages: readonly ReadMessage[]): Fields | undefined {
  const specs = objectsIn(tools).map((tool) => {
    const { name, description, parameters, strict } = fieldsOf(tool.function);
    return {
      toolSpec: {
        name,
        ...(typeof description === 'string' && description !== '' && { description }),
        inputSchema: { json: parameters ?? { type: 'object', properties: {} } },
        ...(strict === true && { strict }),
      },
    };
  });
  const areUsed = messages.some(({ calls, answers }) => calls.length > 0 || answers !== undefined);
  if (specs.length === 0 || (choice === 'none' && !areUsed)) return undefined;
  const named = textIn(fieldsOf(fieldsOf(choice).function).name);
  return {
    tools: specs,
    ...(choice === 'required' && { toolChoice: { any: {} } }),
    ...(named !== undefined && { toolChoice: { tool: { name: named } } }),
  };
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html */
function textFormat({ type, json_schema }: Fields): Fields {
  const { name, description, schema } = fieldsOf(json_schema);
  if (type !== 'json_schema' || !isObject(schema))
    throw unsayable('response_format', `the Converse API of Bedrock has no response_format "${type}", only json_schema`);
  return {
    type: 'json_schema',
    structure: {
      jsonSchema: {
        schema: JSON.stringify(schema),
        ...(typeof name === 'string' && { name }),
        ...(typeof description === 'string' && { description }),
      },
    },
  };
}

/** Each maker has words of its own for how long a model thinks. */
function reasoningFields(model: string, effort: string): Fields {
  if (/anthropic\.claude/.test(model))
    return effort === 'none'
      ? { thinking: { type: 'disabled' } }
      : { thinking: { type: 'adaptive' }, output_config: { effort: effort === 'minimal' ? 'low' : effort } };
  if (/amazon\.nova/.test(model))
    return effort === 'none'
      ? { reasoningConfig: { type: 'disabled' } }
      : { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort === 'minimal' ? 'low' : effort } };
  return { reasoning_effort: effort };
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  ...{ end_turn: 'stop', stop_sequence: 'stop', tool_use: 'tool_calls' },
  ...{ max_tokens: 'length', model_context_window_exceeded: 'length' },
  ...{ guardrail_intervened: 'content_filter', content_filtered: 'content_filter' },
};

const finishReason = (reason: unknown): unknown => (typeof reason === 'string' ? (FINISH_REASONS[reason] ?? reason) : undefined);

/** The text of a block; one that cites documents has it in pieces. */
const textOf = ({ text, citationsContent }: Fields): string =>
  textIn(text) ??
  objectsIn(fieldsOf(citationsContent).content)
    .map((piece) => textIn(piece.text) ?? '')
    .join('');

const reasoningIn = (said: unknown): string => textIn(fieldsOf(said).text) ?? '';

/** Input tokens are counted without those that were read from the cache or written to it. */
function usageOf(usage: unknown): Fields | undefined {
  if (!isObject(usage)) return undefined;
  const { inputTokens, outputTokens, totalTokens, cacheReadInputTokens: read, cacheWriteInputTokens: written } = usage;
  const counts = [read, written].map((count) => (typeof count === 'number' ? count : 0));
  return {
    prompt_tokens: typeof inputTokens === 'number' ? counts.reduce((sum, count) => sum + count, inputTokens) : inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
  };
}

function pieceOf(event: string | undefined, said: Fields): Fields {
  const choice = (delta: Fields, more: Fields = {}) => ({ choices: [{ index: 0, delta, ...more }] });
  const call = (more: Fields) => choice({ tool_calls: [{ index: said.contentBlockIndex, ...more }] });
  switch (event) {
    case 'contentBlockStart': {
      const { toolUse } = fieldsOf(said.start);
      return isObject(toolUse) ? call({ id: toolUse.toolUseId, function: { name: toolUse.name } }) : {};
    }
    case 'contentBlockDelta': {
      const { text, toolUse, reasoningContent } = fieldsOf(said.delta);
      if (isObject(toolUse)) return call({ function: { arguments: toolUse.input } });
      return isObject(reasoningContent)
        ? choice({ reasoning_content: reasoningIn(reasoningContent) })
        : choice({ content: text });
    }
    case 'messageStop':
      return choice({}, { finish_reason: finishReason(said.stopReason) });
    case 'metadata':
      return { usage: usageOf(said.usage) };
    default:
      return {};
  }
}

function toError(said: unknown, headers?: Headers): unknown {
  const { message, Message } = fieldsOf(said);
  return awsError(awsErrorKind(said, headers) ?? '', textIn(message) ?? textIn(Message) ?? textIn(said) ?? '', FIELD_NAMES);
}

/** Names of fields in messages, as chat completion requests call them. */
const FIELD_NAMES: readonly (readonly [RegExp, string])[] = [
  [/outputConfig(\.\w+)*|textFormat/g, 'response_format'],
  [/topP/g, 'top_p'],
  [/maxTokens/g, 'max_tokens'],
  [/stopSequences/g, 'stop'],
  [/toolChoice(\.\w+)*/g, 'tool_choice'],
  [/toolConfig(\.\w+)*/g, 'tools'],
  [/maxReasoningEffort|reasoningConfig|output_config|\bthinking\b/g, 'reasoning_effort'],
  [/streaming( mode)?/g, 'stream'],
];
