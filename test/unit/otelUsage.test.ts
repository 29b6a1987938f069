import { describe, expect, test } from 'vitest';
import { Attributes, type AttributeValue } from '../../shared/otel/attributes.ts';
import { readUsage } from '../../shared/otel/usage.ts';

const call = { kind: 'llm', callsModel: true } as const;
const usageOf = (attributes: { [name: string]: AttributeValue }, role: Parameters<typeof readUsage>[1] = call) =>
  readUsage(Attributes.of(Object.entries(attributes)), role);
const json = JSON.stringify;

/** 1,000 tokens in, of which 800 were read from a cache and 100 written to it, and 50 out, of which 30 were reasoning. */
const whole = {
  inputTokens: 1000,
  outputTokens: 50,
  totalTokens: 1050,
  cachedTokens: 800,
  cacheWriteTokens: 100,
  reasoningTokens: 30,
};

describe('what a call used is read in the words of', () => {
  test.each<[string, { [name: string]: AttributeValue }]>([
    [
      'OpenTelemetry',
      {
        'gen_ai.usage.input_tokens': 1000,
        'gen_ai.usage.output_tokens': 50,
        'gen_ai.usage.cache_read.input_tokens': 800,
        'gen_ai.usage.cache_creation.input_tokens': 100,
        'gen_ai.usage.reasoning.output_tokens': 30,
      },
    ],
    [
      'Anthropic',
      {
        'gen_ai.usage.input_tokens': 1000,
        'gen_ai.usage.output_tokens': 50,
        'gen_ai.usage.cache_read_tokens': 800,
        'gen_ai.usage.cache_write.input_tokens': 100,
        'gen_ai.usage.thinking_tokens': 30,
      },
    ],
    [
      'Strands, beside the cache',
      {
        'gen_ai.usage.prompt_tokens': 100,
        'gen_ai.usage.completion_tokens': 50,
        'gen_ai.usage.cache_read_input_tokens': 800,
        'gen_ai.usage.cache_write_input_tokens': 100,
        'gen_ai.usage.details.reasoning_tokens': 30,
      },
    ],
    [
      'OpenLIT',
      {
        'gen_ai.usage.input_tokens': 1000,
        'gen_ai.usage.output_tokens': 50,
        'gen_ai.usage.prompt_tokens_details.cached_tokens': 800,
        'gen_ai.usage.prompt_tokens_details.cache_creation_tokens': 100,
        'gen_ai.usage.completion_tokens_details.reasoning_tokens': 30,
      },
    ],
    [
      'OpenInference',
      {
        'llm.token_count.prompt': 1000,
        'llm.token_count.completion': 50,
        'llm.token_count.prompt_details.cache_read': 800,
        'llm.token_count.prompt_details.cache_write': 100,
        'llm.token_count.completion_details.reasoning': 30,
      },
    ],
    [
      'AI SDK 6',
      {
        'ai.usage.inputTokens': 1000,
        'ai.usage.outputTokens': 50,
        'ai.usage.inputTokenDetails.noCacheTokens': 100,
        'ai.usage.inputTokenDetails.cacheReadTokens': 800,
        'ai.usage.inputTokenDetails.cacheWriteTokens': 100,
        'ai.usage.outputTokenDetails.reasoningTokens': 30,
      },
    ],
    [
      'AI SDK 5 with Anthropic',
      {
        'ai.usage.promptTokens': 100,
        'ai.usage.completionTokens': 50,
        'ai.usage.reasoningTokens': 30,
        'ai.response.providerMetadata': json({
          anthropic: { usage: { input_tokens: 100, cache_creation_input_tokens: 100, cache_read_input_tokens: 800 } },
        }),
      },
    ],
    [
      'AI SDK 7',
      {
        'ai.response.usage': json({
          inputTokens: 1000,
          inputTokenDetails: { noCacheTokens: 100, cacheReadTokens: 800, cacheWriteTokens: 100 },
          outputTokens: 50,
          outputTokenDetails: { textTokens: 20, reasoningTokens: 30 },
          totalTokens: 1050,
        }),
      },
    ],
    [
      'LangSmith',
      {
        'langsmith.usage_metadata': json({
          input_tokens: 1000,
          output_tokens: 50,
          total_tokens: 1050,
          input_token_details: { cache_read: 800, cache_creation: 100 },
          output_token_details: { reasoning: 30 },
        }),
      },
    ],
    [
      'LangSmith, with dictionaries of Python',
      {
        'gen_ai.usage.input_tokens': 1000,
        'gen_ai.usage.output_tokens': 50,
        'gen_ai.usage.input_token_details': "{'cache_read': 800, 'cache_creation': 100, 'audio': None}",
        'gen_ai.usage.output_token_details': "{'reasoning': 30}",
      },
    ],
    [
      'Langfuse',
      {
        'langfuse.observation.usage_details': json({
          input: 100,
          output: 50,
          total: 1050,
          input_cached_tokens: 800,
          cache_creation_input_tokens: 100,
          output_reasoning_tokens: 30,
        }),
      },
    ],
    [
      'MLflow',
      {
        'mlflow.chat.tokenUsage': json({
          input_tokens: 1000,
          output_tokens: 50,
          total_tokens: 1050,
          cache_read_input_tokens: 800,
          cache_creation_input_tokens: 100,
          reasoning_tokens: 30,
        }),
      },
    ],
    [
      'Claude Code',
      {
        input_tokens: 100,
        output_tokens: 50,
        cache_read_tokens: 800,
        cache_creation_tokens: 100,
        'x.usage.reasoning_tokens': 30,
      },
    ],
    [
      'Braintrust',
      {
        'braintrust.metrics': json({
          ...{ tokens: 1050, prompt_tokens: 1000, completion_tokens: 50, prompt_cached_tokens: 800, start: 1_770_000_000.5 },
          ...{ prompt_cache_creation_tokens: 100, completion_reasoning_tokens: 30 },
        }),
      },
    ],
    [
      'Genkit',
      {
        'genkit:output': json({
          message: { content: [] },
          usage: { inputTokens: 1000, outputTokens: 50, cachedContentTokens: 800, thoughtsTokens: 30 },
        }),
        'gen_ai.usage.cache_write_tokens': 100,
      },
    ],
  ])('%s', (_, attributes) => {
    const usage = usageOf(attributes);
    expect(Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== undefined))).toEqual(whole);
  });

  test('sound and pictures', () => {
    expect(
      usageOf({
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 10,
        'gen_ai.usage.audio.input_tokens': 4,
        'gen_ai.usage.audio.output_tokens': 3,
        'gen_ai.usage.audio.cache_read.input_tokens': 1,
        'gen_ai.usage.image.input_tokens': 2,
        'gen_ai.usage.text.input_tokens': 4,
      }),
    ).toMatchObject({ audioInputTokens: 4, audioOutputTokens: 3, imageInputTokens: 2, inputTokens: 10 });
  });
});

test('what counts something else is no usage', () => {
  const others = {
    'gen_ai.request.max_tokens': 5,
    'gen_ai.usage.cache_miss_tokens': 5,
    'gen_ai.usage.details.accepted_prediction_tokens': 5,
    'disk.usage.total': 5,
    'shipping.cost': 5,
    'llm.cost.prompt_details.cache_read': 5,
    'gen_ai.usage.output_tokens': -1,
    'llm.token_count.prompt': Number.NaN,
    'operation.cost': 'none',
  };
  const attributes = Attributes.of(Object.entries(others));
  expect(readUsage(attributes, call)).toBeUndefined();
  expect(attributes.rest()).toHaveLength(Object.keys(others).length);
  expect(usageOf({ input_tokens: 5 }, { kind: 'workflow', callsModel: false })).toBeUndefined();
});

describe('the cost that was sent', () => {
  test.each<[string, AttributeValue, number]>([
    ['operation.cost', 0.36, 0.36],
    ['gen_ai.usage.cost', '0.36', 0.36],
    ['gen_ai.usage.total_cost', 0.36, 0.36],
    ['gen_ai.cost.total_cost', 0.36, 0.36],
    ['llm.cost.total', 0.36, 0.36],
    ['llm.response.cost', 0.36, 0.36],
    ['litellm.cost.usd', 0.36, 0.36],
    ['langfuse.observation.cost_details', json({ input: 0.3, output: 0.06 }), 0.36],
    ['langfuse.observation.cost_details', json({ input: 0.1, total: 0.36 }), 0.36],
    ['mlflow.llm.cost', json({ input_cost: 0.3, output_cost: 0.06, total_cost: 0.36 }), 0.36],
    ['langsmith.usage_metadata', json({ input_tokens: 5, total_cost: 0.36 }), 0.36],
    ['ai.response.providerMetadata', json({ openrouter: { usage: { cost: 0.36 } } }), 0.36],
    ['ai.response.providerMetadata', json({ gateway: { cost: '0.36' } }), 0.36],
  ])('%s: %s', (name, value, costUsd) => {
    expect(usageOf({ [name]: value })?.costUsd).toBeCloseTo(costUsd, 12);
  });
});

describe('parts beside the whole are added to it', () => {
  const output = (usage: { [name: string]: number }) =>
    usageOf(Object.fromEntries(Object.entries(usage).map(([name, value]) => [`gen_ai.usage.${name}`, value])));
  test.each([
    [
      'the total is the sum of all',
      { input_tokens: 1000, output_tokens: 20, reasoning_tokens: 30, total_tokens: 1050 },
      1000,
      50,
      1050,
    ],
    ['the part is more than the whole', { input_tokens: 1000, output_tokens: 20, reasoning_tokens: 30 }, 1000, 50, 1050],
    [
      'both sides',
      { input_tokens: 200, cached_tokens: 100, output_tokens: 40, reasoning_tokens: 30, total_tokens: 370 },
      300,
      70,
      370,
    ],
    [
      'the total says that it is within',
      { input_tokens: 200, cached_tokens: 100, output_tokens: 40, reasoning_tokens: 30, total_tokens: 240 },
      200,
      40,
      240,
    ],
    [
      'no total: as the convention has it',
      { input_tokens: 200, cached_tokens: 100, output_tokens: 40, reasoning_tokens: 30 },
      200,
      40,
      240,
    ],
    ['a total with more than is said', { input_tokens: 1000, output_tokens: 20, total_tokens: 1050 }, 1000, 20, 1050],
    ['a total that is too small', { input_tokens: 1000, output_tokens: 20, total_tokens: 7 }, 1000, 20, 1020],
  ] as const)('%s', (_, usage, inputTokens, outputTokens, totalTokens) => {
    expect(output(usage)).toMatchObject({ inputTokens, outputTokens, totalTokens });
  });
});
