import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import { observeProcess } from './processMetrics.ts';
import type { ProcessTelemetry } from './telemetry.ts';

export interface MetricsServer {
  /** Where the metrics are read; undefined where no port is set for them. */
  url: string | undefined;
  close(): Promise<void>;
}

/**
 * Serves the metrics of this process at `/metrics` on a port of their own, where one is set: a scraper needs no account of the service, and workers, which
 * serve no HTTP otherwise, are read as the api is.
 * @throws Error with one sentence when the address cannot be listened on.
 */
export async function openMetricsServer(
  { METRICS_HOST, METRICS_PORT, METRICS_TOKEN }: Pick<Config, 'METRICS_HOST' | 'METRICS_PORT' | 'METRICS_TOKEN'>,
  telemetry: ProcessTelemetry,
): Promise<MetricsServer> {
  if (METRICS_PORT === undefined) return { url: undefined, close: async () => {} };
  observeProcess(telemetry);
  const server = createServer(async (request, response) => {
    const answer = (status: number, text: string, headers: Record<string, string> = {}) =>
      void response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers }).end(text);
    if (METRICS_TOKEN !== undefined && !carries(request, METRICS_TOKEN))
      return answer(401, 'send METRICS_TOKEN as a bearer token\n', { 'WWW-Authenticate': 'Bearer' });
    if (request.url?.split('?')[0] !== '/metrics') return answer(404, 'the metrics are at /metrics\n');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(405, 'the metrics are read with GET\n', { Allow: 'GET, HEAD' });
    try {
      answer(200, await telemetry.text(), { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
    } catch {
      answer(500, 'the metrics could not be read\n');
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new Error(`the metrics cannot be served at ${METRICS_HOST}:${METRICS_PORT} (METRICS_PORT): ${cause.message}`, { cause }),
      ),
    );
    server.listen(METRICS_PORT, METRICS_HOST, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = METRICS_HOST.includes(':') ? `[${METRICS_HOST}]` : METRICS_HOST;
  return {
    url: `http://${host}:${port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const carries = ({ headers }: IncomingMessage, token: string): boolean =>
  timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));

/** Texts of one length, so that the comparison says nothing of the token's. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
