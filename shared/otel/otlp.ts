import { join } from 'node:path';
import protobuf from 'protobufjs';
import { ServiceError } from '../errors/errors.ts';
import { isOutOfMemory } from '../errors/isOutOfMemory.ts';
import { checkValues } from '../json/jsonValues.ts';
import { DEPTH_OF_LIST, DEPTH_OF_TREE, DEPTH_OF_VALUES, exportReader, MAX_DEPTH, type ReadResource } from './readExport.ts';

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
  /** A refusal as the protocol wants it: a google.rpc.Status. */
  refusal(httpStatus: number, message: string, encoding: 'protobuf'): Uint8Array;
  refusal(httpStatus: number, message: string, encoding: 'json'): object;
}

/** The messages of the published definitions, in both encodings. */
export function openOtlp(): Otlp {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(import.meta.dirname, 'definitions', target);
  root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
  const request = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
  const reply = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse');
  const status = root.loadSync('google/rpc/status.proto').lookupType('google.rpc.Status');
  const read = exportReader(root);
  const responseOf = ({ rejectedSpans, errorMessage }: ExportResult) =>
    rejectedSpans === 0 && errorMessage === '' ? {} : { partialSuccess: { rejectedSpans, errorMessage } };
  return {
    readRequest(bytes, encoding) {
      try {
        // JSON is written as protobuf first, so that there is one reader; what is left of it then is what the definitions know.
        return read(asBuffer(encoding === 'protobuf' ? bytes : request.encode(request.fromObject(readJson(bytes))).finish()));
      } catch (cause) {
        if (cause instanceof ServiceError || isOutOfMemory(cause)) throw cause;
        throw new ServiceError('BadRequest', `the body is no ExportTraceServiceRequest in ${encoding}`, { cause });
      }
    },
    response: ((result: ExportResult, encoding: OtlpEncoding) => {
      const message = reply.fromObject(responseOf(result));
      return encoding === 'protobuf' ? reply.encode(message).finish() : reply.toObject(message, { longs: String });
    }) as Otlp['response'],
    refusal: ((httpStatus: number, text: string, encoding: OtlpEncoding) => {
      const message = status.fromObject({ code: statusCodes.get(httpStatus) ?? UNKNOWN, message: text });
      return encoding === 'protobuf' ? status.encode(message).finish() : status.toObject(message);
    }) as Otlp['refusal'],
  };
}

/** Codes of google.rpc.Code for the refusals there are. */
const statusCodes: ReadonlyMap<number, number> = new Map([
  [400, 3], // INVALID_ARGUMENT
  [401, 16], // UNAUTHENTICATED
  [403, 7], // PERMISSION_DENIED
  [404, 5], // NOT_FOUND
  [413, 3],
  [415, 3],
  [422, 3],
  [429, 8], // RESOURCE_EXHAUSTED
  [500, 13], // INTERNAL
  [503, 14], // UNAVAILABLE
]);
const UNKNOWN = 2;

/**
 * OTLP's JSON is that of protobuf, but for ids, which it writes in hexadecimal where protobuf has base64.
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
function readJson(bytes: Uint8Array): object {
  const text = asBuffer(bytes).toString('utf8');
  checkValues(text);
  const body: unknown = /\\u[dD]/.test(text) ? JSON.parse(text, wellFormed) : JSON.parse(text);
  if (!isObject(body) || Array.isArray(body)) throw new TypeError('not an object');
  for (const resource of listIn(body, 'resourceSpans')) {
    cutAttributes(isObject(resource) ? resource.resource : undefined);
    for (const scope of listIn(resource, 'scopeSpans')) {
      dropAttributes(isObject(scope) ? scope.scope : undefined);
      for (const span of listIn(scope, 'spans')) {
        for (const container of [span, ...listIn(span, 'links')]) {
          if (!isObject(container)) continue;
          for (const name of ['traceId', 'spanId', 'parentSpanId'])
            if (name in container) container[name] = hexBytes(container[name]);
        }
        cutAttributes(span);
        for (const event of listIn(span, 'events')) cutAttributes(event, DEPTH_OF_VALUES + 1);
        for (const link of listIn(span, 'links')) dropAttributes(link);
      }
    }
  }
  return body;
}

/** Those of scopes and links are not read: whatever is in them refuses nothing. */
function dropAttributes(container: unknown): void {
  if (isObject(container)) delete container.attributes;
}

function cutAttributes(container: unknown, depth = DEPTH_OF_VALUES): void {
  for (const attribute of listIn(container, 'attributes')) if (isObject(attribute)) cutDeep(attribute.value, depth);
}

/** Empties what lies deeper than the reader goes, which is where it sees that: what writes JSON as protobuf would refuse the whole request. */
function cutDeep(value: unknown, depth: number): void {
  if (!isObject(value)) return;
  if (depth > MAX_DEPTH) {
    for (const name of Object.keys(value)) delete value[name];
    return;
  }
  for (const inner of listIn(value.arrayValue, 'values')) cutDeep(inner, depth + DEPTH_OF_LIST);
  for (const inner of listIn(value.kvlistValue, 'values')) if (isObject(inner)) cutDeep(inner.value, depth + DEPTH_OF_TREE);
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Half a surrogate pair, which JSON can spell and UTF-8 cannot hold, becomes U+FFFD. */
const wellFormed = (_name: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function listIn(value: unknown, name: string): unknown[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}

/** An id that is no hexadecimal text has bytes that are no id: its span is rejected, not the request. */
const hexBytes = (value: unknown): Uint8Array =>
  /^(?:[0-9a-f]{2})*$/i.test(String(value ?? '')) ? Buffer.from(String(value ?? ''), 'hex') : NO_ID;
const NO_ID = new Uint8Array(1);
