import { LRUCache } from 'lru-cache';
import { freeTurn } from '../../../concurrency/freeTurn.ts';
import type { RunRef } from '../../../projects/runs.ts';
import type { NewKey, RecordStore } from '../../../records/recordStore.ts';
import { IN_RUN, runParams } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { newMembers } from '../tables/newMembers.ts';
import { IdFilter } from './idFilter.ts';
import { type TraceChange, traceChangesOf } from './writtenTraces.ts';

/** Bytes of the filters of all runs, and ids of the largest one, which takes 22 MB. Larger runs are always asked. */
const FILTER_BYTES = 32 * 1024 * 1024;
const MAX_IDS = 4_000_000;
/**
 * For so long a run gets no new filter after its own had to make room (two large runs that are written in turns would load theirs for each write), or
 * after an insert failed: a statement that was given up may still store it, which takes minutes at most.
 */
const RETIRED_MS = 15 * 60_000;

type Engine = Pick<ClickHouse, 'query'> & Partial<Pick<ClickHouse, 'writtenTraces'>>;

/** One for each engine: all that is written to it is known to all who write. */
const filtersOf = new WeakMap<Engine, KnownIds>();

/**
 * A record store that is not asked for ids that it surely does not have. Almost all that is logged is new, and a look for a thousand new ids reads
 * as many places of the table: without this an ingest takes 17 % more CPU, and 33 % more in small groups. Only for an engine to which no other process writes.
 */
export function skipUnknownIds(store: RecordStore, engine: Engine, filterBytes = FILTER_BYTES): RecordStore {
  const runs = filtersOf.get(engine) ?? new KnownIds(engine, filterBytes);
  filtersOf.set(engine, runs);
  const ofKnown =
    <More extends unknown[], Found>(read: (run: RunRef, ids: readonly string[], ...more: More) => Promise<Found[]>) =>
    async (run: RunRef, ids: readonly string[], ...more: More): Promise<Found[]> => {
      const asked = runs.mayBeStored(run, ids);
      return asked.length === 0 ? [] : read(run, asked, ...more);
    };
  return {
    ...store,
    keys: ofKnown(store.keys),
    spanKeys: ofKnown(store.spanKeys),
    usageKeys: ofKnown(store.usageKeys),
    recordsById: ofKnown(store.recordsById),
    places: ofKnown(store.places),
    block(rows) {
      const idsOfRuns = idsByRun(rows.keys);
      const changes = traceChangesOf(newMembers(rows));
      const block = store.block(rows);
      return {
        async send(confirm) {
          const isFirst = ({ run, traceId }: TraceChange) => runs.mayBeStored(run, [traceId]).length === 0;
          const noted = engine.writtenTraces?.begin(changes, isFirst);
          const ends = [...(noted ? [noted] : []), ...idsOfRuns.map(([run, ids]) => runs.begin(run, ids))];
          try {
            await block.send(confirm);
          } catch (err) {
            for (const end of ends) end('uncertain');
            throw err;
          }
          for (const end of ends) end('stored');
        },
      };
    },
  };
}

const nameOf = ({ projectId, runId }: RunRef): string => `${projectId}/${runId}`;

/** Ids of records and of their traces. The rows themselves are not kept while they are sent. */
const idsByRun = (rows: readonly NewKey[]): [RunRef, string[]][] =>
  [...Map.groupBy(rows, ({ record }) => nameOf({ projectId: record.project_id, runId: record.run_id })).values()].map((ofRun) => [
    { projectId: (ofRun[0] as NewKey).record.project_id, runId: (ofRun[0] as NewKey).record.run_id },
    ofRun.flatMap(({ record: { id, trace_id } }) => (trace_id === null ? [id] : [id, trace_id])),
  ]);

/** The ids of records and of their traces that were written to a run. */
interface IdsOfRun {
  /** Absent where they are too many. */
  filter: IdFilter | undefined;
  /** Those that were stored before are in it. */
  isLoaded: boolean;
}

/**
 * Knows the ids of each run by a filter that misses no stored id. The filter holds the ids that the table had when it was loaded, those of writes
 * that were under way then, and those of every later write.
 */
class KnownIds {
  readonly #engine: Engine;
  /** In boxes, since the cache takes the size of a value when it gets another one. */
  readonly #runs: LRUCache<string, { readonly ids: IdsOfRun; readonly bytes: number }>;
  /** The ids of the writes to each run that are being sent. */
  readonly #sending = new Map<string, Set<readonly string[]>>();
  /** Until when a run gets no new filter. */
  readonly #retired = new Map<string, number>();
  #loading: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, maxSize: number) {
    this.#engine = engine;
    this.#runs = new LRUCache({
      maxSize,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (_box, name, reason) => {
        if (reason === 'evict') this.#retire(name);
      },
    });
  }

  /** Those that are not surely absent. */
  mayBeStored(run: RunRef, ids: readonly string[]): readonly string[] {
    const { filter, isLoaded } = this.#of(run) ?? {};
    return filter && isLoaded ? ids.filter((id) => filter.mayHave(id)) : ids;
  }

  /** Takes note of a write before it is sent. @returns what takes note of its end */
  begin(run: RunRef, ids: readonly string[]): (end: 'stored' | 'uncertain') => void {
    const name = nameOf(run);
    const sending = this.#sending.get(name) ?? new Set();
    this.#sending.set(name, sending.add(ids));
    const known = this.#of(run);
    if (known) this.#add(name, known, ids);
    return (end) => {
      if (end === 'uncertain') this.#retire(name);
      sending.delete(ids);
      if (sending.size === 0) this.#sending.delete(name);
    };
  }

  #retire(name: string): void {
    this.#retired.set(name, performance.now() + RETIRED_MS);
  }

  #add(name: string, known: IdsOfRun, ids: readonly string[]): void {
    for (const id of ids) known.filter?.add(id);
    this.#resize(name, known);
  }

  /** @returns whether it may grow further */
  #resize(name: string, ids: IdsOfRun): boolean {
    // One that had to make room lacks what was written since: it does not come back.
    if (!this.#isKept(name, ids)) return false;
    if (ids.filter && ids.filter.size > MAX_IDS) ids.filter = undefined;
    const bytes = 100 + (ids.filter?.bytes ?? 0);
    if (this.#runs.peek(name)?.bytes !== bytes) this.#runs.set(name, { ids, bytes });
    return ids.filter !== undefined && this.#isKept(name, ids);
  }

  #isKept(name: string, ids: IdsOfRun): boolean {
    return this.#runs.peek(name)?.ids === ids;
  }

  #of(run: RunRef): IdsOfRun | undefined {
    const name = nameOf(run);
    const known = this.#runs.get(name);
    if (known) return known.ids;
    for (const [other, until] of this.#retired) if (until < performance.now()) this.#retired.delete(other);
    return this.#retired.has(name) ? undefined : this.#load(run, name);
  }

  #load(run: RunRef, name: string): IdsOfRun {
    const ids: IdsOfRun = { filter: new IdFilter(), isLoaded: false };
    this.#runs.set(name, { ids, bytes: 100 });
    for (const sent of this.#sending.get(name) ?? []) this.#add(name, ids, sent);
    this.#loading = this.#loading.then(async () => {
      if (!this.#isKept(name, ids)) return;
      try {
        await load(this.#engine, run, ids, () => this.#resize(name, ids));
      } catch {
        // The store is asked instead, and says what is wrong with it.
        if (!this.#isKept(name, ids)) return;
        this.#runs.delete(name);
        this.#retire(name);
      }
    });
    return ids;
  }
}

/** Ids of one statement: some 20 ms, and 500 kB of text. Not one stream of all: it would hold the engine beside the writes. */
const IDS_OF_STATEMENT = 16_384;

/**
 * Adds the ids of all records of a run that are stored now, and of their traces.
 * @param mayGrow is asked after each addition
 */
async function load(engine: Engine, run: RunRef, ids: IdsOfRun, mayGrow: () => boolean): Promise<void> {
  const [count = 0] = await engine.query({
    name: 'number of keys of a run',
    sql: `SELECT count() AS keys FROM record_keys WHERE ${IN_RUN}`,
    params: runParams(run),
    row: (row) => Number((row as { keys: string }).keys),
  });
  if (count > MAX_IDS) {
    ids.filter = undefined;
    mayGrow();
    return;
  }
  for (const [table, column] of count > 0 ? idColumns : []) {
    for await (const bytes of idsOf(engine, run, table, column)) {
      ids.filter?.addBytes(bytes);
      if (!mayGrow()) return;
    }
  }
  ids.isLoaded = true;
}

/** Both tables are in the order of their column within a run. */
const idColumns = [
  ['record_keys', 'id'],
  ['trace_members', 'trace_id'],
] as const;

/** Each statement reads on where the last one ended. Ids come as hexadecimal digits, since a text made of their bytes loses the zeros at its end. */
async function* idsOf(engine: Engine, run: RunRef, table: string, column: string): AsyncGenerator<Buffer, void> {
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
    yield Buffer.from(read.ids, 'hex');
    if (Number(read.count) < IDS_OF_STATEMENT) return;
    after = read.last;
    await freeTurn();
  }
}
