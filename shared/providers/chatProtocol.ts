import type { Fields } from '../wire/isObject.ts';

/** A protocol other than OpenAI's, as a translation from and into its chat completions. What it has no word for stays unsaid, never guessed. */
export interface ChatProtocol {
  /** True where an answer can say how probable its tokens were. */
  hasLogProbabilities?: true;
  /**
   * The request in this protocol.
   * @param body a chat completion request
   * @throws AttemptFailure naming a field of `body` that this protocol cannot say
   */
  toRequest(body: Fields): Fields;
  /** An answer as a chat completion, an error as an object with `error`; what is neither stays as it is. */
  toCompletion(said: unknown): unknown;
  /** The pieces of a streamed answer as those of a chat completion; an error that comes between them is `{ error }`, and `[DONE]` the mark that ends a stream. */
  pieces(parts: AsyncIterable<Uint8Array>): AsyncIterable<unknown>;
  /** The answer of a refused request as OpenAI's endpoints say it: a code, and the names that the fields have in a chat completion request. A `status` that is a number counts instead of that of the answer. */
  toError(said: unknown, headers: Headers): unknown;
}
