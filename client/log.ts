import { currentParent, withParent } from './context.ts';
import { currentLogger } from './logger.ts';
import { modelCallOf } from './modelCallOf.ts';
import { type Outcome, observed, together } from './observed.ts';
import { closeSpan, failureOf, nowNs, type OpenSpan, openSpan, type SpanFields, type SpanKind, textOf } from './spans.ts';
import { placeBelow } from './trace.ts';

export interface LogOptions<Args extends unknown[] = unknown[], Result = unknown> extends SpanFields {
  /** Kind of the span; `workflow` when absent. */
  kind?: SpanKind;
  /** The span's input from the arguments; absent: the argument, or the list of them. */
  input?: (...args: Args) => unknown;
  /** The span's output from the result; absent: the result. That of a generator or stream is the list of what it gave, joined where all are texts. */
  output?: (result: Result) => unknown;
  /** Completes the span from the result. Absent: model and tokens of an llm span, where the result or a piece of the stream has them in `usage`. */
  describe?: (result: Result) => SpanFields;
}

/**
 * Turns a function into one that logs a span for each call: its input, output, duration and error. Calls nest as they happen, also when many run
 * at the same time; one may go on after the call that it is below of has ended. Outside an experiment and outside a trace, a call is logged as a trace
 * of its own by the logger made last; where there is none, it is only called. What a call of kind llm or control does below itself is logged beside it.
 * The span of a generator or stream ends when that is read to its end, or its reader stops; an llm span has the time to the first piece.
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
    const end = (outcome: Outcome): void => {
      const { given = [] } = outcome;
      if ('error' in outcome) {
        Object.assign(span, failureOf(outcome.error));
        if (given.length > 0) span.output = together(given); // what came before the stream broke
      } else {
        const value = outcome.value as Awaited<Result>;
        span.output = value;
        if (kind === 'llm') Object.assign(span, { ...modelCallOf(value, given), ...fields });
        if (output) describeSpan(span, () => ({ output: output(value) }));
        if (describe) describeSpan(span, () => describe(value));
      }
      closeSpan(span);
      const { statusCode = 200, errorMessage } = span;
      trace?.conclude(span.output, { input: span.input, statusCode, errorMessage });
    };
    const first = (): void => {
      if (kind === 'llm') span.timeToFirstTokenNs = nowNs() - span.startNs;
    };
    const below = placeBelow(span);
    return withParent(below, () => observed(call, below, { first, end }));
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
