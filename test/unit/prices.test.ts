import { fc, test as propertyTest } from '@fast-check/vitest';
import { calcPrice } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import { openPrices, type PricedCall } from '../../shared/prices/openPrices.ts';
import { costUsd } from '../../shared/prices/rates.ts';

const { costOf } = openPrices({ list: async () => [] });
const MILLION = 1_000_000;
const call = (model: string, usage: Partial<PricedCall> = {}): PricedCall => ({
  model,
  at: '2026-11-01T12:00:00.000000Z',
  inputTokens: MILLION,
  outputTokens: 0,
  ...usage,
});

test('a model is found in any spelling of its name, behind a gateway and as a snapshot; an unknown one has no cost', () => {
  const spellings = [
    'gpt-4o-mini',
    'GPT-4o mini',
    'OpenAI/GPT 4o Mini 2024-07-18',
    'gpt_4o_mini@20240718',
    'my-gateway/gpt-4o-mini',
  ];
  for (const model of spellings) expect(costOf(call(model, { outputTokens: MILLION })), model).toBeCloseTo(0.75);
  expect(costOf(call('claude-3-5-haiku-latest'))).toBeCloseTo(0.8);
  expect(costOf(call('Claude Opus 4.5'))).toBeCloseTo(5);
  expect(costOf(call('us.anthropic.claude-sonnet-4-20250514-v1:0'))).toBeCloseTo(3);
  for (const model of ['my-own-model', 'gpt-4o-minimal', 'constructor', '__proto__', '', ' ', '/'])
    expect(costOf(call(model)), model).toBeNull();
});

test('the provider that a name begins with says the price', () => {
  expect(costOf(call('groq/llama-3.3-70b-versatile'))).toBeCloseTo(0.59);
  expect(costOf(call('llama-3.3-70b-versatile'))).toBeNull();
});

test('the price of the day of the call counts', () => {
  expect(costOf(call('o3', { at: '2025-06-01T00:00:00Z' }))).toBeCloseTo(10);
  expect(costOf(call('o3', { at: '2025-07-01T00:00:00Z' }))).toBeCloseTo(2);
});

test('tokens of a cache are counted once, and long contexts have prices of their own', () => {
  expect(costOf(call('gpt-4o', { cachedInputTokens: 0.4 * MILLION }))).toBeCloseTo(0.6 * 2.5 + 0.4 * 1.25);
  expect(costOf(call('claude-haiku-4-5', { cachedInputTokens: 0.5 * MILLION, cacheWriteTokens: 0.3 * MILLION }))).toBeCloseTo(
    0.2 * 1 + 0.5 * 0.1 + 0.3 * 1.25,
  );
  expect(costOf(call('gemini-2.5-pro', { inputTokens: 200_000 }))).toBeCloseTo(0.2 * 1.25);
  expect(costOf(call('gemini-2.5-pro', { inputTokens: 200_001, outputTokens: 1_000 }))).toBeCloseTo(0.200001 * 2.5 + 0.001 * 15);
});

test('reasoning, audio and calls have prices of their own where a model has them', () => {
  const rates = { input: 1, output: 2, reasoning: 8, audioInput: 10, call: 0.5 };
  const usage = { inputTokens: MILLION, audioInputTokens: 0.5 * MILLION, outputTokens: MILLION, reasoningTokens: 0.25 * MILLION };
  expect(costUsd(rates, usage)).toBeCloseTo(0.5 + 5 + 0.75 * 2 + 0.25 * 8 + 0.5);
  // Counts that were made in another way never make a call cost more tokens than it has.
  expect(costUsd({ input: 1, cachedInput: 0.5 }, { inputTokens: 10, cachedInputTokens: 50 })).toBeCloseTo(5e-6);
});

test('a count that is missing and has a price leaves the cost unknown', () => {
  expect(costOf(call('gpt-4o', { inputTokens: undefined, outputTokens: 5 }))).toBeNull();
  expect(costOf(call('gpt-4o', { outputTokens: undefined }))).toBeNull();
  expect(costOf(call('text-embedding-3-small', { outputTokens: undefined }))).toBeCloseTo(0.02);
});

const models = [
  ['openai', 'gpt-4.1'],
  ['openai', 'gpt-5.6-sol'],
  ['openai', 'o3'],
  ['anthropic', 'claude-opus-4-6'],
  ['anthropic', 'claude-haiku-4-5'],
  ['google', 'gemini-2.5-pro'],
  ['deepseek', 'deepseek-chat'],
  ['perplexity', 'sonar'],
] as const;
const share = fc.double({ min: 0, max: 0.5, noNaN: true });
propertyTest.prop([
  fc.constantFrom(...models),
  fc.nat({ max: MILLION }),
  share,
  share,
  fc.nat({ max: MILLION }),
  fc.date({ min: new Date('2023-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }),
])(
  'a call costs what the package that has the list makes of it',
  ([providerId, model], inputTokens, cached, written, outputTokens, at) => {
    const [cachedInputTokens, cacheWriteTokens] = [Math.floor(inputTokens * cached), Math.floor(inputTokens * written)];
    const usage = {
      input_tokens: inputTokens,
      cache_read_tokens: cachedInputTokens,
      cache_write_tokens: cacheWriteTokens,
      output_tokens: outputTokens,
    };
    const expected = calcPrice(usage, model, { providerId, timestamp: at })?.total_price;
    const cost = costOf({ model, at: at.toISOString(), inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens });
    expect(cost).toBeCloseTo(expected as number, 9);
  },
);
