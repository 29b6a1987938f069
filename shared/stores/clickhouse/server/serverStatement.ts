import { randomUUID } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import { endedWithin, type StatementEnd, type StatementLimits } from '../hungStatements.ts';

/** One statement on a ClickHouse server, which ends in its time whatever becomes of the server or the way to it. */
export class ServerStatement {
  readonly #client: ClickHouseClient;
  readonly #limits: StatementLimits;
  readonly #signal: AbortSignal | undefined;
  readonly #leaving = new AbortController();
  #id = '';

  /** @param signal calls the statement off: the connection is closed at once, and the server is asked to end what it does */
  constructor(client: ClickHouseClient, limits: StatementLimits, signal?: AbortSignal) {
    this.#client = client;
    this.#limits = limits;
    this.#signal = signal;
  }

  /** Returns the options to send the statement with. The id is new each time: a server refuses the id of a statement that still runs. */
  sending(): { query_id: string; abort_signal: AbortSignal } {
    this.#id = randomUUID();
    const signals = [this.#leaving.signal, ...(this.#signal ? [this.#signal] : [])];
    return { query_id: this.#id, abort_signal: AbortSignal.any(signals) };
  }

  /**
   * Returns the result of `work`, which is all of the statement or a part of its answer.
   * @throws StatementHangs when `work` takes longer than `seconds`
   */
  within<T>(seconds: number, work: Promise<T>): Promise<T> {
    const { cancelSeconds } = this.#limits;
    const statement: StatementEnd = {
      engine: 'the ClickHouse server',
      cancelSeconds,
      cancel: () =>
        this.#client.command({
          query: 'KILL QUERY WHERE query_id = {id:String} ASYNC',
          query_params: { id: this.#id },
          abort_signal: AbortSignal.timeout(cancelSeconds * 1_000),
        }),
      onLost: () => {
        this.#leaving.abort();
        return 'nor to its cancellation, and the connection was closed';
      },
    };
    return endedWithin(seconds, work, statement, this.#signal);
  }
}
