import type { HandlerCall } from './customHandler.ts';

/** A call as it goes to the process: what it cannot carry is made there. */
export type HandlerRequest = Omit<HandlerCall, 'fetch' | 'signal'>;

/** Messages to a handler process. JSON, as texts, since the channel would round long numbers. */
export type ToHandler =
  | { type: 'load'; path: string; className: string; initKwargs: string }
  | { type: 'call'; id: number /** A `HandlerRequest`. */; call: string }
  | { type: 'abort'; id: number }
  /** Answered by `pong`: the event loop of the process turns. */
  | { type: 'ping' }
  | { type: 'fetched'; id: number; status: number; headers: [string, string][]; body: Uint8Array }
  | { type: 'fetchFailed'; id: number; name: string; message: string };

/** A message of a handler process. A handler has the same channel, and may send anything. */
export type FromHandler =
  | { type: 'ready' }
  /** The class cannot be used, and why. */
  | { type: 'broken'; reason: string }
  | { type: 'pong' }
  | { type: 'answered'; id: number /** JSON, of anything. */; answer: string; durationNs: number }
  | HandlerFailure
  /** `fetch` of a call, which the service makes under its rules for addresses; `id` is the request's own. */
  | { type: 'fetch'; id: number; url: string; method: string; headers: [string, string][]; body: string | null }
  | { type: 'abortFetch'; id: number };

/** An error that a handler threw. */
export interface HandlerFailure {
  type: 'failed';
  id: number;
  text: string;
  /** The HTTP status that the error carries. */
  status?: number;
  retryAfterMs?: number;
  /** The request whose failure it is. */
  fetch?: number;
}
