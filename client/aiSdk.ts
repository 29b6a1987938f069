import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import { withParent } from './context.ts';
import { beginCall } from './loggedCall.ts';
import { watched } from './observed.ts';
import type { OpenSpan } from './spans.ts';

interface Part {
  type: string;
  text?: string;
  delta?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: { value?: unknown };
  finishReason?: { unified?: string } | string;
}

interface Message {
  role: string;
  content: string | Part[];
}

/** The request to a model of the AI SDK. */
interface Params {
  prompt: readonly unknown[];
  temperature?: number | undefined;
  tools?: readonly unknown[] | undefined;
}

interface Generated {
  content: readonly unknown[];
  finishReason: unknown;
}

interface Call<Result> {
  params: Params;
  model: { modelId: string };
  run: () => PromiseLike<Result>;
}

/**
 * A middleware for `wrapLanguageModel` of the AI SDK: each call of the model is an llm span, with its messages, the tools that it may call and those that
 * it calls, tokens, and of a stream the time to its first piece.
 */
export const loggingMiddleware = () => ({
  specificationVersion: 'v4' as const,

  wrapGenerate: <Result extends Generated>({
    doGenerate: run,
    ...call
  }: {
    doGenerate: () => PromiseLike<Result>;
    params: Params;
    model: { modelId: string };
  }): Promise<Result> =>
    logged({ ...call, run }, (result, begun) => (begun ? watched(result, begun.place, begun) : result) as Result),

  wrapStream: <Result extends { stream: ReadableStream }>({
    doStream: run,
    ...call
  }: {
    doStream: () => PromiseLike<Result>;
    params: Params;
    model: { modelId: string };
  }): Promise<Result> =>
    logged({ ...call, run }, (result, begun) =>
      begun ? { ...result, stream: watched(result.stream, begun.place, begun) as Result['stream'] } : result,
    ),
});

async function logged<Result>(
  { params, model, run }: Call<Result>,
  seen: (result: Result, begun: ReturnType<typeof beginCall>) => Result,
): Promise<Result> {
  const { temperature, tools } = params;
  const begun = beginCall({
    kind: 'llm',
    fields: {
      ...{ name: model.modelId, model: model.modelId },
      ...(temperature === undefined ? {} : { temperature }),
      ...(tools ? { tools: tools as Record<string, unknown>[] } : {}),
    },
    input: (params.prompt as readonly Message[]).flatMap(messagesOf),
    describe: (result, pieces) => described((pieces.length > 0 ? pieces : contentOf(result)) as Part[]),
  });
  if (!begun) return run();
  try {
    return seen(await withParent(begun.place, run), begun);
  } catch (error) {
    begun.end({ error });
    throw error;
  }
}

/** Content of a whole answer in the form of a stream's pieces. */
const contentOf = (result: unknown): readonly unknown[] => {
  const { content, finishReason } = result as Generated;
  return [...content, { type: 'finish', finishReason }];
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (jsonWithBigInts(value) ?? ''));
const toolCallOf = ({ toolCallId = '', toolName = '', input }: Part) => ({
  id: toolCallId,
  function: { name: toolName, arguments: textOf(input) },
});

/** Results of tools are messages of their own. */
function messagesOf({ role, content }: Message): unknown[] {
  if (typeof content === 'string') return [{ role, content }];
  const results = content.filter(({ type }) => type === 'tool-result');
  const calls = content.filter(({ type }) => type === 'tool-call');
  const others = content.filter((part) => !results.includes(part) && !calls.includes(part));
  const said = others.map((part) => part.text ?? jsonWithBigInts(part)).join('');
  const tool_calls = calls.map(toolCallOf);
  const message = { role, content: said, ...(calls.length > 0 ? { tool_calls } : {}) };
  return [
    ...(others.length > 0 || calls.length > 0 ? [message] : []),
    ...results.map(({ toolCallId, output }) => ({
      role: 'tool',
      content: textOf(output?.value ?? output),
      tool_call_id: toolCallId,
    })),
  ];
}

function described(parts: readonly Part[]): Partial<OpenSpan> {
  const content = parts
    .filter(({ type }) => type === 'text' || type === 'text-delta')
    .map(({ text, delta }) => text ?? delta)
    .join('');
  const calls = parts.filter(({ type }) => type === 'tool-call').map(toolCallOf);
  const reason = parts.findLast(({ type }) => type === 'finish')?.finishReason;
  const finishReason = typeof reason === 'string' ? reason : reason?.unified;
  return {
    output: { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
    ...(finishReason ? { finishReason } : {}),
  };
}
