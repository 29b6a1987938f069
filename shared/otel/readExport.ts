import protobuf from 'protobufjs';
import { ServiceError } from '../errors/errors.ts';
import { isOutOfMemory } from '../errors/isOutOfMemory.ts';
import { storableKey } from '../json/storable.ts';
import { Attributes, type AttributeValue } from './attributes.ts';
import {
  enter,
  KnownTexts,
  leave,
  type Reader,
  readFixed64,
  readHex,
  readText,
  skip,
  tagsOf,
  wholeNumber,
} from './protobufFields.ts';
import type { CallSide, OtelSpan, Scope, SpanLink } from './span.ts';

/** The spans of one resource; those that cannot be stored are listed apart. */
export interface ReadResource {
  resource: Attributes;
  spans: OtelSpan[];
  /** Why spans were refused, one text each. */
  rejected: string[];
}

// Exporters send 512 spans at a time, collectors some thousands. This many take two seconds, in which the process does nothing else.
const MAX_SPANS = 100_000;
/**
 * Messages inside messages: what reads them calls itself. A span with deeper ones is rejected, a resource goes without them. The library that writes
 * JSON as protobuf goes three levels deeper.
 */
export const MAX_DEPTH = 97;
/** The messages around the value of a span's attribute. */
export const DEPTH_OF_VALUES = 5;
/** The messages between a list, or a tree, and a value in it. */
export const DEPTH_OF_LIST = 2;
export const DEPTH_OF_TREE = 3;
const STATUS_OK = 1;
const STATUS_ERROR = 2;
// SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK and SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK together.
const REMOTE_PARENT = 0x300;
// By their numbers in Span.SpanKind.
const sides: readonly (CallSide | undefined)[] = [undefined, undefined, 'server', 'client', 'producer', 'consumer'];
// The last instant that the record store holds.
const LAST_NS = BigInt(Date.UTC(2299, 11, 31, 23, 59, 59, 999)) * 1_000_000n;

/**
 * Reads the bytes of an ExportTraceServiceRequest straight into spans. Messages made first, one object for each attribute and another for its
 * value, cost as much again as all that is done with them; which field has which number is asked of the published definitions all the same.
 * The decoder of `protobufjs` replaces this when it adds less than a tenth to the CPU of an ingest. Its bound of depth, asked for in
 * https://github.com/protobufjs/protobuf.js/issues/2121, is one for the whole process, and refuses the request with the span.
 * @param root holds the definitions
 * @throws where the bytes outside of spans are no such message; ServiceError `BodyTooLarge` where it holds too many spans.
 */
export function exportReader(root: protobuf.Root): (bytes: Buffer) => ReadResource[] {
  const request = tagsOf(root, 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
  const resourceSpans = tagsOf(root, 'opentelemetry.proto.trace.v1.ResourceSpans');
  const resource = tagsOf(root, 'opentelemetry.proto.resource.v1.Resource');
  const scopeSpans = tagsOf(root, 'opentelemetry.proto.trace.v1.ScopeSpans');
  const scope = tagsOf(root, 'opentelemetry.proto.common.v1.InstrumentationScope');
  const span = tagsOf(root, 'opentelemetry.proto.trace.v1.Span');
  const event = tagsOf(root, 'opentelemetry.proto.trace.v1.Span.Event');
  const link = tagsOf(root, 'opentelemetry.proto.trace.v1.Span.Link');
  const status = tagsOf(root, 'opentelemetry.proto.trace.v1.Status');
  const keyValue = tagsOf(root, 'opentelemetry.proto.common.v1.KeyValue');
  const anyValue = tagsOf(root, 'opentelemetry.proto.common.v1.AnyValue');
  const arrayValue = tagsOf(root, 'opentelemetry.proto.common.v1.ArrayValue');
  const kvlistValue = tagsOf(root, 'opentelemetry.proto.common.v1.KeyValueList');
  const names = new KnownTexts();
  /** A value that was read since this was set to false nests too deep. */
  let isTooDeep = false;

  return (bytes) => {
    const from = protobuf.Reader.create(bytes) as Reader;
    const resources: ReadResource[] = [];
    let left = MAX_SPANS;
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag !== request.resourceSpans) skip(from, tag);
      else {
        const read = readResourceSpans(from, left);
        left -= read.spans.length + read.rejected.length;
        resources.push(read);
      }
    }
    return resources;
  };

  function readResourceSpans(from: Reader, mostSpans: number): ReadResource {
    const outer = enter(from);
    const attributes = new Attributes();
    const read: ReadResource = { resource: attributes, spans: [], rejected: [] };
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === resourceSpans.resource) readResource(from, attributes);
      else if (tag === resourceSpans.scopeSpans) readScopeSpans(from, read, mostSpans);
      else skip(from, tag);
    }
    leave(from, outer);
    return read;
  }

  function readResource(from: Reader, attributes: Attributes): void {
    const outer = enter(from);
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === resource.attributes) readAttribute(from, attributes, DEPTH_OF_VALUES);
      else skip(from, tag);
    }
    leave(from, outer);
  }

  function readScopeSpans(from: Reader, read: ReadResource, mostSpans: number): void {
    const outer = enter(from);
    // The scope may stand behind its spans.
    const scope: Scope = { name: '', version: '', attributes: new Attributes() };
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === scopeSpans.scope) readScope(from, scope);
      else if (tag === scopeSpans.spans) {
        if (read.spans.length + read.rejected.length === mostSpans)
          throw new ServiceError('BodyTooLarge', `a request may hold ${MAX_SPANS} spans; send less per request`);
        readSpan(from, read, scope);
      } else skip(from, tag);
    }
    leave(from, outer);
  }

  function readScope(from: Reader, made: Scope): void {
    const outer = enter(from);
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === scope.name) made.name = names.read(from);
      else if (tag === scope.version) made.version = names.read(from);
      else if (tag === scope.attributes) readAttribute(from, made.attributes, DEPTH_OF_VALUES);
      else skip(from, tag);
    }
    leave(from, outer);
  }

  /** Bytes that are no span are rejected with it: where it ends is known, so that the next one can be read. */
  function readSpan(from: Reader, read: ReadResource, scope: Scope): void {
    const outer = enter(from);
    const end = from.len;
    isTooDeep = false;
    const made: OtelSpan = {
      traceId: '',
      spanId: '',
      parentId: undefined,
      parentIsRemote: false,
      name: '',
      side: undefined,
      traceState: '',
      startNs: 0n,
      endNs: 0n,
      failed: undefined,
      statusMessage: '',
      attributes: new Attributes(),
      events: [],
      links: [],
      resource: read.resource,
      scope,
    };
    let problem: string | undefined;
    try {
      readSpanFields(from, made);
      leave(from, outer);
      problem = isTooDeep ? `an attribute nests deeper than ${MAX_DEPTH} messages` : problemOf(made);
    } catch (err) {
      if (isOutOfMemory(err)) throw err;
      from.pos = end;
      from.len = outer;
      problem = 'the bytes are no span';
    }
    if (problem) {
      read.rejected.push(`${problem} (span ${JSON.stringify(made.name.slice(0, 100))})`);
      return;
    }
    if (!made.parentId || !/[^0]/.test(made.parentId) || made.parentId === made.spanId) {
      made.parentId = undefined;
      made.parentIsRemote = false;
    }
    read.spans.push(made);
  }

  function readSpanFields(from: Reader, made: OtelSpan): void {
    while (from.pos < from.len) {
      const tag = from.tag();
      switch (tag) {
        case span.attributes:
          readAttribute(from, made.attributes, DEPTH_OF_VALUES);
          break;
        case span.traceId:
          made.traceId = readHex(from);
          break;
        case span.spanId:
          made.spanId = readHex(from);
          break;
        case span.parentSpanId:
          made.parentId = readHex(from);
          break;
        case span.flags:
          made.parentIsRemote = (from.fixed32() & REMOTE_PARENT) === REMOTE_PARENT;
          break;
        case span.kind:
          made.side = sides[from.int32()];
          break;
        case span.traceState:
          made.traceState = readText(from);
          break;
        case span.name:
          made.name = readText(from);
          break;
        case span.startTimeUnixNano:
          made.startNs = readFixed64(from);
          break;
        case span.endTimeUnixNano:
          made.endNs = readFixed64(from);
          break;
        case span.events:
          made.events.push(readEvent(from));
          break;
        case span.links:
          made.links.push(readLink(from));
          break;
        case span.status:
          readStatus(from, made);
          break;
        default:
          skip(from, tag);
      }
    }
  }

  function readEvent(from: Reader): OtelSpan['events'][number] {
    const outer = enter(from);
    const attributes = new Attributes();
    const made = { name: '', atNs: 0n, attributes };
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === event.attributes) readAttribute(from, attributes, DEPTH_OF_VALUES + 1);
      else if (tag === event.name) made.name = names.read(from);
      else if (tag === event.timeUnixNano) made.atNs = readFixed64(from);
      else skip(from, tag);
    }
    leave(from, outer);
    return made;
  }

  function readLink(from: Reader): SpanLink {
    const outer = enter(from);
    const attributes = new Attributes();
    const wasTooDeep = isTooDeep; // what nests too deep here is left out: it costs no span
    const made: SpanLink = { traceId: '', spanId: '', traceState: '', attributes };
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === link.traceId) made.traceId = readHex(from);
      else if (tag === link.spanId) made.spanId = readHex(from);
      else if (tag === link.traceState) made.traceState = readText(from);
      else if (tag === link.attributes) readAttribute(from, attributes, DEPTH_OF_VALUES + 1);
      else skip(from, tag);
    }
    leave(from, outer);
    isTooDeep = wasTooDeep;
    return made;
  }

  function readStatus(from: Reader, made: OtelSpan): void {
    const outer = enter(from);
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === status.code) {
        const code = from.int32();
        made.failed = code === STATUS_ERROR ? true : code === STATUS_OK ? false : undefined;
      } else if (tag === status.message) made.statusMessage = readText(from);
      else skip(from, tag);
    }
    leave(from, outer);
  }

  /** The last one of a name counts. */
  function readAttribute(from: Reader, into: { set(name: string, value: AttributeValue): unknown }, depth: number): void {
    const outer = enter(from);
    let name = '';
    let value: AttributeValue = null;
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === keyValue.key) name = names.read(from);
      else if (tag === keyValue.value) value = readValue(from, depth);
      else skip(from, tag);
    }
    leave(from, outer);
    into.set(name, value);
  }

  function readValue(from: Reader, depth: number): AttributeValue {
    const outer = enter(from);
    let value: AttributeValue = null;
    if (depth > MAX_DEPTH) {
      isTooDeep = true;
      from.pos = from.len;
    }
    while (from.pos < from.len) {
      const tag = from.tag();
      switch (tag) {
        case anyValue.stringValue:
          value = readText(from);
          break;
        case anyValue.intValue:
          value = wholeNumber(from.int64());
          break;
        case anyValue.boolValue:
          value = from.bool();
          break;
        case anyValue.doubleValue:
          value = from.double();
          if (!Number.isFinite(value)) value = String(value);
          break;
        case anyValue.arrayValue:
          value = readArray(from, depth + DEPTH_OF_LIST);
          break;
        case anyValue.kvlistValue:
          value = readTree(from, depth + DEPTH_OF_TREE);
          break;
        case anyValue.bytesValue:
          value = Buffer.from(from.bytes()).toString('base64');
          break;
        default:
          skip(from, tag);
      }
    }
    leave(from, outer);
    return value;
  }

  function readArray(from: Reader, depth: number): AttributeValue[] {
    const outer = enter(from);
    const items: AttributeValue[] = [];
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === arrayValue.values) items.push(readValue(from, depth));
      else skip(from, tag);
    }
    leave(from, outer);
    return items;
  }

  function readTree(from: Reader, depth: number): { [key: string]: AttributeValue } {
    const outer = enter(from);
    const entries = new Map<string, AttributeValue>();
    while (from.pos < from.len) {
      const tag = from.tag();
      if (tag === kvlistValue.values) readAttribute(from, entries, depth);
      else skip(from, tag);
    }
    leave(from, outer);
    const tree: { [key: string]: AttributeValue } = Object.create(null);
    for (const [name, value] of entries) tree[storableKey(name)] = value;
    return tree;
  }
}

function problemOf({ traceId, spanId, parentId, startNs, endNs }: OtelSpan): string | undefined {
  if (traceId.length !== 32 || traceId === NO_TRACE) return 'the trace id is not 16 bytes that say something';
  if (spanId.length !== 16 || spanId === NO_SPAN) return 'the span id is not 8 bytes that say something';
  if (parentId && parentId.length !== 16) return 'the parent span id is not 8 bytes';
  if (startNs > LAST_NS || endNs > LAST_NS) return 'a time lies after the year 2299; times are nanoseconds since 1970';
  return undefined;
}

const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
