import type { Attributes } from './attributes.ts';

export interface SpanEvent {
  name: string;
  /** Nanoseconds since 1970; zero is unknown. */
  atNs: bigint;
  attributes: Attributes;
}

export interface SpanLink {
  traceId: string;
  spanId: string;
  traceState: string;
  attributes: Attributes;
}

/** The maker of spans: an instrumentation, as a rule. */
export interface Scope {
  name: string;
  version: string;
  attributes: Attributes;
}

/** The side of a call that a span is; `SPAN_KIND_INTERNAL` is none. */
export type CallSide = 'server' | 'client' | 'producer' | 'consumer';

/** A span as it came, with ids in hexadecimal. */
export interface OtelSpan {
  traceId: string;
  spanId: string;
  /** Undefined for the root of a trace. */
  parentId: string | undefined;
  /** The parent is in another process, which may not send its spans here. */
  parentIsRemote: boolean;
  name: string;
  side: CallSide | undefined;
  traceState: string;
  /** Nanoseconds since 1970; zero is unknown. */
  startNs: bigint;
  endNs: bigint;
  failed: boolean | undefined;
  statusMessage: string;
  attributes: Attributes;
  events: SpanEvent[];
  links: SpanLink[];
  /** Both are shared between spans. */
  resource: Attributes;
  scope: Scope;
}

/** The canonical form of times, to the microsecond; undefined where the span does not say. */
export function timeOfNs(ns: bigint): string | undefined {
  if (ns === 0n) return undefined;
  const ms = new Date(Number(ns / 1_000_000n)).toISOString().slice(0, -1);
  const micros = Math.floor(Number(ns % 1_000_000n) / 1_000);
  return `${ms}${String(micros).padStart(3, '0')}Z`;
}

/** Returns whether nanoseconds can hold a duration in a unit of so many nanoseconds. */
export const isDurationOf =
  (unitNs: number) =>
  (duration: number): boolean =>
    Number.isSafeInteger(Math.round(duration * unitNs));

/** Nanoseconds from start to end; undefined where one is unknown. Clocks that ran backwards give zero. */
export function durationNs({ startNs, endNs }: Pick<OtelSpan, 'startNs' | 'endNs'>): number | undefined {
  if (startNs === 0n || endNs === 0n) return undefined;
  const duration = Number(endNs - startNs);
  return Number.isSafeInteger(duration) ? Math.max(0, duration) : undefined;
}
