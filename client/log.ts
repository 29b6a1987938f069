import { currentParent, withParent } from './context.ts';
import { currentLogger } from './logger.ts';
import {
  closeSpan,
  failureOf,
  type OpenSpan,
  openSpan,
  type SpanFields,
  type SpanKind,
  type SpanParent,
  textOf,
} from './spans.ts';
import { placeBelow } from './trace.ts';

export interface LogOptions<Args extends unknown[] = unknown[], Result = unknown> extends SpanFields {
  /** Kind of the span; `workflow` when absent. */
  kind?: SpanKind;
  /** The span's input from the arguments; absent: the argument, or the list of them. */
  input?: (...args: Args) => unknown;
  /** The span's output from the result; absent: the result. A generator's result is the list of what it gave, joined where all are texts. */
  output?: (result: Result) => unknown;
  /** Completes the span from the result: model, tokens and so on. */
  describe?: (result: Result) => SpanFields;
}

/**
 * Turns a function into one that logs a span for each call: its input, output, duration and error. Calls nest as they happen, also when many run
 * at the same time; one may go on after the call that it is below of has ended. Outside an experiment and outside a trace, a call is logged as a trace
 * of its own by the logger made last; where there is none, it is only called. What a call of kind llm or control does below itself is logged beside it.
 * @returns a function with the same parameters and result.
 */
export function log<Args extends unknown[], Result>(
  options: LogOptions<Args, Awaited<Result>>,
  fn: (...args: Args) => Result,
): (...args: Args) => Result {
  const { kind = 'workflow', input, output, describe, ...fields } = options;
  const named = { name: fn.name || kind, ...fields };
  return function logged(this: unknown, ...args) {
    const call = () => fn.apply(this, args);
    const parent = currentParent();
    const logger = parent ? undefined : currentLogger();
    if (!parent && !logger) return call();
    const trace = logger?.startTrace(undefined, { name: named.name });
    const span = openSpan(kind, args.length === 1 ? args[0] : args, named, parent ?? trace?.place);
    if (input) describeSpan(span, () => ({ input: input(...args) }));
    const finish = (outcome: Outcome): void => {
      if ('value' in outcome) {
        const value = outcome.value as Awaited<Result>;
        span.output = value;
        if (output) describeSpan(span, () => ({ output: output(value) }));
        if (describe) describeSpan(span, () => describe(value));
      } else Object.assign(span, failureOf(outcome.error));
      closeSpan(span);
      const { statusCode = 200, errorMessage } = span;
      trace?.conclude(span.output, { input: span.input, statusCode, errorMessage });
    };
    const below = placeBelow(span);
    return withParent(below, () => settled(call, finish, below));
  };
}

/** Adds what the caller's own function says of a call. What that throws is said by the span and does not reach the caller. */
function describeSpan(span: OpenSpan, describe: () => Partial<OpenSpan>): void {
  try {
    Object.assign(span, describe());
  } catch (error) {
    span.metadata = { ...span.metadata, log_error: textOf(error) };
  }
}

type Outcome = { value: unknown } | { error: unknown };
type Finish = (outcome: Outcome) => void;

function settled<Result>(call: () => Result, finish: Finish, place: SpanParent): Result {
  let result: Result;
  try {
    result = call();
  } catch (error) {
    finish({ error });
    throw error;
  }
  if (isGenerator(result)) return watched(result, finish, place) as Result;
  // Other thenables are handed on untouched: to ask for what a query builder gives would start it.
  if (!(result instanceof Promise)) {
    finish({ value: result });
    return result;
  }
  return result.then(
    (value: unknown) => {
      finish({ value });
      return value;
    },
    (error: unknown) => {
      finish({ error });
      throw error;
    },
  ) as Result;
}

type AnyGenerator = Generator | AsyncGenerator;

const isGenerator = (value: unknown): value is AnyGenerator =>
  /^\[object (Async)?Generator\]$/.test(Object.prototype.toString.call(value));

/**
 * The same generator, of either kind; its span ends when it does, or when its reader stops. Its body runs where the reader asks, so the place is set
 * at each step.
 */
function watched(generator: AnyGenerator, finish: Finish, place: SpanParent): AnyGenerator {
  const given: unknown[] = [];
  let hasEnded = false;
  const note: Finish = (outcome) => {
    if (hasEnded) return;
    const next = 'value' in outcome ? (outcome.value as IteratorResult<unknown>) : undefined;
    if (next && !next.done) {
      given.push(next.value);
      return;
    }
    hasEnded = true;
    finish(next ? { value: together(given) } : outcome);
  };
  const step =
    (name: 'next' | 'return' | 'throw') =>
    (...sent: [unknown]) =>
      settled(() => withParent(place, () => generator[name](...sent)), note, place);
  const steps = { next: step('next'), return: step('return'), throw: step('throw') };
  return Object.assign(Object.create(Object.getPrototypeOf(generator)), steps);
}

const together = (given: readonly unknown[]): unknown => (given.every((one) => typeof one === 'string') ? given.join('') : given);
