import type { SpanFields } from './spans.ts';

type Tree = Record<string, unknown>;

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null;
/** The AI SDK's models list the parts of a count beside its `total`. */
const numberIn = (usage: Tree, names: readonly string[]): number | undefined =>
  names
    .map((name) => (isTree(usage[name]) ? usage[name].total : usage[name]))
    .find((value): value is number => typeof value === 'number');

/**
 * Model and tokens that the answer of a model says of itself, or one of the pieces of a stream: under the names of OpenAI, Anthropic and the AI SDK, in
 * `usage` of the piece, or of the `message` or `response` in it.
 */
export function modelCallOf(result: unknown, pieces: readonly unknown[] = []): SpanFields {
  const found: SpanFields = {};
  // The last piece knows best.
  for (const piece of [...pieces, result].reverse()) {
    if (!isTree(piece)) continue;
    for (const part of [piece, piece.message, piece.response]) {
      if (!isTree(part)) continue;
      if (typeof part.model === 'string') found.model ??= part.model;
      const usage = part.usage ?? part.usage_metadata;
      if (!isTree(usage)) continue;
      const inputTokens = numberIn(usage, ['prompt_tokens', 'input_tokens', 'inputTokens', 'promptTokens']);
      const outputTokens = numberIn(usage, ['completion_tokens', 'output_tokens', 'outputTokens', 'completionTokens']);
      if (inputTokens !== undefined) found.inputTokens ??= inputTokens;
      if (outputTokens !== undefined) found.outputTokens ??= outputTokens;
    }
    if (found.model !== undefined && found.inputTokens !== undefined && found.outputTokens !== undefined) break;
  }
  return found;
}
