import { join } from 'node:path';
import protobuf from 'protobufjs';
import { ServiceError } from '../errors/errors.ts';
import { isOutOfMemory } from '../errors/isOutOfMemory.ts';
import { exportReader, type ReadResource } from './readExport.ts';
import { readJson } from './readJson.ts';

/** The two encodings of OTLP over HTTP. */
export type OtlpEncoding = 'protobuf' | 'json';

/** The result of a request, as the protocol answers it. */
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
        const body = asBuffer(bytes);
        return read(
          encoding === 'protobuf' ? body : asBuffer(request.encode(request.fromObject(readJson(body.toString('utf8')))).finish()),
        );
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

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
