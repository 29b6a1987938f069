import { randomUUID } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import { endedWithin, type StatementLimits } from './hungStatements.ts';

/** One statement on a ClickHouse server, which ends in its time whatever becomes of the server or the way to it. */
export class ServerStatement {
  readonly #client: ClickHouseClient;
  readonly #limits: StatementLimits;
  readonly #leaving = new AbortController();
  #id = '';

  constructor(client: ClickHouseClient, limits: StatementLimits) {
    this.#client = client;
    this.#limits = limits;
  }

  /** What it is sent with. The id is new each time: a server refuses that of a statement which still runs. */
  sending(): { query_id: string; abort_signal: AbortSignal } {
    this.#id = randomUUID();
    return { query_id: this.#id, abort_signal: this.#leaving.signal };
  }

  /** What `work` gives, all of the statement or a part of its answer. @throws StatementHangs when it takes longer than `seconds` */
  within<T>(seconds: number, work: Promise<T>): Promise<T> {
    const { cancelSeconds } = this.#limits;
    return endedWithin(seconds, work, {
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
    });
  }
}
