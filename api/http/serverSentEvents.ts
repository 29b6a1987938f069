import type { Followed } from '../../shared/concurrency/followedStates.ts';
import type { LiveStreams } from '../../shared/concurrency/liveStreams.ts';
import { onAbort } from '../../shared/concurrency/onAbort.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { Reply } from './route.ts';

/** Milliseconds between two looks at whether the caller may still read, which are also the most between two signs of life. */
const CHECK_MS = 5_000;
/** Milliseconds after which a client that lost its stream asks again. */
const RETRY_MS = 2_000;

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Neither this service nor a proxy holds parts back to compress or to gather them.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Shared by all event streams of a process. */
export interface Following {
  streams: LiveStreams;
  /** Aborts when the process is about to end. */
  stopping: AbortSignal;
}

export interface Listener extends Pick<Following, 'stopping'> {
  /** @throws ServiceError that says why not */
  mayGoOn(): Promise<void>;
  /** Aborts when the caller hangs up. */
  signal: AbortSignal;
}

/** The answer to `HEAD`, which opens no stream. */
export const headOfEvents = (): Reply => new Reply({ body: Buffer.alloc(0), headers });

/**
 * A stream of the states of something: the first one, then each that is another, with signs of life between them. An event `end` says why it ends.
 * @param write an event of a state, by {@link serverEvent}; an empty text where there is nothing to say. `before` is undefined at first
 */
export const eventsReply = <State>(
  followed: Followed<State>,
  write: (state: State, before: State | undefined) => string,
  listener: Listener,
): Reply => new Reply({ stream: events(followed, write, listener), headers });

const SIGN_OF_LIFE = ': nothing new\n\n';

async function* events<State>(
  followed: Followed<State>,
  write: (state: State, before: State | undefined) => string,
  { mayGoOn, stopping, signal }: Listener,
) {
  using states = followed;
  const ending = new AbortController();
  const unheard = [stopping, signal].map((one) => onAbort(one, () => ending.abort()));
  try {
    let state = states.first;
    yield `retry: ${RETRY_MS}\n\n${write(state, undefined)}`;
    while (!signal.aborted) {
      const next = await states.changed(state, CHECK_MS, ending.signal);
      if (stopping.aborted) throw new ServiceError('Unavailable', 'the service is stopping: connect again');
      // Also before an event: what somebody may not read any more is not sent.
      await mayGoOn();
      yield (next && write(next, state)) || SIGN_OF_LIFE;
      state = next ?? state;
    }
  } catch (err) {
    if (!(err instanceof ServiceError)) throw err;
    yield serverEvent('end', { status: err.status, detail: err.message });
  } finally {
    for (const unhear of unheard) unhear();
  }
}

/**
 * A stream of the events that a work sends, with signs of life while it sends none. The work goes on to its end when the caller leaves, may not go on, or
 * the process is about to end: its signal then says why. Until the first event is there, what it throws is answered as an error.
 * @param work sends events by {@link serverEvent}
 */
export const workReply = (
  work: (send: (event: string) => void, signal: AbortSignal) => Promise<void>,
  listener: Listener,
): Reply => new Reply({ stream: eventsOfWork(work, listener), headers });

async function* eventsOfWork(
  work: (send: (event: string) => void, signal: AbortSignal) => Promise<void>,
  { mayGoOn, stopping, signal }: Listener,
) {
  const ending = new AbortController();
  const unheard = [
    onAbort(signal, () => ending.abort(signal.reason)),
    onAbort(stopping, () => ending.abort(new ServiceError('Unavailable', 'the service is stopping: call again'))),
  ];
  const unsent: string[] = [];
  let isOver = false;
  let wake = () => {};
  const looking = setInterval(() => {
    mayGoOn().catch((err: unknown) => {
      if (err instanceof ServiceError && err.permanent) ending.abort(err);
    });
    wake();
  }, CHECK_MS);
  const working = work((event) => {
    unsent.push(event);
    wake();
  }, ending.signal).finally(() => {
    isOver = true;
    wake();
  });
  working.catch(() => {}); // thrown below, when all that it sent is sent
  try {
    let hasBegun = false;
    for (;;) {
      if (unsent.length > 0) {
        hasBegun = true;
        yield unsent.splice(0).join('');
        continue;
      }
      if (isOver) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (unsent.length === 0 && !isOver && hasBegun) yield SIGN_OF_LIFE;
    }
    await working;
  } finally {
    clearInterval(looking);
    ending.abort(signal.reason);
    await working.catch(() => {});
    for (const unhear of unheard) unhear();
  }
}

/** One event as it is on the wire. */
export const serverEvent = (name: string, data: object, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
