import type { CallLimits, WaitReason } from '../coordination/coordination.ts';
import type { AssistantMessage, ChatMessage } from './chatMessage.ts';
import type { RetryRules } from './limitedCall.ts';
import type { ResolvedModel } from './models.ts';
import type { ModelSettings } from './parameters.ts';
import type { CallContext } from './provider.ts';

export interface ModelCall {
  modelAlias: string | null | undefined;
  integrationName?: string | null | undefined;
  messages: readonly ChatMessage[];
  settings: ModelSettings;
  context: CallContext;
  signal: AbortSignal;
  /** Called when a wait for a slot, a rate or a retry begins; what it gives, when that wait is over. */
  waiting?: (() => () => void) | undefined;
  /** Ends waits alone, before `signal` ends everything; where it is absent `signal` does. */
  stopping?: AbortSignal | undefined;
  /** Asked before each try, when its permits are had: the call rejects as this does. */
  confirm?: (() => Promise<void>) | undefined;
  /** What is asked before a large answer is read, where others share the memory for those. */
  memory?: { take(bytes: number, signal: AbortSignal): Promise<void> } | undefined;
  retry?: Partial<RetryRules> | undefined;
  /** Milliseconds for all tries together; waits do not count. 300,000 where it is absent. */
  timeLimitMs?: number | undefined;
  /** True of settings as they are stored, in which the interface's defaults stand for what nobody asked for. */
  areFilledIn?: boolean | undefined;
  /** True where the settings are only preferred: those that the endpoint refuses are left out. Else the call fails, but for another name of the same. */
  mayLeaveOut?: boolean | undefined;
  /** What the run sets instead of the integration's limits; needs `context.runId`. */
  limits?: Partial<CallLimits> | undefined;
}

export interface ModelAnswer {
  message: AssistantMessage;
  text: string;
  /** What the model thought before it answered: no part of the text. Null where nothing is shown of it. */
  reasoning: string | null;
  /** The model's words where it refused to answer; the text says them too. */
  refusal: string | null;
  /** As the endpoint names it, or else as it was asked for. */
  model: string;
  finishReason: string | null;
  /** Token counts are null where the endpoint gives none. Input tokens include cached ones. */
  inputTokens: number | null;
  outputTokens: number | null;
  totalTokens: number | null;
  cachedInputTokens: number | null;
  cacheWriteTokens: number | null;
  /** Of the output tokens. */
  reasoningTokens: number | null;
  /** The successful try alone: no wait, no earlier try, no token request. */
  durationNs: number;
  attempts: Attempt[];
  /** What was sent otherwise than it was asked for, because the endpoint does not take it so. */
  adjustments: readonly string[];
  /** In US dollars; null when the price or the token counts are unknown. */
  costUsd: number | null;
}

export interface ModelCaller {
  /**
   * Finds the model a call would use; also asked before a run starts.
   * @throws ServiceError `ModelUnknown` or `IntegrationNotFound`, naming what is known.
   */
  resolveModel(modelAlias: string | null | undefined, integrationName?: string | null): Promise<ResolvedModel>;
  /** Settings that this model is not sent although they are asked for; none where no model is found. */
  unsentSettings(settings: ModelSettings): Promise<string[]>;
  /** @throws ModelCallError; ServiceError when our own stores or keys are at fault; the reason of a signal when it aborts. */
  complete(call: ModelCall): Promise<ModelAnswer>;
}

export type AttemptOutcome =
  | 'ok'
  | 'rate_limited'
  | 'http_error'
  | 'unauthorized'
  | 'timeout'
  | 'connection_error'
  | 'malformed_answer'
  | 'refused'
  | 'handler_error'
  | 'cancelled';

/** One try of a call. Times are milliseconds since the epoch and hold the try alone, never a wait. */
export interface Attempt {
  startedAt: number;
  endedAt: number;
  outcome: AttemptOutcome;
  status?: number;
  /** What this try had to wait for before it started, and how long: `retry` is the pause after a try that failed. */
  waited?: { ms: number; reason: WaitReason | 'retry' };
}

/** A model call that failed for good. The message is written here: it never holds what the other side sent, nor a secret. */
export class ModelCallError extends Error {
  /** False when the same call may work later. */
  readonly permanent: boolean;
  readonly status: number | undefined;
  readonly attempts: readonly Attempt[];
  /** The provider is down or refuses whatever it is asked: the next call will most likely fail as well. */
  readonly isOfProvider: boolean;
  /** The quota or the credit is used up, or a wait of hours is asked for. */
  readonly isExhausted: boolean;

  constructor(
    message: string,
    details: {
      permanent: boolean;
      status?: number | undefined;
      attempts: readonly Attempt[];
      isOfProvider: boolean;
      isExhausted: boolean;
    },
  ) {
    super(message);
    this.isExhausted = details.isExhausted;
    this.isOfProvider = details.isOfProvider;
    this.name = 'ModelCallError';
    this.permanent = details.permanent;
    this.status = details.status;
    this.attempts = details.attempts;
  }
}
