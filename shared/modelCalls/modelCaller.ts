import type { CallGate } from '../coordination/coordination.ts';
import { ServiceError } from '../errors/errors.ts';
import type { Integration, IntegrationStore } from '../integrations/integration.ts';
import type { OutboundGuard, OutboundRequest } from '../outbound/outbound.ts';
import { isByRole, signerOf } from '../providers/awsAuthentication.ts';
import { completionsUrl, createChatCompletion } from '../providers/chatCompletion.ts';
import { type ChatMessage, toProtocol } from '../providers/chatMessage.ts';
import type { ChatProtocol } from '../providers/chatProtocol.ts';
import { ComingCompletion } from '../providers/comingCompletion.ts';
import { customConnection } from '../providers/custom.ts';
import { embeddings, embeddingsUrl } from '../providers/embeddings.ts';
import { AttemptFailure } from '../providers/failures.ts';
import { createFileBuckets, type FileBucket, holdFiles } from '../providers/fileBucket.ts';
import { fileProblem } from '../providers/files.ts';
import { callHandler } from '../providers/handlers/callHandler.ts';
import type { HandlerAnswer } from '../providers/handlers/customHandler.ts';
import { createHandlers, type HandlersOptions } from '../providers/handlers/handlers.ts';
import { findTokenProvider } from '../providers/index.ts';
import { createAccessTokens } from '../providers/oauth2.ts';
import { requestParameters, unsentSettings } from '../providers/parameters.ts';
import type { CallContext, Connection, Secrets } from '../providers/provider.ts';
import { adjusted, refusedParameters } from '../providers/refusedParameters.ts';
import { FilesRefused, type NamedFiles, withFiles } from '../providers/sentFiles.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { callLimits } from './callLimits.ts';
import { defaultRetryRules, limitedCall } from './limitedCall.ts';
import { tokensOf, toModelAnswer } from './modelAnswer.ts';
import {
  type AnswerStream,
  type Attempt,
  type ModelAnswer,
  type ModelCall,
  ModelCallError,
  type ModelCaller,
} from './modelCall.ts';
import { pricedName, type ResolvedModel, resolveModelFor } from './models.ts';
import type { TimeLimit } from './timeLimit.ts';

/** The prices of calls. */
export interface CallPrices {
  /** Resolves when the prices are new enough for a call. */
  fresh(): Promise<void>;
  /** Returns the cost of a call in US dollars and the source of its price; null where the price is not known. */
  pricedCost(
    call: ReturnType<typeof tokensOf> & ReturnType<typeof pricedName> & { at: string },
  ): { usd: number; source: NonNullable<ModelAnswer['priceSource']> } | null;
}

export interface ModelCallerDeps {
  integrations: Pick<IntegrationStore, 'list'>;
  /** Opens the sealed secrets of an integration. */
  openSecrets(integration: Integration): Secrets;
  outbound: Pick<OutboundGuard, 'request' | 'open' | 'fetch' | 'mayExplain'>;
  /** Where handler classes are, and what their processes are started with. */
  handlers: Omit<HandlersOptions, 'fetch'>;
  calls: CallGate;
  prices: CallPrices;
  /** The files that messages may name. */
  files: NamedFiles;
  telemetry?: Pick<Telemetry, 'add' | 'record'>;
}

const DEFAULT_TIME_LIMIT_MS = 300_000;
/** A changed integration is used by the calls of a run after at most this time, at once by the check before one, and by a call that else fails. */
const INTEGRATIONS_FRESH_MS = 1_000;

const refusal = (message: string, isOfProvider: boolean) =>
  new ModelCallError(message, { permanent: true, attempts: [], isOfProvider, isExhausted: false });

/** The model of an integration as it was saved last. */
const versionOf = ({ integration, model }: ResolvedModel): string =>
  `${integration.id} ${integration.updatedAt.getTime()} ${model.name}`;

/** How to reach the models of a stored integration. */
const connectionOf = (integration: Integration, secrets: Secrets): Connection =>
  integration.provider === 'custom'
    ? customConnection(integration.config, secrets)
    : findTokenProvider(integration.provider).connect(integration.config, secrets);

export function createModelCaller(deps: ModelCallerDeps): ModelCaller {
  const chat = createChatCompletion(deps.outbound);
  const tokens = createAccessTokens(deps.outbound.fetch);
  const buckets = createFileBuckets(deps.outbound);
  const handlers = createHandlers({ ...deps.handlers, fetch: deps.outbound.fetch });
  const integrations = remember(() => deps.integrations.list(), INTEGRATIONS_FRESH_MS);
  const limits = callLimits(deps.calls);
  const connections = new WeakMap<Integration, Connection>();
  const refused = refusedParameters();

  /** Secrets are opened once for each time an integration is read. */
  const connectionTo = (integration: Integration): Connection => {
    const known = connections.get(integration);
    if (known) return known;
    const connection = connectionOf(integration, deps.openSecrets(integration));
    connections.set(integration, connection);
    return connection;
  };

  const resolveNow: ModelCaller['resolveModel'] = async (modelAlias, integrationName, userId) =>
    resolveModelFor(userId, await deps.integrations.list(), modelAlias, integrationName);
  const resolve: ModelCaller['resolveModel'] = async (modelAlias, integrationName, userId) => {
    try {
      return resolveModelFor(userId, await integrations(), modelAlias, integrationName);
    } catch (err) {
      // An unknown integration may be a moment old: a run that starts right after its integration was made must find it.
      if (err instanceof ServiceError && err.permanent) return resolveNow(modelAlias, integrationName, userId);
      throw err;
    }
  };

  async function completeBy({ integration, model }: ResolvedModel, call: ModelCall): Promise<ModelAnswer> {
    await deps.prices.fresh();
    const connection = connectionTo(integration);
    const protocol = connection.protocolOf?.(model.name);
    // The modalities of custom endpoints and of models outside the built-in list are unknown.
    const takes = integration.provider === 'custom' || model.builtin === null ? undefined : model.modalities;
    const messages = await withFiles(deps.files, call.messages, call.context.projectId ?? null, takes).catch((err: unknown) => {
      throw err instanceof FilesRefused ? refusal(err.message, false) : err;
    });
    if (call.embeds && (connection.handler || protocol))
      throw refusal(`the integration "${integration.name}" has no embeddings in OpenAI's protocol`, true);
    const problem = fileProblem(messages, connection.fileLimits);
    if (problem) throw refusal(problem, false);

    const { stream } = call;
    const settings = requestParameters(model, call.settings, call.areFilledIn);
    const { measured, unsaid } = logProbabilityFields(call, settings, connection, protocol);
    const asked = { ...settings, ...measured };
    const parameters = stream && !connection.handler ? { ...asked, ...STREAMED } : asked;
    const modelKey = versionOf({ integration, model });
    let sent = parameters;
    let sentMessages = messages;
    let notes: string[] = [];
    const tokenKey = `${integration.id} ${integration.updatedAt.getTime()}`;
    const timeLimitMs = call.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS;
    const attempts: Attempt[] = [];
    let accessToken: string | undefined;
    let { authentication } = connection;
    let isRefreshed = false;
    let durationNs = 0;
    let coming: ComingCompletion | undefined;
    let timeToFirstTokenNs: number | null = null;

    const send = async (limit: TimeLimit, reserve: OutboundRequest['reserve']): Promise<HandlerAnswer> => {
      const headers = requestHeaders(connection, call.context, accessToken);
      const start = process.hrtime.bigint();
      const elapsedNs = () => Number(process.hrtime.bigint() - start) - Math.round(limit.waitedMs() * 1e6);
      timeToFirstTokenNs = null;
      coming = stream && comingTo(stream, (isStreamed) => (timeToFirstTokenNs = isStreamed ? elapsedNs() : null));
      if (connection.handler) {
        const { endpoint } = connection;
        const request = { model: model.name, messages: messages as ChatMessage[], parameters: sent, endpoint, headers };
        const withContext = { ...request, context: call.context };
        const reply = await limit.race(callHandler(handlers, integration.id, connection, withContext, limit.signal));
        durationNs = reply.durationNs;
        coming?.takeWhole(reply.answer);
        return reply.answer;
      }
      const address =
        connection.addressOf?.(model.name, call.settings, sent.stream === true) ?? completionsUrl(connection.endpoint);
      const answer = await chat({
        url: call.embeds ? embeddingsUrl(address) : address,
        body: { model: model.name, ...sent, messages: sentMessages.map(toProtocol) },
        headers,
        protocol: call.embeds ? embeddings : protocol,
        sign: signerOf(authentication),
        signal: limit.signal,
        reserve,
        coming,
      });
      durationNs = elapsedNs();
      return answer;
    };

    const attempt = async (limit: TimeLimit, wait: <T>(work: () => Promise<T>) => Promise<T>) => {
      ({ body: sent, notes } = adjusted(parameters, refused.of(modelKey)));
      accessToken = undefined;
      if (connection.authentication.kind === 'oauth2')
        accessToken = await limit.race(tokens.get(tokenKey, connection.authentication));
      if (isByRole(connection.authentication)) {
        const credentials = await limit.race(tokens.get(tokenKey, connection.authentication));
        authentication = { ...connection.authentication, credentials };
      }
      const bucket = connection.bucketOf?.(model.name);
      sentMessages = messages;
      if (bucket && holdFiles(messages)) {
        const bucketKey = `${tokenKey} bucket`;
        const bucketToken = await limit.race(tokens.get(bucketKey, bucket.authentication));
        sentMessages = await limit
          .race(buckets.withAddresses(bucket, messages, bucketToken, limit.signal))
          .catch((err: unknown) => {
            if (err instanceof AttemptFailure && err.status === 401) tokens.forget(bucketKey, bucketToken);
            throw err;
          });
      }
      const { memory } = call;
      const value = await send(limit, memory && ((bytes) => wait(() => memory.take(bytes, call.signal))));
      const { inputTokens, outputTokens, totalTokens } = tokensOf(value);
      const isCounted = inputTokens !== undefined || outputTokens !== undefined;
      return { value, tokens: isCounted ? (inputTokens ?? 0) + (outputTokens ?? 0) : totalTokens };
    };

    const mayLeaveOut = (field: string) => call.mayLeaveOut === true || field in measured;
    /** Another call may have found out meanwhile. */
    const mayAdjust = (names: readonly string[]): boolean => {
      const isKnown = JSON.stringify(adjusted(parameters, refused.of(modelKey)).body) !== JSON.stringify(sent);
      return isKnown || refused.note(modelKey, names, sent, mayLeaveOut);
    };

    /**
     * A field that the endpoint does not take is left out of one more try, or sent under its other name. An access token may end before its time:
     * the first 401 is answered with a new one and one more try.
     */
    const again = ({ status, refusedParameters: names }: AttemptFailure): boolean => {
      if (names.length > 0) return mayAdjust(names);
      if (status !== 401 || accessToken === undefined || isRefreshed) return false;
      isRefreshed = true;
      tokens.forget(tokenKey, accessToken);
      return true;
    };

    const withCosts = (answer: HandlerAnswer, ns: number): ModelAnswer => {
      const counts = tokensOf(answer);
      const at = new Date().toISOString();
      const cost = deps.prices.pricedCost({ ...counts, ...pricedName({ integration, model }), at });
      const costs = { costUsd: cost?.usd ?? null, priceSource: cost?.source ?? null };
      const result = toModelAnswer(answer, model, {
        ...{ ...counts, ...costs, durationNs: ns, timeToFirstTokenNs, attempts, adjustments: [...unsaid, ...notes] },
      });
      countUsage(deps.telemetry, integration.name, result);
      return result;
    };

    try {
      const answer = await limitedCall(
        deps.calls,
        {
          ...limits.of(integration, call, call.embeds ? { max_tokens: 0 } : parameters),
          rules: { ...defaultRetryRules, ...call.retry },
          timeLimitMs,
          overdue: `the model endpoint did not answer within ${timeLimitMs / 1_000} s`,
          signal: call.signal,
          waiting: call.waiting,
          stopping: call.stopping,
          confirm: call.confirm,
          again,
          mayRepeat: () => !coming?.hasBegun,
          attempts,
          onAttempt: ({ startedAt, endedAt, outcome }) =>
            deps.telemetry?.record('assay_model_attempt_duration_seconds', Math.max(0, endedAt - startedAt) / 1_000, {
              integration: integration.name,
              outcome,
            }),
          mayExplain: () => addressesOf(connection, connection.bucketOf?.(model.name)).every(deps.outbound.mayExplain),
        },
        attempt,
      );
      return withCosts(answer, durationNs);
    } catch (err) {
      const last = attempts.at(-1);
      if (stream && last) stream.brokenOff(withCosts(coming?.soFar ?? { content: '' }, (last.endedAt - last.startedAt) * 1e6));
      if (!(err instanceof AttemptFailure)) throw err;
      const { message, retry, status, isOfProvider, isExhausted } = err;
      const names = err.refusedParameters.filter((name) => Object.hasOwn(sent, name));
      const why = names.length > 0 ? `: it does not take ${names.join(', ')} as it was sent` : '';
      throw new ModelCallError(`${message}${why}`, { permanent: !retry, status, attempts, isOfProvider, isExhausted });
    }
  }

  return {
    resolveModel: resolveNow,
    async unsentSettings(settings, userId) {
      const alias = typeof settings.model_alias === 'string' ? settings.model_alias : null;
      const found = await resolve(alias, null, userId).catch((err: unknown) => {
        if (err instanceof ServiceError && err.permanent) return undefined;
        throw err;
      });
      return found ? unsentSettings(found.model, settings) : [];
    },
    async complete(call) {
      const asked = [call.modelAlias, call.integrationName, call.context.userId] as const;
      const known = await (call.isJustChanged ? resolveNow : resolve)(...asked).catch((err) => {
        if (err instanceof ServiceError && err.permanent) throw refusal(err.message, true);
        throw err;
      });
      try {
        return await completeBy(known, call);
      } catch (err) {
        // A run that starts right after its integration was mended must not fail by what was known before.
        if (!(err instanceof ModelCallError) || call.signal.aborted || call.stream) throw err;
        const now = await resolveNow(...asked).catch(() => known);
        if (versionOf(now) === versionOf(known)) throw err;
        const answer = await completeBy(now, call);
        return { ...answer, attempts: [...err.attempts, ...answer.attempts] };
      }
    },
  };
}

/**
 * The fields that ask for log probabilities: of the tokens themselves, and of no others that might have stood in their place. What the protocol has no word
 * for, or the provider never gives, is as good as refused.
 */
function logProbabilityFields(
  { wantsLogProbabilities, wantsPromptLogProbabilities }: ModelCall,
  settings: Record<string, unknown>,
  { handler, mayRatePrompts }: Connection,
  protocol: ChatProtocol | undefined,
): { measured: Record<string, unknown>; unsaid: string[] } {
  const fields = [
    { name: 'logprobs', value: true, isWanted: wantsLogProbabilities, mayHave: !protocol || protocol.hasLogProbabilities },
    { name: 'prompt_logprobs', value: 0, isWanted: wantsPromptLogProbabilities, mayHave: mayRatePrompts },
  ].filter(({ name, isWanted }) => isWanted === true && handler === null && !(name in settings));
  return {
    measured: Object.fromEntries(fields.filter(({ mayHave }) => mayHave).map(({ name, value }) => [name, value])),
    unsaid: fields.filter(({ mayHave }) => !mayHave).map(({ name }) => `${name} is not sent`),
  };
}

/** Fields that ask an endpoint for an answer in pieces, the last of which says the counts. */
const STREAMED = { stream: true, stream_options: { include_usage: true } } as const;

/** @param onFirst called with the first piece */
function comingTo(stream: AnswerStream, onFirst: (isStreamed: boolean) => void): ComingCompletion {
  let isFirst = true;
  const coming: ComingCompletion = new ComingCompletion((piece) => {
    if (isFirst) onFirst(coming.isStreamed);
    isFirst = false;
    stream.piece(piece);
  });
  return coming;
}

function countUsage(
  telemetry: ModelCallerDeps['telemetry'],
  integration: string,
  { inputTokens, outputTokens, costUsd }: ModelAnswer,
): void {
  telemetry?.add('assay_model_tokens_total', inputTokens ?? 0, { integration, direction: 'input' });
  telemetry?.add('assay_model_tokens_total', outputTokens ?? 0, { integration, direction: 'output' });
  telemetry?.add('assay_model_cost_usd_total', costUsd ?? 0, { integration });
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

/** Returns what a call of the integration talks to. */
const addressesOf = ({ endpoint, authentication }: Connection, bucket: FileBucket | undefined): string[] => [
  endpoint,
  ...(authentication.kind === 'oauth2' ? [authentication.tokenUrl] : []),
  ...(isByRole(authentication) ? [authentication.stsUrl] : []),
  ...(bucket ? [bucket.endpoint, bucket.authentication.tokenUrl] : []),
];

/** The result of `load`, asked for again when it is older than `freshMs`; callers at the same time share one request, failures are not kept. */
function remember<T>(load: () => Promise<T>, freshMs: number): () => Promise<T> {
  let held: { value: Promise<T>; since: number } | undefined;
  return () => {
    if (held && performance.now() - held.since < freshMs) return held.value;
    const before = held?.value;
    const fresh = { value: load(), since: performance.now() };
    held = fresh;
    // While the store is away what was known last counts: calls under way go on.
    if (before) fresh.value = fresh.value.catch(() => before);
    fresh.value.catch(() => {
      if (held === fresh) held = undefined;
    });
    return fresh.value;
  };
}
