export interface StatementLimits {
  /** Seconds for an insert, without its wait for a turn. 1.5 million rows took 0.3 s; a busy machine with a slow disk may need many times as long. */
  insertSeconds: number;
  /** Seconds for a statement without a limit of its own, such as DDL and deletes, which wait until every part is rewritten, and for the next rows of a stream. */
  statementSeconds: number;
  /** Seconds beyond a read's own `max_execution_time`, which the engine holds itself as a rule. */
  readSlackSeconds: number;
  /** Seconds that a cancelled statement has to come back: one that slept took 0.6. */
  cancelSeconds: number;
  /** Seconds for which a statement that has not come back makes the engine count as lost. More than an insert's, so that it stays lost while all hang. */
  lostSeconds: number;
}

/** Seconds that a read may take, or the next rows of a stream: those that may run for a day are no read that hangs for a day. */
export const readSeconds = (maxSeconds: number, { readSlackSeconds, statementSeconds }: StatementLimits): number =>
  Math.min(maxSeconds, statementSeconds) + readSlackSeconds;

export const statementLimits: StatementLimits = {
  insertSeconds: 60,
  statementSeconds: 600,
  readSlackSeconds: 30,
  cancelSeconds: 5,
  lostSeconds: 120,
};

/** Statements that may hang at a time: each holds one thread of libuv's pool, which has four by default. */
const MAX_HUNG = 3;
/** Seconds that the close of the engine waits for what runs: less than a process takes to stop. */
const CLOSE_SECONDS = 8;
/** Seconds after which a statement that still runs at the end of the process is not waited for. */
const EXIT_SECONDS = 5;

/** A statement was given up. What it was to write may be stored or not, so the same block must be sent again. */
export class StatementHangs extends Error {
  override readonly name = 'StatementHangs';
  /** It was cancelled and has ended with an error. */
  hasEnded = false;
}

export interface StatementEnd {
  /** The name of the engine that runs the statement, for the error. */
  engine: string;
  /** Seconds that a cancelled statement has to come back. */
  cancelSeconds: number;
  /** Asks the engine to end the statement. */
  cancel(): Promise<unknown>;
  /** The statement did not come back, cancelled or not. @returns what this means, for the error */
  onLost(): string;
}

/**
 * Returns the result of the statement `work`. After `seconds` the statement is cancelled and not repeated; its outcome counts all the same, for
 * instance that of a write that ended just then.
 * @param signal cancels it before its time, and its reason is thrown whatever comes of the statement
 * @throws StatementHangs when it takes longer than `seconds`, or does not come back from its cancellation
 */
export async function endedWithin<T>(seconds: number, work: Promise<T>, end: StatementEnd, signal?: AbortSignal): Promise<T> {
  if (await settles(work, seconds, signal)) return work;
  void end.cancel().catch(() => undefined);
  if (signal?.aborted) {
    if (await settles(work, end.cancelSeconds)) throw signal.reason;
    throw new StatementHangs(`${end.engine} does not come back from a statement that was called off: ${end.onLost()}`);
  }
  const late = `${end.engine} did not answer within ${seconds} s`;
  if (await settles(work, end.cancelSeconds))
    return work.catch((cause: unknown) => {
      throw Object.assign(new StatementHangs(`${late}: it was cancelled`, { cause }), { hasEnded: true });
    });
  throw new StatementHangs(`${late}: ${end.onLost()}`);
}

interface Running {
  work: Promise<unknown>;
  begun: number;
  givenUp?: number;
}

/**
 * Gives up what the engine does not come back from: nothing in chDB's interface ends a running statement. One small insert was seen to hang for good;
 * why is not known: 200,000 of them in several lanes, beside reads and on four or eight threads, did not do it again. `KILL QUERY` ends what runs or
 * waits in the engine's own code; nothing ends a thread that waits for a lock or a file, and its place in libuv's pool is lost until the process ends.
 */
export class HungStatements {
  readonly limits: StatementLimits;
  /** Rejects when so many statements hang that only a new start of the process helps. */
  readonly tooMany: Promise<never>;
  readonly #giveUp: (err: Error) => void;
  readonly #running = new Set<Running>();
  readonly #cancel: (tag: string) => Promise<unknown>;
  #cancelling: Promise<unknown> = Promise.resolve();

  /** @param cancel asks the engine to end the statement of the session with this tag */
  constructor(limits: StatementLimits, cancel: (tag: string) => Promise<unknown>) {
    this.limits = limits;
    this.#cancel = cancel;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined); // the process listens; a test need not
    this.tooMany = promise;
    this.#giveUp = reject;
    process.on('exit', this.#onExit);
  }

  /** True while a statement that was given up lately has not come back. */
  get lost(): boolean {
    const since = performance.now() - this.limits.lostSeconds * 1_000;
    return this.#givenUp.some((at) => at > since);
  }

  get #givenUp(): number[] {
    return [...this.#running].flatMap(({ givenUp = [] }) => givenUp);
  }

  /**
   * Returns the result of `work`, a statement of the session with this tag.
   * @param onCancel hears that the session may not be used again: the engine may end whatever runs in it, also later
   * @throws StatementHangs when it takes longer than `seconds`
   */
  async within<T>(seconds: number, tag: string, work: Promise<T>, onCancel: () => void, signal?: AbortSignal): Promise<T> {
    const running: Running = { work, begun: performance.now() };
    this.#running.add(running);
    const end = () => this.#running.delete(running);
    void work.then(end, end);

    const statement: StatementEnd = {
      engine: 'the embedded engine',
      cancelSeconds: this.limits.cancelSeconds,
      // One at a time: should this hang as well, it costs one thread and not many.
      cancel: async () => {
        onCancel();
        this.#cancelling = this.#cancelling.then(() => this.#cancel(tag)).catch(() => undefined);
      },
      onLost: () => {
        running.givenUp = performance.now();
        if (this.#givenUp.length >= MAX_HUNG)
          this.#giveUp(
            new Error(`the embedded ClickHouse engine does not come back from ${MAX_HUNG} statements; start the service again`),
          );
        return 'it cannot be cancelled, and its thread is lost until it comes back or the service is started again';
      },
    };
    return endedWithin(seconds, work, statement, signal);
  }

  /** Waits for what still runs, `drained`; where something hangs, for everything else. */
  async atClose(drained: Promise<unknown>): Promise<void> {
    const others = () => [...this.#running].filter(({ givenUp }) => givenUp === undefined).map(({ work }) => work);
    const end = this.#givenUp.length === 0 ? drained : Promise.allSettled(others());
    if ((await settles(end, CLOSE_SECONDS)) && this.#running.size === 0) process.off('exit', this.#onExit);
  }

  /** A process ends by waiting for every thread of libuv's pool: with a hung statement it never would. What is stored survives this. */
  readonly #onExit = () => {
    const before = performance.now() - EXIT_SECONDS * 1_000;
    if ([...this.#running].some(({ begun, givenUp }) => givenUp !== undefined || begun < before))
      process.kill(process.pid, 'SIGKILL');
  };
}

/** True when `work` settles, well or not, within these seconds and before the signal. */
function settles(work: Promise<unknown>, seconds: number, signal?: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const giveUp = () => resolve(false);
  const timer = setTimeout(giveUp, seconds * 1_000);
  if (signal?.aborted) giveUp();
  signal?.addEventListener('abort', giveUp);
  const done = () => resolve(true);
  void work.then(done, done);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  });
}
