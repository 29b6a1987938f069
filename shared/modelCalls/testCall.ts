import type { Integration } from '../integrations/integration.ts';
import type { IntegrationTestResult } from '../wire/integrationTest.ts';
import { ModelCallError, type ModelCaller } from './modelCall.ts';

const PROMPT = 'Answer with the one word: ready';
const MAX_TOKENS = 512;
const TIME_LIMIT_MS = 30_000;
/** Milliseconds to wait for a permit of the integration's limits, which runs may hold. */
const WAIT_MS = 15_000;
const SHOWN_CHARACTERS = 4_000;

/**
 * One try of a small call through an integration as it is stored now, within its limits. A failure of the call is a result, not an error.
 * @throws ServiceError when our own stores or keys are at fault; the reason of `signal` when it aborts
 */
export async function testCall(
  models: Pick<ModelCaller, 'complete'>,
  integration: Integration,
  asked: { model: string | null; prompt: string | null },
  signal: AbortSignal,
): Promise<IntegrationTestResult> {
  const patience = AbortSignal.timeout(WAIT_MS);
  try {
    const answer = await models.complete({
      modelAlias: asked.model,
      integrationName: integration.name,
      messages: [{ role: 'user', content: asked.prompt ?? PROMPT }],
      settings: { max_tokens: MAX_TOKENS },
      context: {},
      signal,
      stopping: AbortSignal.any([signal, patience]),
      retry: { maxAttempts: 1, maxRefusedMs: 0 },
      timeLimitMs: TIME_LIMIT_MS,
      mayLeaveOut: true,
      isJustChanged: true,
    });
    return {
      model: answer.model,
      text: answer.text.slice(0, SHOWN_CHARACTERS),
      latency_ms: answer.durationNs / 1e6,
      num_input_tokens: answer.inputTokens,
      num_output_tokens: answer.outputTokens,
      cost: answer.costUsd,
      sent_otherwise: [...answer.adjustments],
      error: null,
    };
  } catch (err) {
    if (err instanceof ModelCallError) return failed(asked.model, err);
    if (signal.aborted || !patience.aborted || err !== patience.reason) throw err;
    const message = `the limits of the integration left no room for a call within ${WAIT_MS / 1_000} s: other calls are under way or waiting`;
    return { ...nothing(asked.model), error: { kind: 'waited_too_long', status: null, message } };
  }
}

function failed(model: string | null, { attempts, message, status }: ModelCallError): IntegrationTestResult {
  const last = attempts.at(-1);
  const kind = last && last.outcome !== 'ok' && last.outcome !== 'cancelled' ? last.outcome : 'model_unknown';
  return {
    ...nothing(model),
    latency_ms: last ? last.endedAt - last.startedAt : null,
    error: { kind, status: status ?? null, message },
  };
}

const nothing = (model: string | null) => ({
  ...{ model, text: null, latency_ms: null, num_input_tokens: null, num_output_tokens: null, cost: null },
  sent_otherwise: [],
});
