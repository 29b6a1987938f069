import { Attributes } from './attributes.ts';
import type { Long, ResourceSpansMessage, SpanMessage } from './otlp.ts';

/** A span as it came, with ids in hexadecimal. */
export interface OtelSpan {
  traceId: string;
  spanId: string;
  /** Undefined for the root of a trace. */
  parentId: string | undefined;
  /** The parent is in another process, which may not send its spans here. */
  parentIsRemote: boolean;
  name: string;
  /** Nanoseconds since 1970; zero is unknown. */
  startNs: bigint;
  endNs: bigint;
  failed: boolean | undefined;
  statusMessage: string;
  attributes: Attributes;
  events: { name: string; atNs: bigint; attributes: Attributes }[];
  links: { traceId: string; spanId: string }[];
  resource: Attributes;
  scope: string;
}

export interface ReadSpans {
  spans: OtelSpan[];
  /** Why spans were refused, one text each. */
  rejected: string[];
}

const STATUS_OK = 1;
const STATUS_ERROR = 2;
// SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK and SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK together.
const REMOTE_PARENT = 0x300;
// The last instant that the record store holds.
const LAST_NS = BigInt(Date.UTC(2299, 11, 31, 23, 59, 59, 999)) * 1_000_000n;

/** The spans of one resource; those that cannot be stored are told apart. */
export function readSpans({ resource, scopeSpans }: ResourceSpansMessage): ReadSpans {
  const ofResource = Attributes.of(resource?.attributes ?? []);
  const read: ReadSpans = { spans: [], rejected: [] };
  for (const { scope, spans } of scopeSpans) {
    for (const message of spans) {
      const problem = problemOf(message);
      if (problem) read.rejected.push(`${problem} (span ${JSON.stringify(message.name.slice(0, 100))})`);
      else read.spans.push(spanOf(message, ofResource, scope?.name ?? ''));
    }
  }
  return read;
}

function problemOf({ traceId, spanId, startTimeUnixNano, endTimeUnixNano }: SpanMessage): string | undefined {
  if (traceId.length !== 16 || traceId.every((byte) => byte === 0)) return 'the trace id is not 16 bytes that say something';
  if (spanId.length !== 8 || spanId.every((byte) => byte === 0)) return 'the span id is not 8 bytes that say something';
  if (nanoseconds(startTimeUnixNano) > LAST_NS || nanoseconds(endTimeUnixNano) > LAST_NS)
    return 'a time lies after the year 2299; times are nanoseconds since 1970';
  return undefined;
}

function spanOf(message: SpanMessage, resource: Attributes, scope: string): OtelSpan {
  const spanId = hex(message.spanId);
  const parentId = hex(message.parentSpanId);
  const hasParent = /[^0]/.test(parentId) && parentId !== spanId;
  const code = message.status?.code;
  return {
    traceId: hex(message.traceId),
    spanId,
    parentId: hasParent ? parentId : undefined,
    parentIsRemote: hasParent && (message.flags & REMOTE_PARENT) === REMOTE_PARENT,
    name: message.name.toWellFormed(),
    startNs: nanoseconds(message.startTimeUnixNano),
    endNs: nanoseconds(message.endTimeUnixNano),
    failed: code === STATUS_ERROR ? true : code === STATUS_OK ? false : undefined,
    statusMessage: (message.status?.message ?? '').toWellFormed(),
    attributes: Attributes.of(message.attributes),
    events: message.events.map(({ name, timeUnixNano, attributes }) => ({
      name: name.toWellFormed(),
      atNs: nanoseconds(timeUnixNano),
      attributes: Attributes.of(attributes),
    })),
    links: message.links.map((link) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
    resource,
    scope: scope.toWellFormed(),
  };
}

/** A field that was not sent is an empty list. */
const hex = (bytes: Uint8Array): string =>
  bytes.length === 0 ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');

const nanoseconds = (time: Long | number): bigint =>
  typeof time === 'number' ? BigInt(time) : (BigInt(time.high >>> 0) << 32n) | BigInt(time.low >>> 0);

/** The canonical form of times, to the microsecond; undefined where the span does not say. */
export function timeOfNs(ns: bigint): string | undefined {
  if (ns === 0n) return undefined;
  const ms = new Date(Number(ns / 1_000_000n)).toISOString().slice(0, -1);
  return `${ms}${String((ns / 1_000n) % 1_000n).padStart(3, '0')}Z`;
}

/** Nanoseconds from start to end; undefined where one is unknown. Clocks that ran backwards give zero. */
export function durationNs({ startNs, endNs }: Pick<OtelSpan, 'startNs' | 'endNs'>): number | undefined {
  if (startNs === 0n || endNs === 0n) return undefined;
  const duration = Number(endNs - startNs);
  return Number.isSafeInteger(duration) ? Math.max(0, duration) : undefined;
}
