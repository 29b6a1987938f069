import { currentParent } from './context.ts';
import { currentLogger } from './logger.ts';
import { modelCallOf } from './modelCallOf.ts';
import { type Observer, type Outcome, together } from './observed.ts';
import {
  closeSpan,
  failureOf,
  nowNs,
  type OpenSpan,
  openSpan,
  type SpanFields,
  type SpanKind,
  type SpanParent,
} from './spans.ts';
import { thrownText } from './texts.ts';
import { placeBelow } from './trace.ts';

export interface CallDescription {
  kind: SpanKind;
  /** Fields of the span that are known before the call ends. */
  fields: SpanFields & { name: string };
  input: unknown;
  /** Adds to the span what a result says; `given` are the pieces of a stream. What it throws does not reach the caller. */
  describe(value: unknown, given: readonly unknown[]): Partial<OpenSpan>;
}

/** A call that is a span. */
export interface LoggedCall extends Required<Observer> {
  /** Where the spans of what it calls go. */
  place: SpanParent;
  span: OpenSpan;
}

/** Begins a span below what runs here, else a trace of its own. @returns undefined where there is no logger: nothing is to be logged */
export function beginCall({ kind, fields, input, describe }: CallDescription): LoggedCall | undefined {
  const parent = currentParent();
  const logger = parent ? undefined : currentLogger();
  if (!parent && !logger) return undefined;
  const trace = logger?.startTrace(undefined, { name: fields.name });
  const span = openSpan(kind, input, fields, parent ?? trace?.place);
  return {
    place: placeBelow(span),
    span,
    first() {
      if (kind === 'llm') span.timeToFirstTokenNs = nowNs() - span.startNs;
    },
    end(outcome: Outcome) {
      const { given = [] } = outcome;
      if ('error' in outcome) {
        Object.assign(span, failureOf(outcome.error));
        if (given.length > 0) span.output = together(given); // what came before the stream broke
      } else {
        span.output = outcome.value;
        if (kind === 'llm') Object.assign(span, { ...modelCallOf(outcome.value, given), ...fields });
        describeSpan(span, () => describe(outcome.value, given));
      }
      closeSpan(span);
      const { statusCode = 200, errorMessage } = span;
      trace?.conclude(span.output, { input: span.input, statusCode, errorMessage });
    },
  };
}

/** Adds what a function of the caller says of a call. What that throws is said by the span. */
export function describeSpan(span: OpenSpan, describe: () => Partial<OpenSpan>): void {
  try {
    Object.assign(span, describe());
  } catch (error) {
    span.metadata = { ...span.metadata, log_error: thrownText(error) };
  }
}
