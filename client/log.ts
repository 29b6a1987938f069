import { withParent } from './context.ts';
import { beginCall, describeSpan } from './loggedCall.ts';
import { observed } from './observed.ts';
import type { SpanFields, SpanKind } from './spans.ts';

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
    const run = () => fn.apply(this, args);
    const call = beginCall({
      kind,
      fields: named,
      input: args.length === 1 ? args[0] : args,
      describe: (value) => ({
        ...(output ? { output: output(value as Awaited<Result>) } : {}),
        ...describe?.(value as Awaited<Result>),
      }),
    });
    if (!call) return run();
    if (input) describeSpan(call.span, () => ({ input: input(...args) }));
    return withParent(call.place, () => observed(run, call.place, call));
  };
}
