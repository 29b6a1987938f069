import { currentLogger } from './logger.ts';
import { watched } from './observed.ts';
import type { SessionFields } from './session.ts';
import { failureOf } from './spans.ts';
import type { TraceFields } from './trace.ts';

export interface HandlerTracing {
  /** The session that a request belongs to; undefined: none. */
  session?: (request: Request) => SessionFields | undefined;
  /** Requests that are not logged, say health checks. */
  ignore?: (request: Request) => boolean;
  /** Tags, metadata and so on; a name other than method and path. */
  fields?: (request: Request) => TraceFields;
}

type Handler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | Promise<Response>;

/** Bodies that are logged as their text. */
const isText = (headers: Headers): boolean => /^text\/|json|xml|urlencoded/.test(headers.get('content-type') ?? 'text/plain');

/**
 * A handler of the Fetch API, as servers of Bun, Deno, Hono, Next.js and edge runtimes take it, in which each request is a trace: what it logs belongs to
 * it. The trace ends with the response, and has its text; other bodies are not looked at. The logger made last logs it; where there is none, nothing is logged.
 */
export function traceHandler<Rest extends unknown[]>(handler: Handler<Rest>, tracing: HandlerTracing = {}): Handler<Rest> {
  return (request, ...rest) => {
    const logger = currentLogger();
    if (!logger || tracing.ignore?.(request)) return handler(request, ...rest);
    const session = tracing.session?.(request);
    const answer = async (): Promise<Response> => {
      const { pathname, search } = new URL(request.url);
      const hasText = request.body && isText(request.headers);
      // The handler reads the body, too, which can be read once.
      const text = hasText
        ? request
            .clone()
            .text()
            .catch(() => undefined)
        : undefined;
      const trace = logger.startTrace(undefined, { name: `${request.method} ${pathname}`, ...tracing.fields?.(request) });
      const conclude = async (output: unknown, end: { statusCode: number; errorMessage?: string }): Promise<void> => {
        trace.conclude(output, { input: (await text) ?? `${request.method} ${pathname}${search}`, ...end });
      };
      try {
        const response = await trace.run(() => handler(request, ...rest));
        const { status: statusCode, body } = response;
        if (!body || !isText(response.headers)) {
          await conclude(null, { statusCode });
          return response;
        }
        const seen = watched(body, trace.place, {
          end(outcome) {
            if ('error' in outcome) void conclude(null, { ...failureOf(outcome.error), statusCode });
            else void conclude(outcome.value, { statusCode });
          },
        });
        return new Response(seen as ReadableStream, response);
      } catch (error) {
        const { output, ...failure } = failureOf(error);
        await conclude(output, failure);
        throw error;
      }
    };
    return session ? logger.startSession(session, answer) : answer();
  };
}
