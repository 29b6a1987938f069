import type { Logger } from 'pino';
import { ServiceError } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import { type Attempt, type ModelAnswer, ModelCallError, type ModelCaller } from '../modelCalls/modelCall.ts';
import type { LogStreamStore } from '../projects/projectStore.ts';
import { ingestTraces } from '../records/ingest.ts';
import type { RecordWriter } from '../records/recordWriter.ts';
import type { PlaygroundEvent, PlaygroundFailed, PlaygroundMessage, PlaygroundOutcome } from '../wire/playground.ts';
import { type PrepareDeps, type PreparedCall, prepareCall } from './playgroundCall.ts';
import type { PlaygroundBudget } from './playgroundLimits.ts';
import { playgroundTrace } from './playgroundTrace.ts';

export interface PlaygroundDeps extends PrepareDeps {
  models: PrepareDeps['models'] & Pick<ModelCaller, 'complete'>;
  logStreams: Pick<LogStreamStore, 'find' | 'insert'>;
  writer: Pick<RecordWriter, 'write' | 'writeParts' | 'counters'>;
  /** The limits of the projects. */
  budget: Pick<PlaygroundBudget, 'begin'>;
  log: Pick<Logger, 'warn' | 'error'>;
}

export interface Playground {
  /** @throws RequestInvalid, ServiceError: nothing was paid then */
  prepare(...call: Rest<Parameters<typeof prepareCall>>): Promise<PreparedCall>;
  /**
   * Makes a call and records it, however it ends. The last event is `completed` or `failed`.
   * @param signal its reason says why the call is given up; what was paid until then is recorded
   * @throws what keeps it from being started
   */
  run(call: PreparedCall, signal: AbortSignal, send: (event: PlaygroundEvent) => void): Promise<void>;
}

type Rest<T extends unknown[]> = T extends [unknown, ...infer R] ? R : never;

/** The name of the log stream in which a project's playground records its calls. */
export const PLAYGROUND_STREAM = 'playground';

/** Milliseconds for all tries of a call together: models that think and write for long are not cut off. */
const TIME_LIMIT_MS = 3_600_000;

/** Somebody sits and waits: a failure that may pass is tried again a few times, and an endpoint that refuses all calls as too much half a minute long. */
const RETRY = { maxAttempts: 3, maxRefusedMs: 30_000 };

/** Milliseconds of one wait for a permit. */
const WAIT_MS = 60_000;

/** HTTP's status of servers for a caller who left. */
const CALLER_LEFT = 499;

/** Calls of one model, outside of experiments. */
export function openPlayground(deps: PlaygroundDeps): Playground {
  const { models, log } = deps;

  /** The project's log stream for calls, made with the first one. Names are unique, so that two first calls share one. */
  const streamOf = async ({ projectId, caller }: PreparedCall): Promise<string> => {
    const filters = [{ name: 'name', operator: 'eq', value: PLAYGROUND_STREAM, case_sensitive: true }] as const;
    const find = async () => (await deps.logStreams.find(projectId, { filters })).items[0]?.id;
    const known = await find();
    if (known !== undefined) return known;
    try {
      const made = { id: newId(), projectId, name: PLAYGROUND_STREAM, createdBy: caller.userId };
      return (await deps.logStreams.insert(made)).id;
    } catch (err) {
      const other = err instanceof ServiceError && err.code === 'Conflict' ? await find() : undefined;
      if (other === undefined) throw err;
      return other;
    }
  };

  return {
    prepare: (...call) => prepareCall(deps, ...call),
    async run(call, signal, send) {
      const { projectId, settings, messages } = call;
      const counted = await deps.budget.begin(call);
      const runId = await streamOf(call).catch(async (err: unknown) => {
        await counted.drop();
        throw err;
      });
      const ids = { traceId: newId(), spanId: newId() };
      const startedAt = new Date();
      send({ event: 'started', data: startedData(call, ids, runId) });
      const patience = new AbortController();
      let partial: ModelAnswer | undefined;
      let answer: ModelAnswer | undefined;
      let failure: Failure | undefined;
      try {
        answer = await models.complete({
          modelAlias: settings.model_alias,
          ...{ messages, settings, areFilledIn: true, isJustChanged: true, retry: RETRY, timeLimitMs: TIME_LIMIT_MS, signal },
          stopping: AbortSignal.any([signal, patience.signal]),
          waiting() {
            const timer = setTimeout(() => patience.abort(new WaitedTooLong()), WAIT_MS);
            return () => clearTimeout(timer);
          },
          context: { userId: call.caller.userId, projectId, runId },
          stream: {
            piece: ({ text, reasoning, toolCalls }) => send({ event: 'delta', data: { text, reasoning, tool_calls: toolCalls } }),
            brokenOff: (given) => {
              partial = given;
            },
          },
        });
      } catch (err) {
        failure = failureOf(err, signal);
        if (failure.kind === 'internal') log.error({ err }, 'a call of the playground failed');
      }
      const attempts = (answer ?? partial)?.attempts ?? [];
      await counted.end(answer ? answer.costUsd : costOfFailure(partial));
      const end = {
        ...{ startedAt, answer: answer ?? partial, attempts },
        failure: failure && {
          detail: failure.detail,
          status: failure.status ?? (failure.isCancelled ? CALLER_LEFT : 500),
          isCancelled: failure.isCancelled,
        },
      };
      const isRecorded = await ingestTraces(
        deps.writer,
        { projectId, runId, kind: 'log_stream' },
        {
          traces: playgroundTrace(ids, call, end),
          isComplete: true,
        },
      ).then(
        () => true,
        (err: unknown) => {
          log.warn({ err, projectId }, 'a call of the playground was not recorded');
          return false;
        },
      );
      const outcome = outcomeOf(ids.traceId, isRecorded, call, answer ?? partial, attempts);
      if (!failure) send({ event: 'completed', data: outcome });
      else {
        const { isCancelled: _, ...said } = failure;
        send({ event: 'failed', data: { ...outcome, ...said } });
      }
    },
  };
}

/** Returns the cost of a call that failed: nothing where each try was refused before the model wrote a word, else what is known of it. */
function costOfFailure(partial: ModelAnswer | undefined): number | null {
  if (!partial) return 0;
  const { attempts, text, reasoning, message, costUsd } = partial;
  const isEmpty = text === '' && reasoning === null && !message.tool_calls;
  const isUnpaid = isEmpty && attempts.every(({ outcome, status = 0 }) => status >= 400 || outcome === 'refused');
  return isUnpaid ? 0 : costUsd;
}

class WaitedTooLong extends Error {
  constructor() {
    super(
      `no call could be made within ${WAIT_MS / 1_000} s: the endpoint asks to wait, or other calls use up the limits of the integration`,
    );
  }
}

type Failure = Pick<PlaygroundFailed, 'kind' | 'detail' | 'status' | 'is_retriable'> & { isCancelled: boolean };

/** Why a call came to nothing, in words that may be shown. */
function failureOf(err: unknown, signal: AbortSignal): Failure {
  if (signal.aborted) {
    const isStopping = signal.reason instanceof ServiceError && signal.reason.code === 'Unavailable';
    const detail = signal.reason instanceof ServiceError ? signal.reason.message : 'the caller cancelled the call';
    return { kind: isStopping ? 'stopping' : 'cancelled', detail, status: null, is_retriable: true, isCancelled: true };
  }
  if (err instanceof ModelCallError) {
    const outcome = err.attempts.at(-1)?.outcome;
    const kind = outcome === undefined || outcome === 'ok' ? 'refused' : outcome;
    return { kind, detail: err.message, status: err.status ?? null, is_retriable: !err.permanent, isCancelled: false };
  }
  if (err instanceof WaitedTooLong)
    return { kind: 'waited_too_long', detail: err.message, status: null, is_retriable: true, isCancelled: false };
  const detail = err instanceof ServiceError ? err.message : 'the service failed: its log says why';
  return { kind: 'internal', detail, status: null, is_retriable: true, isCancelled: false };
}

const startedData = (call: PreparedCall, ids: { traceId: string; spanId: string }, logStreamId: string) => ({
  trace_id: ids.traceId,
  span_id: ids.spanId,
  log_stream_id: logStreamId,
  messages: call.messages as PlaygroundMessage[],
  unused_variables: call.unusedVariables,
  model: call.resolved.model.alias,
  integration: call.resolved.integration.name,
  unsent_settings: call.unsentSettings,
});

function outcomeOf(
  traceId: string,
  isRecorded: boolean,
  { settings }: PreparedCall,
  answer: ModelAnswer | undefined,
  attempts: readonly Attempt[],
): PlaygroundOutcome {
  const isSaid = answer && (answer.text !== '' || answer.message.tool_calls !== undefined);
  return {
    trace_id: traceId,
    is_recorded: isRecorded,
    output: isSaid || (answer && attempts.at(-1)?.outcome === 'ok') ? answer.message : null,
    reasoning: answer?.reasoning ?? null,
    model: answer?.model ?? settings.model_alias,
    finish_reason: answer?.finishReason ?? null,
    num_input_tokens: answer?.inputTokens ?? null,
    num_output_tokens: answer?.outputTokens ?? null,
    num_total_tokens: answer?.totalTokens ?? null,
    num_cached_input_tokens: answer?.cachedInputTokens ?? null,
    num_reasoning_output_tokens: answer?.reasoningTokens ?? null,
    cost: answer?.costUsd ?? null,
    price_source: answer?.priceSource ?? null,
    duration_ns: answer ? Math.round(answer.durationNs) : null,
    time_to_first_token_ns: answer?.timeToFirstTokenNs ?? null,
    num_tries: attempts.length,
    sent_otherwise: [...(answer?.adjustments ?? [])],
  };
}
