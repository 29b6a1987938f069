import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import { currentParent } from './context.ts';
import { currentLogger } from './logger.ts';
import { modelCallOf } from './modelCallOf.ts';
import { failureOf, nowNs, openSpan, type SpanFields, type SpanKind } from './spans.ts';
import { SpanBuilder, type TraceBuilder } from './trace.ts';

type Tree = Record<string, unknown>;

interface Message {
  content?: unknown;
  tool_calls?: { id?: string; name: string; args: unknown }[];
  tool_call_id?: string;
  getType?(): string;
}

interface Generation {
  text?: string;
  message?: Message & Tree;
  generationInfo?: Tree;
}

interface Run {
  span: SpanBuilder;
  /** Where the run is at the top and no trace ran. */
  trace: TraceBuilder | undefined;
  startNs: number;
  firstNs?: number;
}

/**
 * Callbacks for LangChain: chains, models, tools and retrievers are spans that nest as the runs do. The run at the top is below what
 * runs where it begins, else a trace of its own.
 */
export function loggingCallbacks() {
  const runs = new Map<string, Run>();

  const start = (kind: SpanKind, name: string, input: unknown, id: string, parentId?: string, fields: SpanFields = {}): void => {
    const above = parentId === undefined ? undefined : runs.get(parentId);
    const outer = above ? undefined : currentParent();
    const logger = above || outer ? undefined : currentLogger();
    if (!above && !outer && !logger) return;
    const trace = logger?.startTrace(input, { name });
    const place = above?.span.place ?? outer ?? trace?.place;
    const span = new SpanBuilder(openSpan(kind, input, { name, ...fields }, place));
    runs.set(id, { span, trace, startNs: nowNs() });
  };
  const end = (id: string, output: unknown, fields: SpanFields = {}): void => {
    const run = runs.get(id);
    if (!run) return;
    runs.delete(id);
    const { span, trace, firstNs } = run;
    span.conclude(output, { ...(firstNs === undefined ? {} : { timeToFirstTokenNs: firstNs }), ...fields });
    const { statusCode = 200, errorMessage } = fields;
    trace?.conclude(output, { statusCode, errorMessage });
  };
  const fail = (error: unknown, id: string): void => {
    const { output, ...failure } = failureOf(error);
    end(id, output, failure);
  };

  return {
    name: 'assay',
    // Before the run goes on: what ends early must have begun.
    awaitHandlers: true,
    // LangChain declares these parameters in another order than it gives them.
    handleChainStart(chain: unknown, inputs: unknown, id: string, ...rest: unknown[]) {
      const [parentId, , , , name] = rest as [string | undefined, ...unknown[]];
      start('workflow', typeof name === 'string' ? name : nameOf(chain), without('input', inputs), id, parentId);
    },
    handleChainEnd: (outputs: unknown, id: string) => end(id, without('output', outputs)),
    handleChainError: fail,
    handleLLMStart(
      llm: unknown,
      prompts: string[],
      id: string,
      parentId?: string,
      extra?: Tree,
      _tags?: unknown,
      _meta?: unknown,
      name?: string,
    ) {
      start('llm', name ?? nameOf(llm), prompts.join('\n'), id, parentId, requested(extra));
    },
    handleChatModelStart(
      llm: unknown,
      messages: unknown[][],
      id: string,
      parentId?: string,
      extra?: Tree,
      _tags?: unknown,
      _meta?: unknown,
      name?: string,
    ) {
      start('llm', name ?? nameOf(llm), (messages.flat() as Message[]).map(messageOf), id, parentId, requested(extra));
    },
    handleLLMNewToken(_token: string, _place: unknown, id: string) {
      const run = runs.get(id);
      if (run) run.firstNs ??= nowNs() - run.startNs;
    },
    handleLLMEnd(result: { generations: unknown[][]; llmOutput?: Tree }, id: string) {
      const generation = result.generations[0]?.[0] as Generation | undefined;
      const { message } = generation ?? {};
      const output = message ? messageOf(message) : { role: 'assistant', content: generation?.text ?? '' };
      const { tokenUsage } = result.llmOutput ?? {};
      end(id, output, modelCallOf({ ...message, ...(tokenUsage && !message?.usage_metadata ? { usage: tokenUsage } : {}) }));
    },
    handleLLMError: fail,
    handleToolStart(
      tool: unknown,
      input: string,
      id: string,
      parentId?: string,
      _tags?: unknown,
      _meta?: unknown,
      name?: string,
    ) {
      start('tool', name ?? nameOf(tool), input, id, parentId);
    },
    handleToolEnd: (output: unknown, id: string) => end(id, contentOf(output)),
    handleToolError: fail,
    handleRetrieverStart(
      retriever: unknown,
      query: string,
      id: string,
      parentId?: string,
      _tags?: unknown,
      _meta?: unknown,
      name?: string,
    ) {
      start('retriever', name ?? nameOf(retriever), query, id, parentId);
    },
    handleRetrieverEnd(documents: { pageContent: string; metadata?: Tree }[], id: string) {
      end(
        id,
        documents.map(({ pageContent, metadata }) => ({ content: pageContent, metadata })),
      );
    },
    handleRetrieverError: fail,
  };
}

/** Returns the class name of a `Serialized` value of LangChain, which is the end of its id. */
function nameOf(serialized: unknown): string {
  const { name, id } = (serialized ?? {}) as { name?: string; id?: string[] };
  return name ?? id?.at(-1) ?? 'run';
}

function requested(extra: Tree = {}): SpanFields {
  const { model, model_name: name = model, temperature, tools } = (extra.invocation_params ?? {}) as Tree;
  return {
    ...(typeof name === 'string' ? { model: name } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(Array.isArray(tools) ? { tools } : {}),
  };
}

const roles: Record<string, string> = { human: 'user', ai: 'assistant', system: 'system', tool: 'tool' };
const textOf = (value: unknown): string => (typeof value === 'string' ? value : (jsonWithBigInts(value) ?? ''));

function messageOf(message: Message) {
  const { content, tool_calls = [], tool_call_id } = message;
  const calls = tool_calls.map(({ id = '', name, args }) => ({ id, function: { name, arguments: textOf(args) } }));
  return {
    role: roles[message.getType?.() ?? ''] ?? 'user',
    content: textOf(content),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(tool_call_id ? { tool_call_id } : {}),
  };
}

/** A tool that a model called answers with a message. */
const contentOf = (output: unknown): unknown =>
  typeof (output as Message | undefined)?.getType === 'function' ? (output as Message).content : output;

/** Unwraps a value that is not an object, which LangChain puts into one. */
function without(name: string, value: unknown): unknown {
  const isWrapped = typeof value === 'object' && value !== null && Object.keys(value).join() === name;
  return isWrapped ? (value as Tree)[name] : value;
}
