import { LRUCache } from 'lru-cache';
import type { RunRef } from '../../../projects/runs.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { Binder, IN_RUN, runParams } from '../binder.ts';
import { type ClickHouse, ONE_THREAD } from '../clickHouse.ts';
import { scopeOf } from '../filters/columnSql.ts';
import { asWritten, type Counts, type NewestVersions, newestVersions, sameVersions } from '../tables/newestVersions.ts';

/** Gives a statement over the records of a run the place of their newest versions. */
export interface RecordVersions {
  newest: NewestVersions;
  /** Undefined where they are not known. */
  counts?: Counts;
  /** Rises with every write that replaces a version; only with the embedded engine. */
  rewrites?: number;
}

const MAX_RUNS = 200;

/**
 * The versions in each run, for reads that leave out what a newer version has replaced. The embedded engine has one writer: what was true is moved on by each
 * write ({@link WrittenRuns}). Over servers it is asked for before the read: 2 to 4 ms, of a run of any size. A version may still be written between the
 * question and the read; {@link RunVersions.areCurrent} finds that out afterwards.
 */
export class RunVersions {
  readonly #clickhouse: ClickHouse;
  /** Runs of which a version was replaced at some time. */
  readonly #rewritten = new LRUCache<string, true>({ max: MAX_RUNS });

  constructor(clickhouse: ClickHouse) {
    this.#clickhouse = clickhouse;
  }

  async ofRecords(run: RunRef): Promise<RecordVersions> {
    // A page that waited after it had asked would find stale versions beside those that were written meanwhile.
    await this.#clickhouse.settled?.(run);
    const { written } = this.#clickhouse;
    if (!written) return this.#askRecords(run);
    return written.get(run) ?? written.read(run, () => this.#askRecords(run));
  }

  /** Counts the records of each kind, among these versions; undefined with a server, which would be asked anew before each page. */
  async count(run: RunRef, newest: NewestVersions): Promise<Counts | undefined> {
    const binder = new Binder();
    const { from, newest: where } = scopeOf(binder.bind, { projectId: run.projectId, runId: run.runId }, newest);
    return this.#clickhouse.written?.count(run, newest, async () => {
      const kinds = await this.#clickhouse.query({
        name: 'record count',
        sql: `SELECT type, count() AS held FROM ${from} WHERE ${where} GROUP BY type`,
        params: binder.params,
        row: (row) => row as { type: RecordKind; held: string },
      });
      return new Map(kinds.map(({ type, held }) => [type, Number(held)]));
    });
  }

  /** True when every value of the metric came with its record and was never rewritten: then no versions have to be merged. */
  async areWrittenOnce(run: RunRef, metric: string): Promise<boolean> {
    await this.#clickhouse.settled?.(run);
    const rewritten = await this.#clickhouse.query({
      name: 'rewritten values',
      sql: `SELECT 1 FROM metric_values WHERE ${IN_RUN} AND metric = {metric:String} AND is_rewrite LIMIT 1`,
      params: { ...runParams(run), metric },
      row: (row) => row,
    });
    return rewritten.length === 0;
  }
  /** True when nothing was rewritten since these versions were read. */
  async areCurrent(run: RunRef, versions: RecordVersions): Promise<boolean> {
    if (versions.newest.from === 'records FINAL') return true;
    const { written } = this.#clickhouse;
    const known = written?.get(run);
    if (known && versions.rewrites !== undefined) return known.rewrites === versions.rewrites && !written?.isRewriting(run);
    return sameVersions((await this.#askRecords(run)).newest, versions.newest);
  }

  /** Most runs are never rewritten: their counts, which the engine keeps for each part, say so. A run that was rewritten stays it. */
  async #askRecords(run: RunRef): Promise<RecordVersions> {
    const name = `${run.projectId} ${run.runId}`;
    if (!this.#rewritten.has(name)) {
      const kinds = await this.#clickhouse.query({
        name: 'kinds of a run',
        sql: `SELECT type, count() AS held, countIf(is_rewrite) AS rewrites FROM records WHERE ${IN_RUN} GROUP BY type`,
        params: runParams(run),
        row: (row) => row as { type: RecordKind; held: string; rewrites: string },
        ...ONE_THREAD,
      });
      if (kinds.every(({ rewrites }) => rewrites === '0'))
        return { newest: asWritten, counts: new Map(kinds.map(({ type, held }) => [type, Number(held)])) };
      this.#rewritten.set(name, true);
    }
    return { newest: await newestVersions(this.#clickhouse, run) };
  }
}
