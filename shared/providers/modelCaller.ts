import { ServiceError } from '../errors.ts';
import type { Integration, IntegrationStore, Secrets } from '../integrations/integration.ts';
import { type OutboundGuard, OutboundRefused } from '../integrations/outbound.ts';
import { onAbort } from '../onAbort.ts';
import { createChatCompletion } from './chatCompletion.ts';
import { type ChatMessage, toProtocol } from './chatMessage.ts';
import type { CustomHandler, HandlerAnswer, HandlerCall } from './customHandler.ts';
import { AttemptFailure, connectionFailure, httpFailure, isConnectionFailure } from './failures.ts';
import { fileProblem } from './files.ts';
import { connectionOf } from './index.ts';
import { createHandlerLoader } from './loadHandler.ts';
import { type Attempt, type ModelAnswer, type ModelCall, ModelCallError, type ModelCaller } from './modelCall.ts';
import { type CallableModel, resolveModel } from './models.ts';
import { createAccessTokens } from './oauth2.ts';
import { requestParameters } from './parameters.ts';
import { costUsd } from './prices.ts';
import type { CallContext, Connection } from './provider.ts';
import { defaultRetryRules, whileTelling, withRetries } from './retry.ts';

/** Takes one of `limit` slots of `key`, waiting for a free one; the result gives it back. Rejects with the signal's reason. */
export type AcquireSlot = (key: string, limit: number, options: { signal: AbortSignal }) => Promise<() => void | Promise<void>>;

export interface ModelCallerDeps {
  integrations: Pick<IntegrationStore, 'list'>;
  /** Opens the sealed secrets of an integration. */
  openSecrets(integration: Integration): Secrets;
  outbound: Pick<OutboundGuard, 'request' | 'fetch'>;
  /** HANDLERS_DIR; undefined where none is configured. */
  handlersDir: string | undefined;
  acquire: AcquireSlot;
  /** Calls in flight per integration, over all workers that share `acquire`. */
  concurrencyPerIntegration: number;
}

const DEFAULT_TIMEOUT_MS = 300_000;
/** A changed integration is used by the calls of a run after at most this time, and at once by the check before one. */
const INTEGRATIONS_FRESH_MS = 1_000;

export function createModelCaller(deps: ModelCallerDeps): ModelCaller {
  const chat = createChatCompletion(deps.outbound.request);
  const tokens = createAccessTokens(deps.outbound.fetch);
  const loadHandler = createHandlerLoader(deps.handlersDir);
  const integrations = remembered(() => deps.integrations.list(), INTEGRATIONS_FRESH_MS);
  const connections = new WeakMap<Integration, Connection>();

  /** Secrets are opened once for each time an integration is read. */
  const connectionTo = (integration: Integration): Connection => {
    const known = connections.get(integration);
    if (known) return known;
    const connection = connectionOf(integration, deps.openSecrets(integration));
    connections.set(integration, connection);
    return connection;
  };

  const resolveNow: ModelCaller['resolveModel'] = async (modelAlias, integrationName) =>
    resolveModel(await deps.integrations.list(), modelAlias, integrationName);
  const resolve = async (modelAlias: string | null | undefined, integrationName?: string | null) => {
    try {
      return resolveModel(await integrations(), modelAlias, integrationName);
    } catch (err) {
      // What is unknown may have been made a moment ago: a run started right after its integration must find it.
      if (err instanceof ServiceError && err.permanent) return resolveNow(modelAlias, integrationName);
      throw err;
    }
  };

  return {
    resolveModel: resolveNow,
    async complete(call) {
      const attempts: Attempt[] = [];
      const { integration, model } = await resolve(call.modelAlias, call.integrationName).catch((err) => {
        if (err instanceof ServiceError && err.permanent) throw new ModelCallError(err.message, { permanent: true, attempts });
        throw err;
      });
      const connection = connectionTo(integration);
      const problem = fileProblem(call.messages, connection.fileLimits);
      if (problem) throw new ModelCallError(problem, { permanent: true, attempts });

      const rules = { ...defaultRetryRules, ...call.retry };
      const tokenKey = `${integration.id} ${integration.updatedAt.getTime()}`;
      let accessToken: string | undefined;
      let durationNs = 0;

      const send = async (limit: TimeLimit): Promise<HandlerAnswer> => {
        const headers = requestHeaders(connection, call.context, accessToken);
        const parameters = requestParameters(model, call.settings);
        const handler = connection.handler && (await limit.race(loadHandler(integration.id, connection.handler)));
        const start = process.hrtime.bigint();
        const answer = handler
          ? await limit.race(
              callHandler(handler, connection, {
                model: model.name,
                messages: structuredClone(call.messages) as ChatMessage[],
                parameters,
                endpoint: connection.endpoint,
                headers,
                context: call.context,
                fetch: deps.outbound.fetch,
                signal: limit.signal,
              }),
            )
          : await chat({
              endpoint: connection.endpoint,
              body: { model: model.name, ...parameters, messages: call.messages.map(toProtocol) },
              headers,
              signal: limit.signal,
            });
        durationNs = Number(process.hrtime.bigint() - start);
        return answer;
      };

      /** One try: the time limit holds for all of it, the slot is held only while it lasts. */
      const attempt = async (): Promise<HandlerAnswer> => {
        accessToken = undefined;
        const release = await slot(deps, integration.id, call);
        const startedAt = Date.now();
        const limit = timeLimit(call.signal, call.timeoutMs ?? DEFAULT_TIMEOUT_MS);
        const record = (outcome: Attempt['outcome'], status?: number) =>
          attempts.push({ startedAt, endedAt: Date.now(), outcome, ...(status !== undefined && { status }) });
        try {
          if (connection.authentication.kind === 'oauth2')
            accessToken = await limit.race(tokens.get(tokenKey, connection.authentication));
          const answer = await send(limit);
          record('ok', 200);
          return answer;
        } catch (err) {
          if (call.signal.aborted) {
            record('cancelled');
            throw call.signal.reason;
          }
          const failure = limit.signal.aborted
            ? new AttemptFailure(
                'timeout',
                `the model endpoint did not answer within ${(call.timeoutMs ?? DEFAULT_TIMEOUT_MS) / 1_000} s`,
                {
                  retry: true,
                },
              )
            : err;
          if (!(failure instanceof AttemptFailure)) throw failure;
          record(failure.outcome, failure.status);
          throw failure;
        } finally {
          limit.clear();
          await release();
        }
      };

      let refreshed = false;
      /** An access token may end before its time: the first 401 is answered with a new one and one more try. */
      const attemptWithFreshToken = async (): Promise<HandlerAnswer> => {
        try {
          return await attempt();
        } catch (err) {
          if (!(err instanceof AttemptFailure) || err.status !== 401 || accessToken === undefined || refreshed) throw err;
          refreshed = true;
          tokens.forget(tokenKey, accessToken);
          return attempt();
        }
      };

      try {
        const answer = await withRetries(attemptWithFreshToken, rules, call.signal, call.onWaiting);
        return toModelAnswer(answer, model, durationNs, attempts);
      } catch (err) {
        if (!(err instanceof AttemptFailure)) throw err;
        throw new ModelCallError(err.message, { permanent: !err.retry, status: err.status, attempts });
      }
    },
  };
}

async function slot(deps: ModelCallerDeps, key: string, call: ModelCall): Promise<() => void | Promise<void>> {
  const wanted = deps.acquire(key, deps.concurrencyPerIntegration, { signal: call.signal });
  return call.onWaiting ? whileTelling(wanted, () => call.onWaiting?.({ reason: 'slot' })) : wanted;
}

type TimeLimit = ReturnType<typeof timeLimit>;

/** A signal that aborts with the caller's or after the time limit, and a race against it for work that does not watch it. */
function timeLimit(outer: AbortSignal, ms: number) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('time limit', 'TimeoutError')), ms);
  const forget = onAbort(outer, () => controller.abort(outer.reason));
  return {
    signal: controller.signal,
    race: <T>(work: Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        const stop = () => reject(controller.signal.reason);
        controller.signal.addEventListener('abort', stop, { once: true });
        if (controller.signal.aborted) stop();
        work.then(resolve, reject).finally(() => controller.signal.removeEventListener('abort', stop));
      }),
    clear: () => {
      clearTimeout(timer);
      forget();
    },
  };
}

/** Header names in lower case, so that no two spellings of one name are sent. The authentication wins, the body's own type is not to be changed. */
function requestHeaders(
  { headers, contextHeaders, authentication }: Connection,
  context: CallContext,
  accessToken: string | undefined,
): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value;
  for (const [field, name] of Object.entries(contextHeaders)) {
    const value = context[field as keyof CallContext];
    if (value) all[name.toLowerCase()] = value;
  }
  delete all['content-type'];
  if (authentication.kind === 'header') all[authentication.name.toLowerCase()] = authentication.value;
  if (accessToken !== undefined) all.authorization = `Bearer ${accessToken}`;
  return all;
}

/** A handler's `complete`, with what it throws turned into our failures. */
async function callHandler(handler: CustomHandler, connection: Connection, call: HandlerCall): Promise<HandlerAnswer> {
  const who = `the handler ${connection.handler?.className}`;
  let answer: HandlerAnswer;
  try {
    answer = await handler.complete(call);
  } catch (err) {
    call.signal.throwIfAborted();
    const { status, retryAfterMs } = err as { status?: unknown; retryAfterMs?: unknown };
    if (typeof status === 'number' && status >= 400 && status <= 599) {
      const headers = new Headers(typeof retryAfterMs === 'number' ? { 'retry-after-ms': String(retryAfterMs) } : {});
      throw httpFailure(`${who}'s endpoint`, status, headers);
    }
    if (err instanceof OutboundRefused || isConnectionFailure(err)) throw connectionFailure(`${who}'s endpoint`, err);
    throw new AttemptFailure('handler_error', `${who} failed: ${withoutSecrets(String(err), connection, call.headers)}`, {
      retry: false,
    });
  }
  if (typeof answer?.content !== 'string')
    throw new AttemptFailure('malformed_answer', `${who} must answer an object with a text \`content\``, { retry: false });
  return answer;
}

const MAX_HANDLER_MESSAGE = 300;
/** Shorter values are words, not secrets. */
const SHORTEST_SECRET = 4;

/** A handler's own words, without the secrets it was given. */
function withoutSecrets(text: string, { authentication, handler }: Connection, headers: Record<string, string>): string {
  const credentials = authentication.kind === 'oauth2' ? authentication.credentials : null;
  const secrets = textsIn([headers, handler?.initKwargs, credentials]).flatMap((value) => [value, value.replace(/^Bearer /, '')]);
  const clean = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
  return clean.split('\n')[0]?.slice(0, MAX_HANDLER_MESSAGE) ?? '';
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : [];

function toModelAnswer(answer: HandlerAnswer, model: CallableModel, durationNs: number, attempts: Attempt[]): ModelAnswer {
  const [inputTokens, outputTokens] = [tokenCount(answer.inputTokens), tokenCount(answer.outputTokens)];
  const cachedInputTokens = tokenCount(answer.cachedInputTokens);
  const counted = inputTokens !== null && outputTokens !== null;
  return {
    message: {
      role: 'assistant',
      content: answer.content,
      ...(answer.toolCalls && answer.toolCalls.length > 0 && { tool_calls: answer.toolCalls }),
    },
    text: answer.content,
    model: typeof answer.model === 'string' ? answer.model : model.name,
    finishReason: typeof answer.finishReason === 'string' ? answer.finishReason : null,
    inputTokens,
    outputTokens,
    totalTokens: counted ? inputTokens + outputTokens : null,
    cachedInputTokens,
    durationNs,
    attempts,
    costUsd: counted
      ? costUsd({ model: model.name, inputTokens, outputTokens, cachedInputTokens: cachedInputTokens ?? 0 })
      : null,
  };
}

/** A count as a handler or an endpoint says it, in whole tokens; null for what is none. */
const tokenCount = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : null;

/** The result of `load`, asked for again when it is older than `freshMs`; callers at the same time share one request, failures are not kept. */
function remembered<T>(load: () => Promise<T>, freshMs: number): () => Promise<T> {
  let held: { value: Promise<T>; since: number } | undefined;
  return () => {
    if (held && performance.now() - held.since < freshMs) return held.value;
    const before = held?.value;
    const fresh = { value: load(), since: performance.now() };
    held = fresh;
    fresh.value.catch(() => {
      if (held === fresh) held = undefined;
    });
    // While the store is away what was known last counts: calls under way go on.
    if (before) fresh.value = fresh.value.catch(() => before);
    return fresh.value;
  };
}
