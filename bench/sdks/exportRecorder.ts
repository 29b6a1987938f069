import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

/** Stands before a service and keeps what is exported to it. */
export interface ExportRecorder {
  url: string;
  /** The requests so far in OTLP/JSON, as files of `test/fixtures/otel` hold them. */
  requests(): object[];
  close(): Promise<void>;
}

/** @param service its address: requests are sent on as they came */
export async function startExportRecorder(service: string): Promise<ExportRecorder> {
  const requests: object[] = [];
  const server = createServer(async (incoming, response) => {
    if (/\/v1\/(?:logs|metrics)$/.test(incoming.url ?? '')) {
      incoming.resume();
      response.writeHead(404).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const headers: Record<string, string> = Object.fromEntries(
      sentOn.flatMap((name) => (incoming.headers[name] === undefined ? [] : [[name, String(incoming.headers[name])]])),
    );
    const answer = await fetch(`${service}${incoming.url?.replace(/^\/(?!v1\/traces$).*/, '/v1/traces')}`, {
      method: 'POST',
      headers,
      body,
    });
    if (!answer.ok) process.stderr.write(`the service answered ${answer.status}: ${await answer.clone().text()}\n`);
    else requests.push(asJson(headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body, headers['content-type']));
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const sentOn = ['content-type', 'content-encoding', 'service-api-key', 'project', 'logstream'];
const root = new protobuf.Root();
root.resolvePath = (_origin, target) => join(import.meta.dirname, '../../shared/otel/definitions', target);
root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
const type = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');

function asJson(body: Buffer, contentType: string | undefined): object {
  if (contentType?.includes('json')) return JSON.parse(body.toString('utf8'));
  const request = type.toObject(type.decode(body), { longs: String, bytes: String });
  const withHexIds = (name: string, value: unknown) =>
    /^(?:trace|span|parentSpan)Id$/.test(name) ? Buffer.from(value as string, 'base64').toString('hex') : value;
  return JSON.parse(JSON.stringify(request), withHexIds);
}
