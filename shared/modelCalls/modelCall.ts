import type { CallLimits, WaitReason } from '../coordination/coordination.ts';
import type { AnswerPiece, AssistantMessage, ChatMessage } from '../providers/chatMessage.ts';
import type { AttemptOutcome } from '../providers/failures.ts';
import type { ModelSettings } from '../providers/parameters.ts';
import type { CallContext } from '../providers/provider.ts';
import type { RetryRules } from './limitedCall.ts';
import type { ResolvedModel } from './models.ts';

export interface ModelCall {
  modelAlias: string | null | undefined;
  integrationName?: string | null | undefined;
  messages: readonly ChatMessage[];
  /** True to have the messages, which are texts, embedded in place of answered: the answer's text is a JSON list of vectors. */
  embeds?: boolean | undefined;
  settings: ModelSettings;
  context: CallContext;
  signal: AbortSignal;
  /** Called when a wait for a slot, a rate or a retry begins; what it gives, when that wait is over. */
  waiting?: (() => () => void) | undefined;
  /** Ends waits alone, before `signal` ends everything; where it is absent `signal` does. */
  stopping?: AbortSignal | undefined;
  /** Asked before each try, when its permits are had: the call rejects as this does. */
  confirm?: (() => Promise<void>) | undefined;
  /** Memory for large answers, which others share. It is taken before such an answer is read. */
  memory?: { take(bytes: number, signal: AbortSignal): Promise<void> } | undefined;
  retry?: Partial<RetryRules> | undefined;
  /** Milliseconds for all tries together; waits do not count. 300,000 where it is absent. */
  timeLimitMs?: number | undefined;
  /** True of settings as they are stored, in which the interface's defaults fill the fields that the caller left out. */
  areFilledIn?: boolean | undefined;
  /** True where the settings are only preferred: those that the endpoint refuses are left out. Else the call fails, but for another name of the same. */
  mayLeaveOut?: boolean | undefined;
  /** True to ask for the log probabilities of the answer's tokens, where the endpoint speaks the protocol that has them. It may refuse: then there are none. */
  wantsLogProbabilities?: boolean | undefined;
  /** The same of the tokens of the prompt, which only some servers give. */
  wantsPromptLogProbabilities?: boolean | undefined;
  /** True where the integration may have been changed a moment ago: it is read again. */
  isJustChanged?: boolean | undefined;
  /** Has the answer sent while the model writes it. Without it the answer is asked for whole. */
  stream?: AnswerStream | undefined;
  /** Limits of the run in place of the integration's; they need `context.runId`. */
  limits?: Partial<CallLimits> | undefined;
}

/** Hears of an answer while it comes. Once it has heard a piece the call is not tried again. An endpoint that does not stream gives one piece. */
export interface AnswerStream {
  piece(piece: AnswerPiece): void;
  /** Called before the call rejects, when a try was made: what had come of the answer of the last one, and what that cost where it is known. */
  brokenOff(partial: ModelAnswer): void;
}

export interface ModelAnswer {
  message: AssistantMessage;
  text: string;
  /** Thoughts of the model before its answer. They are no part of the text. Null where nothing is shown of them. */
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
  /** Reasoning tokens among the output tokens. */
  reasoningTokens: number | null;
  /** One for each token of the answer; null where the endpoint gives none. */
  logProbabilities: readonly number[] | null;
  /** Their mean; an endpoint may give that alone. */
  averageLogProbability: number | null;
  /** One for each token of the prompt but the first; null where the endpoint gives none. */
  promptLogProbabilities: readonly number[] | null;
  /** The successful try alone: no wait, no earlier try, no token request. */
  durationNs: number;
  attempts: Attempt[];
  /** Parts of the request that were sent otherwise than asked for, because the endpoint does not take them so. */
  adjustments: readonly string[];
  /** In US dollars; null when the price or the token counts are unknown. */
  costUsd: number | null;
  /** Null where the cost is. */
  priceSource: 'integration' | 'list' | null;
  /** From the start of that try until the first piece of the answer; null where it was not streamed. */
  timeToFirstTokenNs: number | null;
}

export interface ModelCaller {
  /**
   * Finds the model a call would use; also asked before a run starts.
   * @param userId for whom the call is made, whose choice of integrations counts
   * @throws ServiceError `ModelUnknown` or `IntegrationNotFound`, naming what is known.
   */
  resolveModel(
    modelAlias: string | null | undefined,
    integrationName?: string | null,
    userId?: string | null,
  ): Promise<ResolvedModel>;
  /** Settings that this model is not sent although they are asked for; none where no model is found. */
  unsentSettings(settings: ModelSettings, userId: string): Promise<string[]>;
  /** @throws ModelCallError; ServiceError when our own stores or keys are at fault; the reason of a signal when it aborts. */
  complete(call: ModelCall): Promise<ModelAnswer>;
}

/** One try of a call. Times are milliseconds since the epoch and hold the try alone, never a wait. */
export interface Attempt {
  startedAt: number;
  endedAt: number;
  outcome: AttemptOutcome;
  status?: number;
  /** The wait of this try before its start, and the reason: `retry` is the pause after a try that failed. */
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
