import type { CallGate, CallLimits } from '../coordination/coordination.ts';
import type { Integration } from '../integrations/integration.ts';
import type { LimitedCall } from './limitedCall.ts';
import type { ModelCall } from './modelCall.ts';

/** Calls in flight without a limit on the integration: more than a run has lanes, so that the run's own concurrency counts. */
export const MOST_CALLS = 1_000;

/** Characters of a token, on average; providers reckon with the same. */
const CHARACTERS_PER_TOKEN = 4;
/** Tokens of a part that is not text, and of an answer whose length nothing says. */
const PART_TOKENS = 1_000;
export const ANSWER_TOKENS = 500;

/** Tokens of a text of so many characters, by estimate. */
export const tokensOfText = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);

/** Makes the gates that calls to models of integrations pass: the integration, and the run where it has limits of its own. */
export function callLimits(calls: CallGate) {
  const stored = new Map<string, Integration['limits']>();

  /** Those who wait already are let in by the newest limits. */
  const note = ({ id, limits }: Integration): void => {
    const before = stored.get(id);
    stored.set(id, limits);
    if (JSON.stringify(before) !== JSON.stringify(limits)) calls.changed(id);
  };

  return {
    of(
      integration: Integration,
      { messages, context: { runId }, limits: ofRun }: ModelCall,
      parameters: Record<string, unknown>,
    ): Pick<LimitedCall, 'gates' | 'party' | 'tokens'> {
      note(integration);
      const { id } = integration;
      const shared = () => raised({ concurrency: MOST_CALLS, ...stored.get(id) }, ofRun);
      const own = ofRun && runId ? [{ key: `${id}/${runId}`, limits: () => ({ concurrency: MOST_CALLS, ...ofRun }) }] : [];
      const counts = integration.limits?.tokensPerMinute !== undefined || ofRun?.tokensPerMinute !== undefined;
      return {
        gates: [...own, { key: id, limits: shared }],
        party: runId ?? undefined,
        tokens: counts ? tokensOf(messages, parameters) : 0,
      };
    },
  };
}

/** A run's own limits are counted on their own. What they leave less than the integration's counts there too; more of it is this run's exception. */
function raised(limits: CallLimits, ofRun: Partial<CallLimits> | undefined): CallLimits {
  if (!ofRun) return limits;
  const higher = (a: number | undefined, b: number | undefined) => (a === undefined || b === undefined ? a : Math.max(a, b));
  return {
    concurrency: Math.max(limits.concurrency, ofRun.concurrency ?? 0),
    requestsPerMinute: higher(limits.requestsPerMinute, ofRun.requestsPerMinute),
    tokensPerMinute: higher(limits.tokensPerMinute, ofRun.tokensPerMinute),
  };
}

/** Tokens of what a model is sent, by estimate. */
export function tokensOfMessages(messages: ModelCall['messages']): number {
  let characters = 0;
  let parts = 0;
  for (const { content } of messages) {
    if (typeof content === 'string') characters += content.length;
    else
      for (const part of content ?? []) {
        if (typeof part.text === 'string') characters += part.text.length;
        else parts++;
      }
  }
  return tokensOfText(characters) + parts * PART_TOKENS;
}

/** Tokens of a call by estimate: its text, and as much of an answer as it allows. */
const tokensOf = (messages: ModelCall['messages'], parameters: Record<string, unknown>): number =>
  tokensOfMessages(messages) + answerTokens(parameters);

/** As many tokens as a request allows an answer, by estimate where it says none. */
export function answerTokens(parameters: Record<string, unknown>): number {
  const allowed = parameters.max_tokens ?? parameters.max_completion_tokens;
  return typeof allowed === 'number' ? allowed : ANSWER_TOKENS;
}
