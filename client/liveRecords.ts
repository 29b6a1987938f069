import type { LiveRecordsEvent } from '../shared/wire/liveRecords.ts';
import { ConnectionError, HttpStatusError } from './errors.ts';
import { backoffMs, pause, type ServiceClient } from './http.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';
import { type RunChoice, runOf } from './recordChoice.ts';

/** The records that came to a run since the event before, and those it holds. */
export interface LiveRecords extends LiveRecordsEvent {
  /** Where to go on later: `lastEventId` of another call. */
  id: string;
}

export interface LiveRecordsOptions extends OperationOptions, RunChoice {
  /** `id` of the last event that was seen; absent: from now on. */
  lastEventId?: string | undefined;
}

/**
 * Says again and again how many records came to a run: once at the start, then about a second after they came. A stream that breaks is opened again where
 * it stopped, until `signal` aborts (the iteration then ends) or the service refuses.
 * @throws ValueError unless exactly one run is given; HttpStatusError where the caller may not read the run, or not any more.
 */
export async function* liveRecords(options: LiveRecordsOptions): AsyncGenerator<LiveRecords, void> {
  const run = runOf(options);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  yield* followRun(client, { ...options, projectId, run });
}

/** Milliseconds without any sign of life after which a stream counts as broken; the service gives one every 5 s. */
const SILENCE_MS = 20_000;

export interface FollowOptions {
  projectId: string;
  run: Record<string, string | undefined>;
  lastEventId?: string | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Called when a stream begins. */
  onConnected?: () => void;
  /** Gets why a stream broke, or could not be opened again (undefined: the service ended it); it is tried again. */
  onLost?: (why: unknown) => void;
}

/** As {@link liveRecords}, of a project and run that are known by their ids. */
export async function* followRun(client: ServiceClient, options: FollowOptions): AsyncGenerator<LiveRecords, void> {
  const { projectId, run, headers, signal } = options;
  let lastEventId = options.lastEventId;
  let wasConnected = false;
  for (let failures = 0; !signal?.aborted; ) {
    let why: unknown;
    const silence = new AbortController();
    const stream = { ...headers, accept: 'text/event-stream', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) };
    const isAlive = timer(() => silence.abort(new Error('nothing was heard for too long')), SILENCE_MS);
    try {
      const content = await client.download(`/projects/${encodeURIComponent(projectId)}/live_records`, {
        ...{ query: run, headers: stream, retries: 0 },
        signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal,
      });
      wasConnected = true;
      options.onConnected?.();
      for await (const { name, id, data } of eventsOf(content, isAlive.again)) {
        failures = 0;
        if (name !== 'records' || id === undefined) continue;
        lastEventId = id;
        yield { ...(JSON.parse(data) as LiveRecordsEvent), id };
      }
    } catch (err) {
      if (signal?.aborted) return;
      if (err instanceof HttpStatusError && isRefused(err.status, wasConnected)) throw err;
      why = err;
      if (!(err instanceof HttpStatusError || err instanceof ConnectionError || silence.signal.aborted || isBroken(err)))
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
const isBroken = (err: unknown): boolean => err instanceof TypeError || (err as { name?: unknown } | null)?.name === 'AbortError';

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
async function* eventsOf(content: ReadableStream<Uint8Array>, onPart: () => void): AsyncGenerator<ServerEvent, void> {
  const reader = content.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onPart();
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
