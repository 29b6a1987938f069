import { type Fields, isObject } from '../wire/isObject.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import { AttemptFailure } from './failures.ts';

/**
 * Embeddings as OpenAI's endpoints have them, in the form of a chat completion: the messages are the texts, the answer is a JSON list of their vectors.
 * So they go through the same retries, limits and prices as every call. https://platform.openai.com/docs/api-reference/embeddings
 */
export const embeddings: ChatProtocol = {
  toRequest: ({ model, messages }) => ({ model, input: (messages as Fields[]).map(({ content }) => content) }),
  toCompletion(said) {
    if (!isObject(said) || !Array.isArray(said.data)) return said;
    const { model, usage } = said;
    const inOrder = said.data.filter(isObject).toSorted((one, other) => Number(one.index ?? 0) - Number(other.index ?? 0));
    return {
      model,
      choices: [
        { message: { content: JSON.stringify(inOrder.map(({ embedding }) => embedding ?? null)) }, finish_reason: 'stop' },
      ],
      ...(isObject(usage) && { usage: { completion_tokens: 0, ...usage } }),
    };
  },
  toError: (said) => said,
  // biome-ignore lint/correctness/useYield: an embedding never comes in pieces
  async *pieces() {
    throw new Error('embeddings are not streamed');
  },
};

/** The address of embeddings beside that of chat completions. @throws AttemptFailure where the latter is not OpenAI's */
export function embeddingsUrl(completions: string): string {
  const url = new URL(completions);
  if (!url.pathname.endsWith('/chat/completions'))
    throw new AttemptFailure('refused', 'the integration has no embeddings beside its chat completions', { retry: false });
  url.pathname = url.pathname.replace(/chat\/completions$/, 'embeddings');
  return url.href;
}
