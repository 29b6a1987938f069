/** US dollars per million tokens. Above a tier's bound, in input tokens of the call, all of its tokens have the tier's price. */
export type Rate = number | { base: number; tiers: readonly { above: number; price: number }[] };

/** Prices of the tokens of a model. A part without a rate of its own is priced as the whole that it is a part of. */
export interface Rates {
  input?: Rate | undefined;
  cachedInput?: Rate | undefined;
  cacheWrite?: Rate | undefined;
  audioInput?: Rate | undefined;
  imageInput?: Rate | undefined;
  output?: Rate | undefined;
  reasoning?: Rate | undefined;
  audioOutput?: Rate | undefined;
  imageOutput?: Rate | undefined;
  /** US dollars for each call, whatever it holds. */
  call?: number | undefined;
}

/** Tokens of one call. */
export interface TokenUsage {
  /** All input tokens, those read from or written to a cache included. */
  inputTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
  cacheWriteTokens?: number | undefined;
  audioInputTokens?: number | undefined;
  imageInputTokens?: number | undefined;
  /** All output tokens, reasoning included. */
  outputTokens?: number | undefined;
  reasoningTokens?: number | undefined;
  audioOutputTokens?: number | undefined;
  imageOutputTokens?: number | undefined;
}

/**
 * Returns what a call costs, in US dollars. Each token is priced once: as one of a part that has a rate, or else as plain input or output. Null where a count is
 * missing that has a price: no cost is better than one that lacks something.
 */
export function costUsd(rates: Rates, usage: TokenUsage): number | null {
  const { inputTokens, outputTokens } = usage;
  if (rates.input === undefined && rates.output === undefined) return null;
  if (inputTokens === undefined || (outputTokens === undefined && rates.output !== undefined && rates.output !== 0)) return null;
  const priceOf = (rate: Rate | undefined): number | undefined => (rate === undefined ? undefined : priceAt(rate, inputTokens));
  const millionths =
    side(inputTokens, priceOf(rates.input), [
      [usage.cachedInputTokens, priceOf(rates.cachedInput)],
      [usage.cacheWriteTokens, priceOf(rates.cacheWrite)],
      [usage.audioInputTokens, priceOf(rates.audioInput)],
      [usage.imageInputTokens, priceOf(rates.imageInput)],
    ]) +
    side(outputTokens ?? 0, priceOf(rates.output), [
      [usage.reasoningTokens, priceOf(rates.reasoning)],
      [usage.audioOutputTokens, priceOf(rates.audioOutput)],
      [usage.imageOutputTokens, priceOf(rates.imageOutput)],
    ]);
  return millionths / 1e6 + (rates.call ?? 0);
}

const priceAt = (rate: Rate, inputTokens: number): number =>
  typeof rate === 'number' ? rate : (rate.tiers.findLast(({ above }) => inputTokens > above)?.price ?? rate.base);

type Part = readonly [tokens: number | undefined, price: number | undefined];

/** The tokens of one direction. The parts together are at most all of them: what is more is a count that someone made in another way. */
function side(all: number, price: number | undefined, parts: readonly Part[]): number {
  let plain = all;
  let cost = 0;
  for (const [tokens, ofPart] of parts) {
    if (tokens === undefined || ofPart === undefined) continue;
    const counted = Math.min(Math.max(tokens, 0), plain);
    cost += counted * ofPart;
    plain -= counted;
  }
  return cost + plain * (price ?? 0);
}
