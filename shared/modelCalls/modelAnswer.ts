import type { HandlerAnswer } from '../providers/handlers/customHandler.ts';
import type { ModelAnswer } from './modelCall.ts';
import type { CallableModel } from './models.ts';

type Measured = ReturnType<typeof tokensOf> &
  Pick<ModelAnswer, 'costUsd' | 'priceSource' | 'durationNs' | 'timeToFirstTokenNs' | 'attempts' | 'adjustments'>;

/** Returns the answer of a call with what was measured of it. */
export function toModelAnswer(
  answer: HandlerAnswer,
  model: CallableModel,
  { inputTokens, outputTokens, totalTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens, ...measured }: Measured,
): ModelAnswer {
  const isCounted = inputTokens !== undefined && outputTokens !== undefined;
  return {
    message: {
      role: 'assistant',
      content: answer.content,
      ...(answer.toolCalls && answer.toolCalls.length > 0 && { tool_calls: answer.toolCalls }),
    },
    text: answer.content,
    reasoning: typeof answer.reasoning === 'string' ? answer.reasoning : null,
    refusal: typeof answer.refusal === 'string' ? answer.refusal : null,
    model: typeof answer.model === 'string' ? answer.model : model.name,
    finishReason: typeof answer.finishReason === 'string' ? answer.finishReason : null,
    inputTokens: inputTokens ?? null,
    outputTokens: outputTokens ?? null,
    totalTokens: isCounted ? inputTokens + outputTokens : (totalTokens ?? null),
    cachedInputTokens: cachedInputTokens ?? null,
    cacheWriteTokens: cacheWriteTokens ?? null,
    reasoningTokens: reasoningTokens ?? null,
    logProbabilities: isNumbers(answer.logProbabilities) ? answer.logProbabilities : null,
    averageLogProbability: typeof answer.averageLogProbability === 'number' ? answer.averageLogProbability : null,
    promptLogProbabilities: isNumbers(answer.promptLogProbabilities) ? answer.promptLogProbabilities : null,
    ...measured,
  };
}

const isNumbers = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'number');

/** Returns the numbers of tokens that an answer gives. */
export const tokensOf = (answer: HandlerAnswer) => ({
  inputTokens: tokenCount(answer.inputTokens),
  outputTokens: tokenCount(answer.outputTokens),
  totalTokens: tokenCount(answer.totalTokens),
  cachedInputTokens: tokenCount(answer.cachedInputTokens),
  cacheWriteTokens: tokenCount(answer.cacheWriteTokens),
  reasoningTokens: tokenCount(answer.reasoningTokens),
});

/** A count as a handler or an endpoint says it, in whole tokens; undefined for what is none. */
const tokenCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : undefined;
