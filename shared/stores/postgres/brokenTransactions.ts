import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** Milliseconds between two attempts to reach the server. */
const RETRY_MS = 100;
/** Milliseconds by which the beginning of a connection may seem later to the server than to us. */
const SLACK_MS = 100;

/** A transaction whose connection broke, by the number of its process on the server. */
interface Broken {
  processId: number;
  connectedAt: number;
  brokeAt: number;
}

/**
 * Ends on the server the transactions whose connections broke. Behind a router that dropped a connection the server does not hear of it, and the locks
 * would be held until the transaction has idled too long. A process number that was given anew is that of a younger connection. It has a connection of
 * its own: all those of the pool may wait for the locks that it is to free.
 */
export class BrokenTransactions {
  readonly #server: pg.ClientConfig;
  readonly #endedByThemselvesMs: number;
  readonly #connectedAt = new WeakMap<object, number>();
  #broken: Broken[] = [];
  #isEnding = false;

  /** @param endedByThemselvesMs milliseconds after which the server ends them without us: a statement's longest wait for a lock, and the idling after it */
  constructor(server: pg.ClientConfig, endedByThemselvesMs: number) {
    this.#server = server;
    this.#endedByThemselvesMs = endedByThemselvesMs;
  }

  connected(client: pg.PoolClient): void {
    this.#connectedAt.set(client, performance.now());
  }

  broke(client: pg.PoolClient): void {
    const connectedAt = this.#connectedAt.get(client);
    const processId = Reflect.get(client, 'processID');
    if (connectedAt === undefined || typeof processId !== 'number') return;
    this.#broken.push({ processId, connectedAt, brokeAt: performance.now() });
    void this.#endAll();
  }

  async #endAll(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    while (this.#broken.length > 0) {
      const now = performance.now();
      const those = this.#broken;
      const ages = those.map(({ connectedAt }) => now - connectedAt - SLACK_MS);
      try {
        await this.#end(
          those.map(({ processId }) => processId),
          ages,
        );
        this.#broken = this.#broken.filter((one) => !those.includes(one));
      } catch {
        this.#broken = this.#broken.filter(({ brokeAt }) => now - brokeAt < this.#endedByThemselvesMs);
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
    this.#isEnding = false;
  }

  async #end(processIds: number[], ages: number[]): Promise<void> {
    const client = new pg.Client(this.#server);
    // It may break, too: the attempt fails, and is made once more.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query(SQL, [processIds, ages]);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

const SQL = `SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity JOIN unnest($1::integer[], $2::float8[]) AS broken (pid, age_ms) USING (pid)
  WHERE usename = current_user AND backend_start <= clock_timestamp() - age_ms * interval '1 millisecond'`;
