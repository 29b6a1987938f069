import { ConnectionError, HttpStatusError } from './errors.ts';
import { backoffMs, pause, type ServiceClient } from './http.ts';

/** Milliseconds without any sign of life after which a stream counts as broken; the service gives one every 5 s. */
const SILENCE_MS = 20_000;

/** How a stream of events is followed. */
export interface FollowOptions {
  /** `id` of the last event that was seen. */
  lastEventId?: string | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Called when a stream begins. */
  onConnected?: () => void;
  /** Gets why a stream broke, or could not be opened again (undefined: the service ended it); it is tried again. */
  onLost?: (why: unknown) => void;
}

export interface Followable {
  path: string;
  query?: Record<string, string | undefined>;
  /** Name of the events that are wanted. */
  event: string;
}

/**
 * Yields the data of the events of a stream, with their ids. A stream that breaks is opened again where it stopped, until the signal aborts (the iteration
 * then ends) or the service refuses.
 * @throws HttpStatusError where the caller may not read it, or not any more
 */
export async function* followEvents<Data extends object>(
  client: ServiceClient,
  { path, query = {}, event }: Followable,
  options: FollowOptions,
): AsyncGenerator<Data & { id: string }, void> {
  const { headers, signal } = options;
  let lastEventId = options.lastEventId;
  let wasConnected = false;
  for (let failures = 0; !signal?.aborted; ) {
    let why: unknown;
    const isAlive = silenceWatch();
    const stream = { ...headers, accept: 'text/event-stream', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) };
    try {
      const content = await client.download(path, {
        ...{ query, headers: stream, retries: 0 },
        signal: signal ? AbortSignal.any([signal, isAlive.signal]) : isAlive.signal,
      });
      wasConnected = true;
      options.onConnected?.();
      for await (const { name, id, data } of eventsOf(content, isAlive.again)) {
        failures = 0;
        if (name !== event || id === undefined) continue;
        lastEventId = id;
        yield { ...(JSON.parse(data) as Data), id };
      }
    } catch (err) {
      if (signal?.aborted) return;
      if (err instanceof HttpStatusError && isRefused(err.status, wasConnected)) throw err;
      why = err;
      if (!(err instanceof HttpStatusError || err instanceof ConnectionError || isAlive.signal.aborted || isBroken(err)))
        throw err;
    } finally {
      isAlive.stop();
    }
    options.onLost?.(why);
    await pause(backoffMs(++failures), signal).catch(() => undefined);
  }
}

/** The service may still count the stream that broke when the client comes back. */
const isRefused = (status: number, wasConnected: boolean): boolean =>
  status < 500 && status !== 408 && !(status === 429 && wasConnected);

/** The error of a body that breaks off. */
export const isBroken = (err: unknown): boolean =>
  err instanceof TypeError || (err as { name?: unknown } | null)?.name === 'AbortError';

interface SilenceWatch {
  readonly signal: AbortSignal;
  again(): void;
  stop(): void;
}

/** Aborts when a stream has been silent for too long. */
export function silenceWatch(): SilenceWatch {
  const silence = new AbortController();
  const running = timer(() => silence.abort(new Error('nothing was heard for too long')), SILENCE_MS);
  return { ...running, signal: silence.signal };
}

function timer(elapsed: () => void, ms: number) {
  let running = setTimeout(elapsed, ms);
  return {
    again() {
      clearTimeout(running);
      running = setTimeout(elapsed, ms);
    },
    stop: () => clearTimeout(running),
  };
}

interface ServerEvent {
  name: string;
  id: string | undefined;
  data: string;
}

/** Server-sent events as this service writes them: one `data` line each. */
export async function* eventsOf(content: ReadableStream<Uint8Array>, onPart?: () => void): AsyncGenerator<ServerEvent, void> {
  const reader = content.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onPart?.();
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const field = (name: string) =>
          block
            .split('\n')
            .find((line) => line.startsWith(`${name}: `))
            ?.slice(name.length + 2);
        const name = field('event');
        if (name !== undefined) yield { name, id: field('id'), data: field('data') ?? 'null' };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
