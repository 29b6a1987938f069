import { join } from 'node:path';
import protobuf from 'protobufjs';
import { otlpSpans } from './payload.ts';

export interface Target {
  projectId: string;
  runId: string;
}

/** A way to send traces. */
export interface Form {
  name: string;
  title: string;
  path(target: Target): string;
  headers(target: Target): Record<string, string>;
  body(target: Target, traces: Record<string, unknown>[]): Buffer;
}

export const ownJson: Form = {
  name: 'json',
  title: 'own JSON',
  path: ({ projectId }) => `/v2/projects/${projectId}/traces`,
  headers: () => ({ 'content-type': 'application/json' }),
  body: ({ runId }, traces) => Buffer.from(JSON.stringify({ log_stream_id: runId, traces })),
};

const definitions = new protobuf.Root();
definitions.resolvePath = (_origin, target) => join(import.meta.dirname, '../shared/otel/definitions', target);
const exportRequest = definitions
  .loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto')
  .lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');

export const otlp: Form = {
  name: 'otlp',
  title: 'OTLP protobuf',
  path: () => '/v1/traces',
  headers: ({ projectId, runId }) => ({ 'content-type': 'application/x-protobuf', project: projectId, logstream: runId }),
  body: (_target, traces) => {
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'bench' } }] };
    const scopeSpans = [{ scope: { name: 'bench' }, spans: traces.flatMap(otlpSpans) }];
    return Buffer.from(exportRequest.encode(exportRequest.fromObject({ resourceSpans: [{ resource, scopeSpans }] })).finish());
  },
};
