import { isExact } from '../wire/exactNumber.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { logProbabilityIn } from '../wire/logProbability.ts';
import type { ToolCall } from './chatMessage.ts';
import type { HandlerAnswer } from './handlers/customHandler.ts';

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/**
 * Returns what a chat completion says, as endpoints that speak OpenAI's protocol really write it. It was paid for, so whatever can be understood is kept:
 * tool calls without arguments, ids that are numbers, content in parts, counts that are texts. What is not said stays unknown.
 * @returns undefined where it is no chat completion
 */
export function readCompletion(body: unknown): (HandlerAnswer & { isFailed: boolean; failure: unknown }) | undefined {
  const { choices, model, usage, usageMetadata, x_groq, prompt_eval_count, eval_count, prompt_logprobs } = fieldsOf(body);
  const choice = Array.isArray(choices) ? choices.find(isObject) : undefined;
  if (!choice) return undefined;
  const said = [choice.message, choice.delta].find(isObject);
  if (!said && typeof choice.text !== 'string' && choice.error == null) return undefined;
  const message = said ?? { content: choice.text };
  const texts = textsOf(message);
  const { refusal } = texts;
  const { text, thoughts } = withoutThoughts(texts.text, choice.finish_reason);
  const reasoning = [...texts.reasoning, thoughts].filter((part) => part !== undefined && part !== '').join('\n\n');
  const toolCalls = readToolCalls(message);
  const logProbabilities = readLogProbabilities(choice.logprobs);
  const ofPrompt = readPromptLogProbabilities(prompt_logprobs ?? choice.prompt_logprobs);
  const average = logProbabilityIn(fieldsOf(choice.logprobs).average);
  return {
    content: text === '' && refusal !== undefined ? refusal : text,
    ...(refusal !== undefined && refusal !== '' && { refusal }),
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(logProbabilities !== undefined && { logProbabilities }),
    ...(ofPrompt !== undefined && { promptLogProbabilities: ofPrompt }),
    ...(average !== undefined && { averageLogProbability: average }),
    ...(typeof model === 'string' && { model }),
    ...(typeof choice.finish_reason === 'string' && { finishReason: choice.finish_reason }),
    ...readUsage(
      usage ??
        choice.usage ??
        usageMetadata ??
        fieldsOf(x_groq).usage ?? { prompt_tokens: prompt_eval_count, completion_tokens: eval_count },
    ),
    isFailed: choice.finish_reason === 'error' || (isObject(choice.error) && text === '' && toolCalls.length === 0),
    failure: choice.error,
  };
}

/** The texts of a message, or of a piece of one. */
export function textsOf(message: Fields): { text: string; refusal: string | undefined; reasoning: string[] } {
  const content = readContent(message.content);
  const beside =
    textIn(message.reasoning_content) ??
    textIn(message.reasoning) ??
    textIn(message.thinking) ??
    detailsText(message.reasoning_details);
  const reasoning = [beside ?? '', ...content.reasoning].filter((part) => part !== '');
  // A spoken answer has its transcript beside it.
  const text = content.text === '' ? (textIn(fieldsOf(message.audio).transcript) ?? '') : content.text;
  return { text, refusal: textIn(message.refusal), reasoning };
}

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Reasoning in pieces (OpenRouter: https://openrouter.ai/docs/use-cases/reasoning-tokens); those that are encrypted have no text. */
function detailsText(details: unknown): string | undefined {
  if (!Array.isArray(details)) return undefined;
  return details.map((one) => textIn(fieldsOf(one).text) ?? textIn(fieldsOf(one).summary) ?? '').join('');
}

/** Content is a text, or a list of parts some of which are reasoning (Mistral: https://docs.mistral.ai/capabilities/reasoning). */
function readContent(content: unknown): { text: string; reasoning: string[] } {
  if (content === null || content === undefined) return { text: '', reasoning: [] };
  if (typeof content === 'string') return { text: content, reasoning: [] };
  if (!Array.isArray(content)) {
    const only = textIn(fieldsOf(content).text);
    return { text: only ?? JSON.stringify(content), reasoning: [] };
  }
  const texts: string[] = [];
  const reasoning: string[] = [];
  const others: unknown[] = [];
  for (const part of content) {
    const { type, text, thinking, summary } = fieldsOf(part);
    const words = textIn(part) ?? textIn(text) ?? textIn(fieldsOf(text).value);
    if (type === 'thinking' || type === 'reasoning') reasoning.push(words ?? readContent(thinking ?? summary ?? text).text);
    else if (words !== undefined) texts.push(words);
    else others.push(part);
  }
  const isOther = texts.length === 0 && others.length > 0;
  return { text: isOther ? JSON.stringify(others) : texts.join(''), reasoning };
}

/** Reasoning that a model writes before its answer, where its endpoint does not take it apart. */
const THOUGHTS = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
];

function withoutThoughts(content: string, finishReason: unknown): { text: string; thoughts?: string } {
  for (const { open, close } of THOUGHTS) {
    const start = content.trimStart();
    const end = content.indexOf(close);
    if (start.startsWith(open)) {
      const from = content.length - start.length + open.length;
      if (end >= 0) return { text: content.slice(end + close.length).trimStart(), thoughts: content.slice(from, end).trim() };
      // Cut off while it thought: there is no answer.
      if (finishReason === 'length') return { text: '', thoughts: content.slice(from).trim() };
    } else if (end > 0 && !content.slice(0, end).includes(open) && /^\s*\n/.test(content.slice(end + close.length))) {
      // The template of the chat has opened it.
      return { text: content.slice(end + close.length).trimStart(), thoughts: content.slice(0, end).trim() };
    }
  }
  return { text: content };
}

/** Entries of `logprobs` of a choice, or of a piece of one: `content` or `refusal` of chats, `token_logprobs` of completions. */
export function logProbabilityEntries(logprobs: unknown): readonly unknown[] {
  const { content, refusal, token_logprobs } = fieldsOf(logprobs);
  return [content, refusal, token_logprobs].find(Array.isArray) ?? [];
}

/** Those of the tokens of the answer; undefined where one of them is not said. */
function readLogProbabilities(logprobs: unknown): number[] | undefined {
  const read = logProbabilityEntries(logprobs).map((entry) =>
    logProbabilityIn(isObject(entry) && !isExact(entry) ? entry.logprob : entry),
  );
  return read.length > 0 && read.every((one) => one !== undefined) ? read : undefined;
}

/**
 * vLLM has each token of a prompt under its id, and none for the first one:
 * https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html#extra-parameters_1
 */
function readPromptLogProbabilities(given: unknown): number[] | undefined {
  const entries = (Array.isArray(given) ? given : []).filter((entry, at) => at > 0 || entry !== null);
  const read = entries.map((entry) => {
    const [only, ...others] = Object.values(fieldsOf(entry));
    return others.length === 0 ? logProbabilityIn(fieldsOf(only).logprob) : undefined;
  });
  return read.length > 0 && read.every((one) => one !== undefined) ? read : undefined;
}

/** Calls of tools, and of functions as they were called before them. */
function readToolCalls({ tool_calls, function_call }: Fields): ToolCall[] {
  const calls = Array.isArray(tool_calls) ? tool_calls : isObject(tool_calls) ? [tool_calls] : [];
  const all = calls.length > 0 ? calls : isObject(function_call) ? [{ function: function_call }] : [];
  return all.filter(isObject).map((call, index) => {
    const called = [call.function, call.custom].find(isObject) ?? call;
    const given = called.arguments ?? called.input ?? called.parameters;
    return {
      id:
        typeof call.id === 'string' && call.id !== ''
          ? call.id
          : typeof call.id === 'number' || isExact(call.id)
            ? String(call.id)
            : `call_${index}`,
      type: 'function',
      function: {
        name: textIn(called.name) ?? '',
        arguments: typeof given === 'string' ? given : given === undefined || given === null ? '{}' : JSON.stringify(given),
      },
    };
  });
}

/** Token counts under the names that endpoints give them. Not a count is unknown, never 0. */
function readUsage(given: unknown): Partial<HandlerAnswer> {
  const usage = fieldsOf(given);
  const input = fieldsOf(usage.prompt_tokens_details ?? usage.input_tokens_details ?? usage.prompt_token_details);
  const output = fieldsOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  const ofGemini = sum(firstCount(usage.promptTokenCount), firstCount(usage.toolUsePromptTokenCount));
  const ofPrompt = firstCount(usage.prompt_tokens, usage.promptTokens, ofGemini, usage.prompt_token_count);
  const ofInput = firstCount(usage.input_tokens, usage.inputTokens, usage.input_token_count);
  const read = firstCount(
    ...[input.cached_tokens, usage.prompt_cache_hit_tokens, usage.cache_read_input_tokens, usage.cached_tokens],
    ...[usage.num_cached_tokens, usage.cachedContentTokenCount],
  );
  const written = firstCount(input.cache_write_tokens, input.cache_creation_tokens, usage.cache_creation_input_tokens);
  // Anthropic's own counts leave out what was read from its cache or written to it.
  const isBeside = ofPrompt === undefined && ('cache_read_input_tokens' in usage || 'cache_creation_input_tokens' in usage);
  const counted = isBeside && ofInput !== undefined ? ofInput + (read ?? 0) + (written ?? 0) : (ofPrompt ?? ofInput);
  const thoughts = firstCount(output.reasoning_tokens, output.thinking_tokens, usage.reasoning_tokens, usage.thoughtsTokenCount);
  const total = firstCount(usage.total_tokens, usage.totalTokens, usage.totalTokenCount);
  const said = firstCount(
    ...[usage.completion_tokens, usage.completionTokens, usage.output_tokens, usage.outputTokens, usage.generated_tokens],
  );
  // xAI counts thoughts beside the output, as its total says: https://docs.x.ai/docs/key-information/consumption-and-rate-limits
  const areBeside = thoughts !== undefined && total !== undefined && sum(counted, said, thoughts) === total;
  const generated = areBeside ? sum(said, thoughts) : (said ?? sum(firstCount(usage.candidatesTokenCount), thoughts));
  const inputTokens = counted ?? difference(total, generated);
  const outputTokens = generated ?? difference(total, counted);
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(total !== undefined && { totalTokens: total }),
    ...(read !== undefined && { cachedInputTokens: read }),
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(thoughts !== undefined && { reasoningTokens: thoughts }),
  };
}

const difference = (total: number | undefined, part: number | undefined): number | undefined =>
  total === undefined || part === undefined || part > total ? undefined : total - part;

/** Adds what is counted to the first count, without which there is no sum. */
const sum = (first: number | undefined, ...others: (number | undefined)[]): number | undefined =>
  first === undefined ? undefined : others.reduce<number>((all, one) => all + (one ?? 0), first);

function firstCount(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
    if (typeof count === 'number' && count >= 0 && count <= Number.MAX_SAFE_INTEGER) return Math.round(count);
  }
  return undefined;
}
