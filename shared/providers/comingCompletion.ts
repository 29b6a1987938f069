import { parsedOrNothing } from '../json/parseJson.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import type { AnswerPiece } from './chatMessage.ts';
import type { EventData } from './eventData.ts';
import type { HandlerAnswer } from './handlers/customHandler.ts';
import { logProbabilityEntries, readCompletion, textsOf } from './readCompletion.ts';
import { holdsError } from './readError.ts';

interface ComingCall {
  id: unknown;
  name: string;
  arguments: string[];
}

/** The places in pieces of a completion that give its numbers of tokens. */
const usageFields = ['usage', 'usageMetadata', 'x_groq', 'prompt_eval_count', 'eval_count'] as const;

/**
 * A chat completion that comes in pieces (https://platform.openai.com/docs/api-reference/chat-streaming), as endpoints really send them: usage in any
 * piece, pieces without choices, whole tool calls, tool calls that share one index.
 */
export class ComingCompletion {
  readonly #heard: (piece: AnswerPiece) => void;
  readonly #texts: string[] = [];
  readonly #reasoning: string[] = [];
  readonly #refusals: string[] = [];
  readonly #calls: ComingCall[] = [];
  readonly #logProbabilities: unknown[] = [];
  /** Positions in `#calls` by the indexes that pieces name. */
  readonly #positions = new Map<number, number>();
  readonly #usage: Fields = {};
  #choice: unknown;
  #model: unknown;
  #finishReason: unknown;

  /** @param heard gets each piece that says something */
  constructor(heard: (piece: AnswerPiece) => void) {
    this.#heard = heard;
  }

  /** True when a listener got a piece, which cannot be taken back. */
  hasBegun = false;

  /** True when it came in pieces: an endpoint may answer whole all the same. */
  isStreamed = false;

  /** True after the mark that ends a stream. */
  isEnded = false;

  /** True when the endpoint has said that this is all: some leave out the mark, some the reason. */
  get isFinished(): boolean {
    return this.isEnded || typeof this.#finishReason === 'string';
  }

  /**
   * Takes an event of the stream.
   * @returns the error that it reports, or that its text cannot be read; undefined where there is none
   */
  take({ name, lines }: EventData): Fields | string | undefined {
    this.isStreamed = true;
    const whole = parsedOrNothing(lines.join('\n'));
    // Some leave out the empty lines between events.
    const all = whole === undefined ? lines.map((line) => parsedOrNothing(line) ?? line) : [whole];
    for (const said of all) {
      if (typeof said === 'string' && said.trim() === '') continue;
      if (typeof said === 'string' && said.trim() === '[DONE]') this.isEnded = true;
      else if (name === 'error' && !holdsError(said)) return { error: said };
      else if (typeof said === 'string') return said;
      else {
        const failure = this.takePiece(said);
        if (failure) return failure;
      }
    }
    return undefined;
  }

  /** Takes a piece that is read already. @returns the error that it reports */
  takePiece(said: unknown): Fields | undefined {
    this.isStreamed = true;
    if (said === '[DONE]') this.isEnded = true;
    if (!isObject(said)) return undefined;
    if (holdsError(said)) return said;
    const failure = this.#add(said);
    return isObject(failure) ? { error: failure } : undefined;
  }

  /** Takes an answer that came whole. */
  takeWhole({ content, reasoning, toolCalls }: HandlerAnswer): void {
    this.#say({
      text: content,
      reasoning: reasoning ?? '',
      toolCalls: (toolCalls ?? []).map(({ id, function: { name, arguments: given } }, index) => ({
        ...{ index, id, name, arguments: given },
      })),
    });
  }

  /** The completion so far, in the form of one that comes whole. */
  get body(): Fields {
    const message = {
      content: this.#texts.join(''),
      ...(this.#reasoning.length > 0 && { reasoning_content: this.#reasoning.join('') }),
      ...(this.#refusals.length > 0 && { refusal: this.#refusals.join('') }),
      tool_calls: this.#calls.map(({ id, name, arguments: pieces }) => ({
        id,
        function: { name, arguments: pieces.join('') || '{}' },
      })),
    };
    return {
      ...this.#usage,
      model: this.#model,
      choices: [{ message, finish_reason: this.#finishReason, logprobs: { content: this.#logProbabilities } }],
    };
  }

  /** Returns what had come of an answer that has broken off. */
  get soFar(): HandlerAnswer {
    const { isFailed: _isFailed, failure: _failure, ...answer } = readCompletion(this.body) ?? emptyAnswer;
    return answer;
  }

  /** Some begin with what they found of the request, and end with counts: both without a choice. @returns an error of the choice */
  #add(piece: Fields): unknown {
    if (typeof piece.model === 'string' && piece.model !== '') this.#model = piece.model;
    for (const name of usageFields) if (piece[name] != null) this.#usage[name] = piece[name];
    // The first of several answers counts.
    const choice = (Array.isArray(piece.choices) ? piece.choices : [])
      .filter(isObject)
      .find(({ index }) => (index ?? 0) === (this.#choice ?? index ?? 0));
    if (!choice) return undefined;
    this.#choice ??= choice.index ?? 0;
    if (choice.usage != null) this.#usage.usage = choice.usage;
    for (const entry of logProbabilityEntries(choice.logprobs)) this.#logProbabilities.push(entry);
    if (choice.finish_reason != null) this.#finishReason = choice.finish_reason;
    const said = [choice.delta, this.hasBegun ? undefined : choice.message].find(isObject) ?? { content: choice.text };
    const { text, refusal, reasoning } = textsOf(said);
    if (refusal !== undefined && refusal !== '') this.#refusals.push(refusal);
    const toolCalls = this.#toolCalls(said);
    this.#texts.push(text);
    this.#reasoning.push(...reasoning);
    this.#say({ text: text === '' ? (refusal ?? '') : text, reasoning: reasoning.join(''), toolCalls });
    return choice.error;
  }

  #say(piece: AnswerPiece): void {
    if (piece.text === '' && piece.reasoning === '' && piece.toolCalls.length === 0) return;
    this.hasBegun = true;
    this.#heard(piece);
  }

  #toolCalls({ tool_calls, function_call }: Fields): AnswerPiece['toolCalls'] {
    const given = Array.isArray(tool_calls) ? tool_calls : isObject(tool_calls) ? [tool_calls] : [];
    const all = given.length > 0 ? given : isObject(function_call) ? [{ index: 0, function: function_call }] : [];
    return all.filter(isObject).map((call) => {
      const called = isObject(call.function) ? call.function : isObject(call.custom) ? call.custom : call;
      const id = typeof call.id === 'string' && call.id !== '' ? call.id : undefined;
      const name = typeof called.name === 'string' && called.name !== '' ? called.name : undefined;
      const given = called.arguments ?? called.input;
      const text = typeof given === 'string' ? given : given == null ? '' : JSON.stringify(given);
      const { position, isNew } = this.#positionOf(call, id, name);
      const known = this.#calls[position] as ComingCall;
      known.id ??= id ?? call.id;
      if (known.name === '') known.name = name ?? '';
      known.arguments.push(text);
      return {
        index: position,
        ...(isNew && known.id != null && { id: String(known.id) }),
        ...(isNew && known.name !== '' && { name: known.name }),
        arguments: text,
      };
    });
  }

  /** A piece with an index that is known goes on with that call, unless it names another one. */
  #positionOf({ index }: Fields, id: string | undefined, name: string | undefined): { position: number; isNew: boolean } {
    const last = this.#calls.length - 1;
    const known = typeof index === 'number' ? this.#positions.get(index) : id === undefined && last >= 0 ? last : undefined;
    const call = known === undefined ? undefined : this.#calls[known];
    const isAnother = id !== undefined && name !== undefined && call?.id != null && call.id !== id;
    if (known !== undefined && !isAnother) return { position: known, isNew: false };
    this.#calls.push({ id: undefined, name: '', arguments: [] });
    if (typeof index === 'number') this.#positions.set(index, last + 1);
    return { position: last + 1, isNew: true };
  }
}

const emptyAnswer = { content: '', isFailed: false, failure: undefined };
