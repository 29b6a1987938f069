import { join } from 'node:path';
import protobuf from 'protobufjs';
import { ServiceError } from '../errors.ts';
import { exportReader, type ReadResource } from './readExport.ts';

/** The two encodings of OTLP over HTTP. */
export type OtlpEncoding = 'protobuf' | 'json';

/** What a request did, as the protocol answers it. */
export interface ExportResult {
  rejectedSpans: number;
  errorMessage: string;
}

export interface Otlp {
  /** @throws ServiceError `BadRequest` when the bytes are no ExportTraceServiceRequest, `BodyTooLarge` when it holds too many spans. */
  readRequest(bytes: Uint8Array, encoding: OtlpEncoding): ReadResource[];
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
  const read = exportReader(root);
  const responseOf = ({ rejectedSpans, errorMessage }: ExportResult) =>
    rejectedSpans === 0 && errorMessage === '' ? {} : { partialSuccess: { rejectedSpans, errorMessage } };
  return {
    readRequest(bytes, encoding) {
      try {
        // JSON is written as protobuf first, so that there is one reader; what is left of it then is what the definitions know.
        return read(asBuffer(encoding === 'protobuf' ? bytes : request.encode(request.fromObject(readJson(bytes))).finish()));
      } catch (cause) {
        if (cause instanceof ServiceError) throw cause;
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
  const text = asBuffer(bytes).toString('utf8');
  const body: unknown = /\\u[dD]/.test(text) ? JSON.parse(text, wellFormed) : JSON.parse(text);
  for (const resource of listIn(body, 'resourceSpans'))
    for (const scope of listIn(resource, 'scopeSpans'))
      for (const span of listIn(scope, 'spans'))
        for (const holder of [span, ...listIn(span, 'links')]) {
          if (!isObject(holder)) continue;
          for (const name of ['traceId', 'spanId', 'parentSpanId']) if (name in holder) holder[name] = hexBytes(holder[name]);
        }
  return body as object;
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Half a surrogate pair, which JSON can spell and UTF-8 cannot hold, becomes U+FFFD. */
const wellFormed = (_name: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function listIn(value: unknown, name: string): unknown[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}

/** An id that is no hexadecimal text has no bytes: its span is rejected, not the request. */
const hexBytes = (value: unknown): Uint8Array =>
  typeof value === 'string' && /^(?:[0-9a-f]{2})*$/i.test(value) ? Buffer.from(value, 'hex') : new Uint8Array();
