import { LRUCache } from 'lru-cache';
import { freeTurn } from '../../concurrency/freeTurn.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { NewKey, RecordStore } from '../../records/recordStore.ts';
import { IN_RUN, runParams } from './binder.ts';
import type { ClickHouse } from './clickHouse.ts';
import { IdFilter } from './idFilter.ts';

/** Bytes of the filters of all runs, and ids of the largest one, which takes 22 MB. Larger runs are always asked. */
const FILTER_BYTES = 32 * 1024 * 1024;
const MAX_IDS = 4_000_000;
/**
 * For so long a run whose filter was dropped gets no other one. A write that the dropped filter knew of and that is still under way would be missing
 * in it; an insert, its retries and its cancellation take minutes at most.
 */
const RETIRED_MS = 15 * 60_000;

type Engine = Pick<ClickHouse, 'query'>;

/** One for each engine: all that is written to it is known to all who write. */
const filtersOf = new WeakMap<Engine, RunIds>();

/**
 * A record store that is not asked for ids that it surely does not have. Almost all that is logged is new, and a look for a thousand new ids reads
 * as many places of the table: a fifth of the CPU of an ingest in small groups. Only for an engine to which no other process writes.
 */
export function skipUnknownIds(store: RecordStore, engine: Engine): RecordStore {
  const runs = filtersOf.get(engine) ?? new RunIds(engine);
  filtersOf.set(engine, runs);
  return {
    ...store,
    async keys(run, ids) {
      const asked = runs.mayBeStored(run, ids);
      return asked.length === 0 ? [] : store.keys(run, asked);
    },
    async spanKeys(run, traceIds) {
      const asked = runs.mayBeStored(run, traceIds);
      return asked.length === 0 ? [] : store.spanKeys(run, asked);
    },
    block(rows) {
      // Before they are sent: of a write that fails it is not known whether it was stored.
      for (const ofRun of Map.groupBy(rows.keys, ({ record }) => nameOf(record.project_id, record.run_id)).values())
        runs.add(ofRun);
      return store.block(rows);
    },
  };
}

const nameOf = (projectId: string, runId: string): string => `${projectId}/${runId}`;

/** The ids of records and of their traces that were written to a run. */
interface IdsOfRun {
  /** Absent where they are too many. */
  filter: IdFilter | undefined;
  /** Those that were stored before are in it. */
  isLoaded: boolean;
}

class RunIds {
  readonly #engine: Engine;
  readonly #runs: LRUCache<string, IdsOfRun>;
  /** Runs whose filter was dropped, and until when they get no other one. */
  readonly #retired = new Map<string, number>();
  #loading: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#runs = new LRUCache({
      maxSize: FILTER_BYTES,
      sizeCalculation: ({ filter }) => 100 + (filter?.bytes ?? 0),
      dispose: (_ids, name, reason) => {
        if (reason !== 'set') this.#retired.set(name, performance.now() + RETIRED_MS);
      },
    });
  }

  /** Those that are not surely absent. */
  mayBeStored(run: RunRef, ids: readonly string[]): readonly string[] {
    const { filter, isLoaded } = this.#of(run) ?? {};
    return filter && isLoaded ? ids.filter((id) => filter.mayHave(id)) : ids;
  }

  /** @param rows of one run */
  add(rows: readonly NewKey[]): void {
    const { project_id: projectId, run_id: runId } = (rows[0] as NewKey).record;
    const ids = this.#of({ projectId, runId });
    if (!ids?.filter) return;
    for (const { record } of rows) {
      ids.filter.add(record.id);
      if (record.trace_id !== null) ids.filter.add(record.trace_id);
    }
    if (ids.filter.size > MAX_IDS) ids.filter = undefined;
    this.#runs.set(nameOf(projectId, runId), ids); // its size may be another
  }

  #of(run: RunRef): IdsOfRun | undefined {
    const name = nameOf(run.projectId, run.runId);
    const known = this.#runs.get(name);
    if (known) return known;
    for (const [other, until] of this.#retired) if (until < performance.now()) this.#retired.delete(other);
    if (this.#retired.has(name)) return undefined;
    const ids: IdsOfRun = { filter: new IdFilter(), isLoaded: false };
    this.#runs.set(name, ids);
    this.#loading = this.#loading.then(async () => {
      if (this.#runs.peek(name) !== ids) return;
      try {
        await load(this.#engine, run, ids);
        if (this.#runs.peek(name) === ids) this.#runs.set(name, ids);
      } catch {
        // The store is asked instead, and says what is wrong with it.
        if (this.#runs.peek(name) === ids) this.#runs.delete(name);
      }
    });
    return ids;
  }
}

/** Ids of one statement: some 20 ms, and 500 kB of text. Not one stream of all: it would hold the engine beside the writes. */
const IDS_OF_STATEMENT = 16_384;

/** Adds the ids of all records of a run that are stored now, and of their traces. */
async function load(engine: Engine, run: RunRef, ids: IdsOfRun): Promise<void> {
  const [count = 0] = await engine.query({
    name: 'number of keys of a run',
    sql: `SELECT count() AS keys FROM record_keys WHERE ${IN_RUN}`,
    params: runParams(run),
    row: (row) => Number((row as { keys: string }).keys),
  });
  if (count > MAX_IDS) {
    ids.filter = undefined;
    return;
  }
  if (count > 0) {
    await loadColumn(engine, run, ids, 'record_keys', 'id');
    await loadColumn(engine, run, ids, 'trace_members', 'trace_id');
  }
  ids.isLoaded = true;
}

/**
 * Both tables are in the order of their column within a run: each statement reads on where the last one ended. Ids come as hexadecimal digits, since a
 * text made of their bytes loses the zeros at its end.
 */
async function loadColumn(engine: Engine, run: RunRef, ids: IdsOfRun, table: string, column: string): Promise<void> {
  for (let after: string | undefined; ; ) {
    const [read] = await engine.query({
      name: 'ids of a run',
      sql: `SELECT arrayStringConcat(groupArray(hex(UUIDToNum(id)))) AS ids, toString(max(id)) AS last, count() AS count FROM (
              SELECT DISTINCT ${column} AS id FROM ${table} WHERE ${IN_RUN}${after === undefined ? '' : ` AND ${column} > {after:UUID}`}
              ORDER BY id LIMIT ${IDS_OF_STATEMENT})`,
      params: { ...runParams(run), ...(after !== undefined && { after }) },
      row: (row) => row as { ids: string; last: string; count: string },
    });
    if (!read) return;
    ids.filter?.addBytes(Buffer.from(read.ids, 'hex'));
    if (Number(read.count) < IDS_OF_STATEMENT) return;
    after = read.last;
    await freeTurn();
  }
}
