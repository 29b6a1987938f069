import { LRUCache } from 'lru-cache';
import type { RecordKind } from '../../columns/columnDef.ts';
import type { RunRef } from '../../projects/runs.ts';
import { IN_RUN, runParams } from './binder.ts';
import { type ClickHouse, ONE_THREAD } from './clickHouse.ts';
import { asWritten, type NewestVersions, newestVersions, sameVersions } from './newestVersions.ts';

/** What a statement over the records of a run has to know of their versions. */
export interface RecordVersions {
  newest: NewestVersions;
  /** Of a run that was never rewritten: the numbers of its records, expired ones too. Undefined otherwise. */
  counts?: ReadonlyMap<RecordKind, number>;
  /** Of the store, before it was asked. */
  writeMark?: number | undefined;
}

/** What a statement over the values of a metric in a run has to know of their versions. */
export interface ValueVersions {
  /** Whether every value came with its record and stayed as it was: then nothing has to be merged to find the newest. */
  isWrittenOnce: boolean;
  writeMark?: number | undefined;
}

/** Of a run with 2,000 rewritten records half a megabyte is known. */
const MAX_RUNS = 200;

/**
 * The versions in each run, for reads that leave out what a newer version has replaced. The embedded engine has one writer: what was true is true until
 * the next write, and is not asked for again. After a write, and over servers always, it is asked for before the read: 2 to 4 ms, of a run of any size.
 * A version may still be written between the question and the read; {@link RunVersions.areCurrent} finds that out afterwards.
 */
export class RunVersions {
  readonly #clickhouse: ClickHouse;
  readonly #records = new LRUCache<string, RecordVersions>({ max: MAX_RUNS });
  readonly #values = new LRUCache<string, ValueVersions>({ max: MAX_RUNS });

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse;
  }

  async ofRecords(run: RunRef): Promise<RecordVersions> {
    const key = `${run.projectId} ${run.runId}`;
    const known = this.#records.get(key);
    if (known && this.#isQuietSince(known)) return known;
    const { writeMark } = this.#clickhouse;
    const versions = { ...(await this.#askRecords(run, known)), writeMark };
    this.#records.set(key, versions);
    return versions;
  }

  async ofValues(run: RunRef, metric: string): Promise<ValueVersions> {
    const key = `${run.projectId} ${run.runId} ${metric}`;
    const known = this.#values.get(key);
    if (known && this.#isQuietSince(known)) return known;
    const { writeMark } = this.#clickhouse;
    const versions = { isWrittenOnce: await this.#areWrittenOnce(run, metric), writeMark };
    this.#values.set(key, versions);
    return versions;
  }

  /** Whether nothing was rewritten since these versions were asked for. */
  async areCurrent(run: RunRef, versions: RecordVersions): Promise<boolean> {
    if (versions.newest.from === 'records FINAL' || this.#isQuietSince(versions)) return true;
    return sameVersions((await this.ofRecords(run)).newest, versions.newest);
  }

  async valuesAreCurrent(run: RunRef, metric: string, versions: ValueVersions): Promise<boolean> {
    if (!versions.isWrittenOnce || this.#isQuietSince(versions)) return true;
    return (await this.ofValues(run, metric)).isWrittenOnce;
  }

  #isQuietSince({ writeMark }: { writeMark?: number | undefined }): boolean {
    return writeMark !== undefined && writeMark === this.#clickhouse.writeMark;
  }

  /** Most runs are never rewritten: their counts, which the engine keeps for each part, say so. A run that was rewritten stays it. */
  async #askRecords(run: RunRef, known: RecordVersions | undefined): Promise<RecordVersions> {
    if (known === undefined || known.newest === asWritten) {
      const kinds = await this.#clickhouse.query({
        name: 'kinds of a run',
        sql: `SELECT type, count() AS held, countIf(is_rewrite) AS rewrites FROM records WHERE ${IN_RUN} GROUP BY type`,
        params: runParams(run),
        row: (row) => row as { type: RecordKind; held: string; rewrites: string },
        ...ONE_THREAD,
      });
      if (kinds.every(({ rewrites }) => rewrites === '0'))
        return { newest: asWritten, counts: new Map(kinds.map(({ type, held }) => [type, Number(held)])) };
    }
    return { newest: await newestVersions(this.#clickhouse, run) };
  }

  async #areWrittenOnce(run: RunRef, metric: string): Promise<boolean> {
    const rewritten = await this.#clickhouse.query({
      name: 'rewritten values',
      sql: `SELECT 1 FROM metric_values WHERE ${IN_RUN} AND metric = {metric:String} AND is_rewrite LIMIT 1`,
      params: { ...runParams(run), metric },
      row: (row) => row,
    });
    return rewritten.length === 0;
  }
}
