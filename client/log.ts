import { currentLogger } from './logger.ts';
import { closeSpan, currentParent, type OpenSpan, openSpan, type SpanFields, type SpanKind, withParent } from './spans.ts';

export interface LogOptions extends SpanFields {
  /** Kind of the span; `workflow` when absent. */
  kind?: SpanKind;
  /** The arguments as the span's input; all of them when absent. */
  input?: (...args: never[]) => unknown;
  /** Completes the span from the result: model, tokens and so on. */
  describe?: (result: never) => SpanFields;
}

/**
 * Turns a function into one that logs a span for each call: its input, output, duration and error. Calls nest as they happen, also when many run
 * at the same time. Outside an experiment and outside a trace, a call is logged as a trace of its own by the logger made last.
 * @returns a function with the same parameters; it gives a promise where `fn` does.
 */
export function log<Args extends unknown[], Result>(options: LogOptions, fn: (...args: Args) => Result): (...args: Args) => Result {
  return (...args) => {
    const input = options.input ? options.input(...(args as never[])) : args.length === 1 ? args[0] : args;
    const { kind = 'workflow', input: _input, describe, ...fields } = options;
    const parent = currentParent();
    const span = openSpan(kind, input, { name: fn.name || kind, ...fields });
    parent?.children.push(span);
    const finish = (outcome: { value: unknown } | { error: unknown }): void => {
      if ('value' in outcome) {
        span.output = outcome.value;
        if (describe) Object.assign(span, describe(outcome.value as never));
      } else {
        span.output = messageOf(outcome.error);
        span.statusCode = 500;
      }
      closeSpan(span);
      if (!parent) currentLogger()?.addRoot(span);
    };
    return withParent(span, () => ended(() => fn(...args), finish));
  };
}

function ended<Result>(call: () => Result, finish: (outcome: { value: unknown } | { error: unknown }) => void): Result {
  let result: Result;
  try {
    result = call();
  } catch (error) {
    finish({ error });
    throw error;
  }
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

const messageOf = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

export type { OpenSpan };
