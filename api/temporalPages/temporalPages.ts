import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import express, { type Express, type Request, type Response } from 'express';
import type { Logger } from 'pino';
import { ServiceError } from '../../shared/errors/errors.ts';
import { withoutLoginCookies } from '../callers/loginCookies.ts';
import { errorResponse } from '../http/errorResponse.ts';
import { hostCheck } from '../http/publicHost.ts';
import type { Gate } from '../http/route.ts';

export interface TemporalPagesOptions {
  gate: Gate;
  log: Logger;
  /** Where the embedded server shows its pages, without a login. */
  upstream: string;
  /** Where these pages are: no other host is answered, loopback names aside. */
  url: string;
  apiKeyHeaders: readonly string[];
}

/**
 * The pages of the embedded Temporal server, behind a login: they show and steer the runs of every project, so administrators alone see them, by
 * password (the browser asks) or key. The credentials stay here.
 */
export function temporalPages({ gate, log, upstream, url, apiKeyHeaders }: TemporalPagesOptions): Express {
  const checkHost = hostCheck(url);
  const target = new URL(upstream);
  const kept = new Set([...HOP_BY_HOP, 'host', 'authorization', 'cookie', ...apiKeyHeaders.map((name) => name.toLowerCase())]);
  const app = express();
  app.disable('x-powered-by');
  app.use(async (request, response) => {
    checkHost(request);
    // A browser adds the password by itself, to what other pages send here as well.
    const { origin } = request.headers;
    if (origin !== undefined && origin !== `http://${request.headers.host}`)
      throw new ServiceError('Forbidden', 'Temporal’s pages take requests from themselves alone');
    await gate.authorize(await gate.authenticate(request), { organization: 'manage_users' }, undefined);
    await forward(request, response, target, kept);
  });
  app.use(errorResponse(log));
  return app;
}

/** Headers of one connection, which Node writes itself (RFC 9110, 7.6.1). */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

async function forward(request: Request, response: Response, target: URL, kept: ReadonlySet<string>): Promise<void> {
  const cookie = withoutLoginCookies(request);
  const onward = httpRequest({
    hostname: target.hostname,
    port: target.port,
    method: request.method,
    path: request.originalUrl,
    headers: { ...without(request.headers, kept), host: target.host, ...(cookie !== undefined && { cookie }) },
  });
  const answered = answerOf(onward);
  pipeline(request, onward).catch(() => onward.destroy());
  response.once('close', () => onward.destroy());
  const answer = await answered;
  const policies = [answer.headers['content-security-policy'] ?? [], "frame-ancestors 'none'"].flat();
  response.status(answer.statusCode ?? 502);
  for (const [name, value] of Object.entries(without(answer.headers, new Set(HOP_BY_HOP))))
    if (value !== undefined) response.setHeader(name, value);
  response.setHeader('Content-Security-Policy', policies);
  await pipeline(answer, response);
}

/** @throws ServiceError `Unavailable` while Temporal's server is being started again. */
function answerOf(onward: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    onward.once('response', resolve);
    onward.once('error', (cause) =>
      reject(new ServiceError('Unavailable', 'Temporal’s pages do not answer', { retryAfterSeconds: 1, cause })),
    );
  });
}

const without = (headers: IncomingMessage['headers'], names: ReadonlySet<string>): IncomingMessage['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name)));
