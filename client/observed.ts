import type { Readable } from 'node:stream';
import { withParent } from './context.ts';
import type { SpanParent } from './spans.ts';

/** How a call ended. `given`: what it gave piece by piece. */
export type Outcome = ({ value: unknown } | { error: unknown }) & { given?: readonly unknown[] };

export interface Observer {
  /** The first piece of a generator or stream has come. */
  first?(): void;
  end(outcome: Outcome): void;
}

/** Pieces that are kept of one stream: those after them are not logged, so that a stream without an end takes no memory without an end. */
const MAX_KEPT = 100_000;

/**
 * Calls, and says how it ended: a promise when it settles, a generator or stream when it is read to its end, breaks, or its reader stops.
 * @returns what the call returned; a generator or web stream is wrapped
 */
export function observed<Result>(call: () => Result, place: SpanParent, observer: Observer): Result {
  let result: Result;
  try {
    result = call();
  } catch (error) {
    observer.end({ error });
    throw error;
  }
  // Other thenables are handed on untouched: to ask for what a query builder gives would start it.
  if (!(result instanceof Promise)) return watched(result, place, observer) as Result;
  return result.then(
    (value: unknown) => watched(value, place, observer),
    (error: unknown) => {
      observer.end({ error });
      throw error;
    },
  ) as Result;
}

/** As `observed`, for a value that is there already. */
export function watched(value: unknown, place: SpanParent, observer: Observer): unknown {
  if (typeof value === 'object' && value !== null) {
    if (isGenerator(value)) return watchedIterator(value, place, new Pieces(observer));
    if (typeof ReadableStream === 'function' && value instanceof ReadableStream && !value.locked)
      return watchedStream(value, new Pieces(observer));
    if (isNodeStream(value)) return watchEvents(value, new Pieces(observer));
    if (isStream(value)) return watchIterable(value, place, new Pieces(observer));
  }
  observer.end({ value });
  return value;
}

/** Collects the pieces of a stream in their order; bytes become text. */
class Pieces {
  private readonly given: unknown[] = [];
  private readonly observer: Observer;
  private readonly decoder = new TextDecoder();
  private hasBegun = false;
  private hasEnded = false;

  constructor(observer: Observer) {
    this.observer = observer;
  }

  add(piece: unknown): void {
    if (!this.hasBegun) this.observer.first?.();
    this.hasBegun = true;
    // A character may be cut in two.
    const text = piece instanceof Uint8Array ? this.decoder.decode(piece, { stream: true }) : piece;
    if (this.given.length < MAX_KEPT) this.given.push(text);
  }

  end(): void {
    this.settle({ value: together(this.given), given: this.given });
  }

  fail(error: unknown): void {
    this.settle({ error, given: this.given });
  }

  private settle(outcome: Outcome): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.observer.end(outcome);
  }
}

/** Texts joined; anything else as a list. */
export const together = (given: readonly unknown[]): unknown =>
  given.every((one) => typeof one === 'string') ? given.join('') : given;

type AnyGenerator = Generator | AsyncGenerator;

const isGenerator = (value: object): value is AnyGenerator =>
  /^\[object (Async)?Generator\]$/.test(Object.prototype.toString.call(value));

/** The same iterator. Its body runs where the reader asks, so the parent of what it calls is set at each step. */
function watchedIterator<Iterator extends object>(iterator: Iterator, place: SpanParent, pieces: Pieces): Iterator {
  const steps: Record<string, unknown> = {};
  for (const name of ['next', 'return', 'throw'] as const) {
    const step = (iterator as Record<string, unknown>)[name];
    if (typeof step !== 'function') continue;
    steps[name] = (...sent: unknown[]) => {
      const note = (outcome: Outcome) => {
        if ('error' in outcome) pieces.fail(outcome.error);
        else if ((outcome.value as IteratorResult<unknown>).done) pieces.end();
        else pieces.add((outcome.value as IteratorResult<unknown>).value);
      };
      return observed(() => withParent(place, () => step.apply(iterator, sent)), place, { end: note });
    };
  }
  return Object.assign(Object.create(Object.getPrototypeOf(iterator)), steps);
}

/** A stream that gives what this one gives, no faster than it is read. */
function watchedStream(stream: ReadableStream, pieces: Pieces): ReadableStream {
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            pieces.end();
            controller.close();
          } else {
            pieces.add(value);
            controller.enqueue(value);
          }
        } catch (error) {
          pieces.fail(error);
          controller.error(error);
        }
      },
      cancel(reason) {
        pieces.end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

const isNodeStream = (value: object): value is Readable =>
  'readableFlowing' in value && typeof (value as Partial<Readable>).emit === 'function';

/** A listener for data would make the stream flow before its reader listens; each way of reading it emits them, so `emit` is looked at. */
function watchEvents(stream: Readable, pieces: Pieces): Readable {
  const { emit } = stream;
  stream.emit = function watchedEmit(event: string | symbol, ...args: unknown[]) {
    if (event === 'data') pieces.add(args[0]);
    else if (event === 'error') pieces.fail(args[0]);
    else if (event === 'end' || event === 'close') pieces.end();
    return (emit as (...all: unknown[]) => boolean).call(this, event, ...args);
  };
  return stream;
}

const isStream = (value: object): value is AsyncIterable<unknown> =>
  typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function' && !('then' in value);

/** The streams of most libraries. The object stays what it is, since it may have methods and private fields of its own. */
function watchIterable(stream: AsyncIterable<unknown>, place: SpanParent, pieces: Pieces): AsyncIterable<unknown> {
  // The clients of OpenAI and Anthropic read from this, `tee` included.
  const key = Object.hasOwn(stream, 'iterator') ? 'iterator' : Symbol.asyncIterator;
  const iterate = Reflect.get(stream, key) as () => AsyncIterator<unknown>;
  const isWatched = Reflect.defineProperty(stream, key, {
    configurable: true,
    writable: true,
    value: () => {
      const iterator = watchedIterator(iterate.call(stream), place, pieces);
      return Object.assign(iterator, { [Symbol.asyncIterator]: () => iterator });
    },
  });
  if (!isWatched) pieces.end();
  return stream;
}
