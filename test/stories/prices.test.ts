import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { costUsd } from '../../shared/providers/prices.ts';

test('a call of a known model has a cost, of an unknown one none', () => {
  expect(costUsd({ model: 'gpt-4o-mini', inputTokens: 1_000_000, outputTokens: 1_000_000 })).toBeCloseTo(0.75);
  expect(costUsd({ model: 'openai/gpt-4o-mini-2024-07-18', inputTokens: 1_000_000, outputTokens: 0 })).toBeCloseTo(0.15);
  expect(costUsd({ model: 'claude-3-5-haiku-latest', inputTokens: 1_000_000, outputTokens: 0 })).toBeCloseTo(0.8);
  for (const model of ['GPT-4o mini', 'OpenAI/GPT 4o Mini 2024-07-18', 'gpt_4o_mini@20240718'])
    expect(costUsd({ model, inputTokens: 1_000_000, outputTokens: 1_000_000 }), model).toBeCloseTo(0.75);
  for (const model of ['my-own-model', 'gpt-4o-audio-preview', 'gpt-4o-minimal', 'constructor', ''])
    expect(costUsd({ model, inputTokens: 1, outputTokens: 1 })).toBeNull();
});

test('cached tokens are not counted twice', () => {
  expect(costUsd({ model: 'gpt-4o', inputTokens: 1_000_000, cachedInputTokens: 400_000, outputTokens: 0 })).toBeCloseTo(
    0.6 * 2.5 + 0.4 * 1.25,
  );
  const claude = {
    model: 'claude-haiku-4-5',
    inputTokens: 1_000_000,
    cachedInputTokens: 500_000,
    cacheWriteTokens: 300_000,
    outputTokens: 0,
  };
  expect(costUsd(claude)).toBeCloseTo(0.2 * 1 + 0.5 * 0.1 + 0.3 * 1.25);
});

const tokens = fc.integer({ min: 0, max: 1_000_000 });
propertyTest.prop([tokens, tokens, tokens])(
  'reading from the cache never costs more than plain input, nor less than nothing',
  (input, cached, output) => {
    const plain = costUsd({ model: 'gpt-4.1', inputTokens: input, outputTokens: output }) as number;
    const fromCache = costUsd({
      model: 'gpt-4.1',
      inputTokens: input,
      cachedInputTokens: cached,
      outputTokens: output,
    }) as number;
    expect(fromCache).toBeLessThanOrEqual(plain + 1e-9);
    expect(fromCache).toBeGreaterThanOrEqual(0);
  },
);
