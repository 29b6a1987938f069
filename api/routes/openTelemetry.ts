import { z } from 'zod';
import { ServiceError } from '../../shared/errors/errors.ts';
import { ingestOtelSpans } from '../../shared/otel/ingestOtelSpans.ts';
import { type OtlpEncoding, openOtlp } from '../../shared/otel/otlp.ts';
import { type FindTarget, openTargets, type TargetDeps, targetOfHeaders } from '../../shared/otel/target.ts';
import type { Made } from '../../shared/projects/firstLog.ts';
import type { EmptySessions } from '../../shared/records/emptySessions.ts';
import type { RecordWriter } from '../../shared/records/recordWriter.ts';
import type { StubTraces } from '../../shared/records/stubTraces.ts';
import type { AccountGate } from '../callers/authenticate.ts';
import { type Endpoint, type ErrorForm, endpoint, Reply } from '../http/route.ts';
import { INGEST_BODY_LIMIT } from '../records/loggedRecords.ts';
import { madeHeaders } from '../views/made.ts';

export interface OpenTelemetryDeps extends TargetDeps {
  writer: Pick<RecordWriter, 'writeParts'>;
  emptySessions: Pick<EmptySessions, 'left'>;
  stubTraces: Pick<StubTraces, 'add' | 'remove' | 'find' | 'keep'>;
  noteTarget: AccountGate['noteTarget'];
}

const Body = z.instanceof(Buffer);

/** OTLP over HTTP, at the addresses that exporters are configured with: a signal's own, and below a base. */
export function openTelemetryRoutes(deps: OpenTelemetryDeps): Endpoint[] {
  const otlp = openOtlp();
  const targets = openTargets(deps);
  const ingest = {
    writer: deps.writer,
    emptySessions: deps.emptySessions,
    stubTraces: deps.stubTraces,
  };
  // Exporters show the reason only where it is said in the words of their protocol; those of all routes stand beside it in JSON.
  const errorForm: ErrorForm = (request, status, body) => {
    const type = mediaType(request.headers['content-type']);
    const message = reasonIn(body.detail);
    if (type === 'application/json') return new Reply({ body: { ...body, ...otlp.refusal(status, message, 'json') } });
    const headers = { 'content-type': 'application/x-protobuf' };
    return encodings.has(type) ? new Reply({ headers, body: Buffer.from(otlp.refusal(status, message, 'protobuf')) }) : undefined;
  };
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
      isIngest: true,
      admit: (caller, request) => targets.admit(caller, targetOfHeaders(request.headers)),
      consumes: ['application/x-protobuf', 'application/json'],
      produces: ['application/x-protobuf', 'application/json'],
      messages: { request: 'ExportTraceServiceRequest', reply: 'ExportTraceServiceResponse', error: 'google.rpc.Status' },
      errors: ['NotFound'],
      errorForm,
      async handle({ body, caller, request }) {
        const encoding = encodingOf(request.headers['content-type']);
        const spans = otlp.readRequest(body, encoding);
        const made: Made[] = [];
        const findTarget: FindTarget = async (...named) => {
          const run = await targets.find(...named);
          deps.noteTarget(request, run);
          return run;
        };
        const result = await ingestOtelSpans({ ...ingest, findTarget }, caller, targetOfHeaders(request.headers), spans, made);
        if (encoding === 'json') return new Reply({ body: otlp.response(result, 'json'), headers: madeHeaders(made) });
        return new Reply({
          headers: { 'content-type': 'application/x-protobuf', ...madeHeaders(made) },
          body: Buffer.from(otlp.response(result, 'protobuf')),
        });
      },
    }),
  );
}

const mediaType = (contentType: string | undefined): string => contentType?.split(';')[0]?.trim().toLowerCase() ?? '';

const encodings: ReadonlyMap<string, OtlpEncoding> = new Map([
  ['application/x-protobuf', 'protobuf'],
  ['application/protobuf', 'protobuf'],
  ['application/json', 'json'],
]);

function encodingOf(contentType: string | undefined): OtlpEncoding {
  const encoding = encodings.get(mediaType(contentType));
  if (encoding) return encoding;
  throw new ServiceError('UnsupportedMediaType', 'content-type must be application/x-protobuf or application/json');
}

/** The reason of an error as one text. */
const reasonIn = (detail: unknown): string =>
  Array.isArray(detail) ? detail.map(({ msg }: { msg: string }) => msg).join('; ') : String(detail);
