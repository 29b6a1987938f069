import { modelKey } from './findModel.ts';

/** US dollars per million tokens. */
interface Price {
  input: number;
  /** Input read from the provider's cache; absent: the price of input. */
  cachedInput?: number;
  /** Input written to the provider's cache; absent: the price of input. */
  cacheWrite?: number;
  output: number;
}

/**
 * List prices of well-known models for ordinary (not batch) calls, as known in November 2026; those of GPT-5.2 and later, and of Claude 5.5, were read
 * in reports of the providers' pages of June to October. Models whose price depends on more than the number of tokens (length tiers, audio, region,
 * offers for a time), or of which a part is not known, are left out: no cost is better than a wrong one.
 */
const prices: ReadonlyMap<string, Price> = new Map(
  Object.entries({
    // https://platform.openai.com/docs/pricing
    'gpt-3.5-turbo': { input: 0.5, output: 1.5 },
    'gpt-4-turbo': { input: 10, output: 30 },
    'gpt-4o': { input: 2.5, cachedInput: 1.25, output: 10 },
    'gpt-4o-mini': { input: 0.15, cachedInput: 0.075, output: 0.6 },
    'gpt-4.1': { input: 2, cachedInput: 0.5, output: 8 },
    'gpt-4.1-mini': { input: 0.4, cachedInput: 0.1, output: 1.6 },
    'gpt-4.1-nano': { input: 0.1, cachedInput: 0.025, output: 0.4 },
    'gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 },
    'gpt-5-mini': { input: 0.25, cachedInput: 0.025, output: 2 },
    'gpt-5-nano': { input: 0.05, cachedInput: 0.005, output: 0.4 },
    'gpt-5.1': { input: 1.25, cachedInput: 0.125, output: 10 },
    'gpt-5.2': { input: 1.75, cachedInput: 0.175, output: 14 },
    'gpt-5.4-mini': { input: 0.75, cachedInput: 0.075, output: 4.5 },
    'gpt-5.4-nano': { input: 0.2, cachedInput: 0.02, output: 1.25 },
    o1: { input: 15, cachedInput: 7.5, output: 60 },
    o3: { input: 2, cachedInput: 0.5, output: 8 },
    'o3-mini': { input: 1.1, cachedInput: 0.55, output: 4.4 },
    'o4-mini': { input: 1.1, cachedInput: 0.275, output: 4.4 },
    // https://platform.claude.com/docs/en/about-claude/pricing (cache writes for 5 minutes)
    'claude-3-haiku': { input: 0.25, cachedInput: 0.03, cacheWrite: 0.3, output: 1.25 },
    'claude-3-5-haiku': { input: 0.8, cachedInput: 0.08, cacheWrite: 1, output: 4 },
    'claude-haiku-4-5': { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 },
    'claude-3-7-sonnet': { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 },
    'claude-opus-4': { input: 15, cachedInput: 1.5, cacheWrite: 18.75, output: 75 },
    'claude-opus-4-1': { input: 15, cachedInput: 1.5, cacheWrite: 18.75, output: 75 },
    'claude-opus-4-5': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
    'claude-opus-4-6': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
    'claude-opus-4-7': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
    'claude-opus-4-8': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
    'claude-opus-5': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
    'claude-opus-5-5': { input: 4, cachedInput: 0.2, cacheWrite: 5, output: 20 },
    'claude-sonnet-5': { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10 },
  } satisfies Record<string, Price>).map(([name, price]) => [modelKey(name), price]),
);

export interface TokenUsage {
  model: string;
  /** All input tokens, those read from or written to a cache included. */
  inputTokens: number;
  cachedInputTokens?: number;
  cacheWriteTokens?: number;
  /** All output tokens, reasoning included. */
  outputTokens: number;
}

/**
 * What a call costs at list price, null when the model's price is unknown. Each input token is priced once: as read from the cache, as written
 * to it, or as plain input.
 */
export function costUsd({
  model,
  inputTokens,
  cachedInputTokens = 0,
  cacheWriteTokens = 0,
  outputTokens,
}: TokenUsage): number | null {
  const price = prices.get(priceName(model));
  if (!price) return null;
  const cached = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  const plain = inputTokens - cached - written;
  const millionths =
    plain * price.input +
    cached * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    outputTokens * price.output;
  return millionths / 1e6;
}

/**
 * What a model is priced by: its name in any spelling, without a gateway's prefix (`openai/gpt-4o`) and without the date or `latest` of a snapshot
 * (`gpt-4o-2024-08-06`, `claude-3-5-haiku-20241022`). Any other ending is another model.
 */
const priceName = (model: string): string =>
  modelKey(
    model
      .toLowerCase()
      .replace(/^.*\//, '')
      .replace(/[-@ _](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, ''),
  );
