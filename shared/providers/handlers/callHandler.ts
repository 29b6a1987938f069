import { OutboundRefused } from '../../outbound/outbound.ts';
import { AttemptFailure, connectionFailure, httpFailure, isConnectionFailure } from '../failures.ts';
import type { Connection } from '../provider.ts';
import { type HandlerReply, HandlerThrew } from './handlerProcess.ts';
import type { Handlers } from './handlers.ts';
import type { HandlerRequest } from './messages.ts';

/** A handler's `complete`, with what it throws turned into our failures. @param key the integration */
export async function callHandler(
  handlers: Handlers,
  key: string,
  connection: Connection,
  call: HandlerRequest,
  signal: AbortSignal,
): Promise<HandlerReply> {
  const config = connection.handler as NonNullable<Connection['handler']>;
  const who = `the handler ${config.className}`;
  let reply: HandlerReply;
  try {
    reply = await handlers.complete(key, config, call, signal);
  } catch (err) {
    signal.throwIfAborted();
    if (err instanceof OutboundRefused || isConnectionFailure(err)) throw connectionFailure(`${who}'s endpoint`, err);
    if (!(err instanceof HandlerThrew)) throw err;
    const { status, retryAfterMs } = err;
    if (status !== undefined && status >= 400 && status <= 599) {
      const headers = new Headers(retryAfterMs === undefined ? {} : { 'retry-after-ms': String(retryAfterMs) });
      throw httpFailure(`${who}'s endpoint`, status, headers);
    }
    throw new AttemptFailure('handler_error', `${who} failed: ${withoutSecrets(err.message, connection, call.headers)}`, {
      retry: false,
    });
  }
  if (typeof reply.answer?.content !== 'string')
    throw new AttemptFailure('handler_error', `${who} must answer an object with a text \`content\``, { retry: false });
  return reply;
}

const MAX_HANDLER_MESSAGE = 300;
/** Shorter values are words, not secrets. */
const SHORTEST_SECRET = 4;

/** A handler's own words, without the secrets it was given. */
function withoutSecrets(text: string, { authentication, handler }: Connection, headers: Record<string, string>): string {
  const credentials = authentication.kind === 'oauth2' ? authentication.credentials : null;
  const secrets = textsIn([headers, handler?.initKwargs, credentials]).flatMap((value) => [value, value.replace(/^Bearer /, '')]);
  const clean = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
  return clean.split('\n')[0]?.slice(0, MAX_HANDLER_MESSAGE) ?? '';
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : [];
