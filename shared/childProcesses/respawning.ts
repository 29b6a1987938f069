/** One life of a process. */
export interface Life {
  /** Rejects when the process cannot do its work: with a `Hopeless` error, a new process would do no better. */
  ready: Promise<void>;
  readonly dead: boolean;
  /** Ends it by force. */
  end(): Promise<void>;
}

/** Why no further start is worth a try. */
export class Hopeless extends Error {}

/** Starts in a row that may end before the process is ready. */
const MAX_STARTS = 3;

/** A process that is started when it is needed, and started anew when it has died. */
export class Respawning<P extends Life> {
  private readonly spawn: () => P;
  private current: Promise<P> | undefined;
  private closed = false;

  constructor(spawn: () => P) {
    this.spawn = spawn;
  }

  /** The process that lives now. @throws Hopeless when it cannot be started; the next call tries again. */
  async get(): Promise<P> {
    for (;;) {
      this.current ??= this.start();
      const starting = this.current;
      const forget = () => {
        if (this.current === starting) this.current = undefined;
      };
      const process = await starting.catch((err: unknown) => {
        forget();
        throw err;
      });
      if (!process.dead) return process;
      forget();
    }
  }

  /** Starts the process before there is work for it. Who comes first with some hears what is wrong. */
  warm(): void {
    this.current ??= this.start();
    this.current.catch(() => undefined);
  }

  async close(): Promise<void> {
    this.closed = true;
    await (await this.current?.catch(() => undefined))?.end();
  }

  private async start(): Promise<P> {
    for (let starts = 1; ; starts++) {
      const process = this.spawn();
      try {
        await process.ready;
        return process;
      } catch (err) {
        if (this.closed || err instanceof Hopeless) throw err;
        if (starts === MAX_STARTS) throw new Hopeless(`its process ended at each of ${MAX_STARTS} starts`, { cause: err });
      }
    }
  }
}
