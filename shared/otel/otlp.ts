import { join } from 'node:path';
import protobuf from 'protobufjs';
import { ServiceError } from '../errors.ts';

/** The two encodings of OTLP over HTTP. */
export type OtlpEncoding = 'protobuf' | 'json';

/** 64 bits as protobufjs hands them over. */
export interface Long {
  low: number;
  high: number;
  unsigned: boolean;
}

// Messages as protobufjs reads them. Fields that were not sent give the default of their type.
export interface AnyValueMessage {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: Long | number;
  doubleValue?: number;
  arrayValue?: { values: AnyValueMessage[] };
  kvlistValue?: { values: KeyValueMessage[] };
  bytesValue?: Uint8Array;
}
export interface KeyValueMessage {
  key: string;
  value: AnyValueMessage | null;
}
interface EventMessage {
  timeUnixNano: Long | number;
  name: string;
  attributes: KeyValueMessage[];
}
export interface SpanMessage {
  traceId: Uint8Array;
  spanId: Uint8Array;
  parentSpanId: Uint8Array;
  flags: number;
  name: string;
  startTimeUnixNano: Long | number;
  endTimeUnixNano: Long | number;
  attributes: KeyValueMessage[];
  events: EventMessage[];
  links: { traceId: Uint8Array; spanId: Uint8Array }[];
  status: { code: number; message: string } | null;
}
export interface ResourceSpansMessage {
  resource: { attributes: KeyValueMessage[] } | null;
  scopeSpans: { scope: { name: string; version: string } | null; spans: SpanMessage[] }[];
}

/** What a request did, as the protocol answers it. */
export interface ExportResult {
  rejectedSpans: number;
  errorMessage: string;
}

export interface Otlp {
  /** @throws ServiceError `BadRequest` when the bytes are no ExportTraceServiceRequest. */
  readRequest(bytes: Uint8Array, encoding: OtlpEncoding): ResourceSpansMessage[];
  /** An ExportTraceServiceResponse: bytes for protobuf, an object for JSON. */
  response(result: ExportResult, encoding: 'protobuf'): Uint8Array;
  response(result: ExportResult, encoding: 'json'): object;
}

/** The messages of the published definitions, in both encodings. */
export function openOtlp(): Otlp {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(import.meta.dirname, 'definitions', target);
  root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
  const request = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
  const reply = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse');
  const responseOf = ({ rejectedSpans, errorMessage }: ExportResult) =>
    rejectedSpans === 0 && errorMessage === '' ? {} : { partialSuccess: { rejectedSpans, errorMessage } };
  return {
    readRequest(bytes, encoding) {
      try {
        const message = encoding === 'protobuf' ? request.decode(bytes) : request.fromObject(readJson(bytes));
        return (message as unknown as { resourceSpans: ResourceSpansMessage[] }).resourceSpans;
      } catch (cause) {
        throw new ServiceError('BadRequest', `the body is no ExportTraceServiceRequest in ${encoding}`, { cause });
      }
    },
    response: ((result: ExportResult, encoding: OtlpEncoding) => {
      const message = reply.fromObject(responseOf(result));
      return encoding === 'protobuf' ? reply.encode(message).finish() : reply.toObject(message, { longs: String });
    }) as Otlp['response'],
  };
}

/**
 * OTLP's JSON is that of protobuf, but for ids, which it writes in hexadecimal where protobuf has base64.
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
function readJson(bytes: Uint8Array): object {
  const body: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
  for (const resource of listIn(body, 'resourceSpans'))
    for (const scope of listIn(resource, 'scopeSpans'))
      for (const span of listIn(scope, 'spans'))
        for (const holder of [span, ...listIn(span, 'links')]) {
          if (!isObject(holder)) continue;
          for (const name of ['traceId', 'spanId', 'parentSpanId']) if (name in holder) holder[name] = hexBytes(holder[name]);
        }
  return body as object;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function listIn(value: unknown, name: string): unknown[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}

/** An id that is no hexadecimal text has no bytes: its span is rejected, not the request. */
const hexBytes = (value: unknown): Uint8Array =>
  typeof value === 'string' && /^(?:[0-9a-f]{2})*$/i.test(value) ? Buffer.from(value, 'hex') : new Uint8Array();
