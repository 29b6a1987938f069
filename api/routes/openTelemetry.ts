import { Readable } from 'node:stream';
import { z } from 'zod';
import { ServiceError } from '../../shared/errors.ts';
import { ingestSpans } from '../../shared/otel/ingestSpans.ts';
import { type OtlpEncoding, openOtlp } from '../../shared/otel/otlp.ts';
import { createFindTarget, type TargetDeps, targetOfHeaders } from '../../shared/otel/target.ts';
import type { RecordWriter } from '../../shared/records/recordWriter.ts';
import { type Endpoint, endpoint, Reply } from '../route.ts';
import { INGEST_BODY_LIMIT } from './traces.ts';

export interface OpenTelemetryDeps extends TargetDeps {
  writer: Pick<RecordWriter, 'writeParts' | 'intake'>;
}

const Body = z.instanceof(Buffer).meta({ type: 'string', format: 'binary' });

/** OTLP over HTTP, at the addresses that exporters are configured with: a signal's own, and below a base. */
export function openTelemetryRoutes(deps: OpenTelemetryDeps): Endpoint[] {
  const otlp = openOtlp();
  const ingest = { writer: deps.writer, findTarget: createFindTarget(deps) };
  return ['/v1/traces', '/otel/traces', '/otel/v1/traces'].map((path) =>
    endpoint({
      method: 'post',
      path,
      summary: 'Log spans of OpenTelemetry',
      description:
        'OTLP over HTTP: an `ExportTraceServiceRequest` as protobuf (`application/x-protobuf`) or JSON (`application/json`), plain or gzip. ' +
        'The headers `project`, and `logstream` or `experimentid`, say where the spans go, by name or id; see the page on OpenTelemetry.',
      tag: 'Records',
      access: 'signedIn',
      body: Body,
      bodyKind: 'bytes',
      bodyLimit: INGEST_BODY_LIMIT,
      intake: deps.writer.intake,
      produces: ['application/x-protobuf'],
      async handle({ body, caller, request }) {
        const encoding = encodingOf(request.headers['content-type']);
        const spans = otlp.readRequest(body, encoding);
        const result = await ingestSpans(ingest, caller, targetOfHeaders(request.headers), spans);
        if (encoding === 'json') return new Reply({ body: otlp.response(result, 'json') });
        return new Reply({
          headers: { 'content-type': 'application/x-protobuf' },
          stream: Readable.from([Buffer.from(otlp.response(result, 'protobuf'))]),
        });
      },
    }),
  );
}

function encodingOf(contentType: string | undefined): OtlpEncoding {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf';
  if (type === 'application/json') return 'json';
  throw new ServiceError('UnsupportedMediaType', 'content-type must be application/x-protobuf or application/json');
}
