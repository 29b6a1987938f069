import pg from 'pg';

/** Says how long a connection was waited for where all were in use. */
export class TimedPool extends pg.Pool {
  readonly #onWait: ((seconds: number) => void) | undefined;

  constructor(onWait: ((seconds: number) => void) | undefined, options: pg.PoolConfig) {
    super(options);
    this.#onWait = onWait;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  // biome-ignore lint/suspicious/noConfusingVoidType: the driver's own two forms, of which `query` uses the one with a callback
  override connect(callback?: Connected): Promise<pg.PoolClient> | void {
    const isFree = this.idleCount > this.waitingCount || this.totalCount < this.options.max;
    const begun = performance.now();
    const had = () => (isFree ? undefined : this.#onWait?.((performance.now() - begun) / 1_000));
    if (!callback) return super.connect().finally(had);
    super.connect((...given) => {
      had();
      callback(...given);
    });
  }
}

type Connected = Parameters<pg.Pool['connect']>[0] extends infer C ? Exclude<C, undefined> : never;
