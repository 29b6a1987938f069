import { withParent } from './context.ts';
import { beginCall, type LoggedCall } from './loggedCall.ts';
import { modelCallOf } from './modelCallOf.ts';
import { observed, watched } from './observed.ts';
import { chatInput, chatOutput } from './openaiChat.ts';
import { responsesInput, responsesOutput } from './openaiResponses.ts';
import type { OpenSpan, SpanFields } from './spans.ts';

type Body = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: the client's own overloads stay its type
type Create = (...args: any[]) => unknown;
interface Calls {
  create: Create;
}

/** The parts of an OpenAI client, or of a compatible one, that are wrapped. */
export interface OpenAIClient {
  chat?: { completions: Calls };
  responses?: Calls;
}

/** How one of the two interfaces writes down what goes in and what comes out. */
interface Form {
  name: string;
  input(body: Body): unknown;
  output(result: unknown, pieces: readonly unknown[]): Partial<OpenSpan>;
}

const chat: Form = { name: 'chat', input: chatInput, output: chatOutput };
const responses: Form = { name: 'responses', input: responsesInput, output: responsesOutput };

const loggedCalls = new WeakSet<object>();

/**
 * Each call of `chat.completions` and `responses` of this client is an llm span from here on: messages, tools that it may call and does call, tokens, and
 * of a stream the time to its first piece. What is built on them (`parse`, `stream`, `runTools`) is logged, too.
 * @returns the same client
 */
export function logOpenAI<Client extends OpenAIClient>(client: Client): Client {
  if (client.chat) logCalls(client.chat.completions, chat);
  if (client.responses) logCalls(client.responses, responses);
  return client;
}

function logCalls(calls: Calls, form: Form): void {
  if (loggedCalls.has(calls)) return;
  loggedCalls.add(calls);
  const { create } = calls;
  calls.create = (body: Body, ...others: unknown[]) => {
    const run = () => create.call(calls, body, ...others);
    const call = beginCall({
      kind: 'llm',
      fields: { name: form.name, ...requested(body) },
      input: form.input(body),
      describe: (result, pieces) => ({ ...modelCallOf(result, pieces), ...form.output(result, pieces) }),
    });
    return call ? withParent(call.place, () => answered(run, call)) : run();
  };
}

function requested({ model, temperature, tools }: Body): SpanFields {
  return {
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(Array.isArray(tools) ? { tools: tools as Record<string, unknown>[] } : {}),
  };
}

/** The promise of OpenAI's client, which has methods of its own and parses the answer when it is awaited. */
interface ApiPromise {
  _thenUnwrap(transform: (data: unknown) => unknown): ApiPromise;
  asResponse(): Promise<unknown>;
}

function answered(run: () => unknown, call: LoggedCall): unknown {
  let promise: unknown;
  try {
    promise = run();
  } catch (error) {
    call.end({ error });
    throw error;
  }
  const isOpenAIs = typeof (promise as Partial<ApiPromise> | undefined)?._thenUnwrap === 'function';
  if (!isOpenAIs) return observed(() => promise, call.place, call);
  const wrapped = (promise as ApiPromise)._thenUnwrap((data) => watched(data, call.place, call));
  // The request itself fails before anything is parsed.
  wrapped.asResponse().catch((error: unknown) => call.end({ error }));
  return wrapped;
}
