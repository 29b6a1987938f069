import { type RecordKind, spanKinds } from '../columns/columnDef.ts';
import type { RunRef } from '../projects/runs.ts';
import type { RecordKey } from './recordStore.ts';
import type { RecordWriter } from './recordWriter.ts';
import type { RecordQuery, RecordReads } from './searchRecords.ts';

/** What deleting needs of the store. */
export interface RecordEraser {
  /** Keys of every record that belongs to one of these traces or sessions, they themselves included. */
  members(run: RunRef, of: 'trace_id' | 'session_id', ids: readonly string[]): Promise<RecordKey[]>;
  /** Removes all versions, metric values and keys of these records; nobody finds them afterwards. */
  erase(run: RunRef, keys: readonly Pick<RecordKey, 'id' | 'created_at'>[]): Promise<void>;
}

export interface DeleteDeps {
  reads: Pick<RecordReads, 'page'>;
  eraser: RecordEraser;
  writer: Pick<RecordWriter, 'exclusively'>;
}

// Keys are held while their records go: some 25 MB for a page of this size.
const PAGE = 100_000;
// One deletion of this many keys takes 0.3 s of a run of 300,000 records; writes to the run wait that long.
const KEYS_PER_DELETE = 5_000;

/**
 * Deletes the records that match, and what hangs in or below them: a session's traces, a trace's spans, a span's spans. What matches is taken
 * from the newest versions before anything goes. The ids can be logged anew afterwards.
 * @returns how many records went.
 */
export async function deleteRecords({ reads, eraser, writer }: DeleteDeps, query: RecordQuery): Promise<number> {
  let deleted = 0;
  for (let found = PAGE; found === PAGE; ) {
    const { keys } = await reads.page({ ...query, offset: 0, limit: PAGE });
    found = keys.length;
    const doomed = await withMembers(eraser, query.run, query.kinds, keys);
    for (let from = 0; from < doomed.length; from += KEYS_PER_DELETE) {
      await writer.exclusively(query.run, () => eraser.erase(query.run, doomed.slice(from, from + KEYS_PER_DELETE)));
    }
    deleted += doomed.length;
  }
  return deleted;
}

type Doomed = Pick<RecordKey, 'id' | 'created_at'>;

async function withMembers(
  eraser: RecordEraser,
  run: RunRef,
  kinds: readonly RecordKind[],
  keys: readonly { id: string; createdAt: string; traceId: string | null }[],
): Promise<Doomed[]> {
  if (keys.length === 0) return [];
  const ids = keys.map(({ id }) => id);
  const found = keys.map(({ id, createdAt }) => ({ id, created_at: createdAt }));
  if (kinds.includes('session')) return unique([...found, ...(await eraser.members(run, 'session_id', ids))]);
  if (kinds.includes('trace')) return unique([...found, ...(await eraser.members(run, 'trace_id', ids))]);
  const traceIds = [...new Set(keys.flatMap(({ traceId }) => (traceId === null ? [] : [traceId])))];
  const children = Map.groupBy(await eraser.members(run, 'trace_id', traceIds), ({ parent_id }) => parent_id);
  const doomed = new Map<string, Doomed>(found.map((key) => [key.id, key]));
  // The map grows while it is walked: each span brings its children behind itself.
  for (const { id } of doomed.values()) {
    for (const child of children.get(id) ?? []) if (isSpan(child) && !doomed.has(child.id)) doomed.set(child.id, child);
  }
  return [...doomed.values()];
}

const isSpan = ({ type }: RecordKey): boolean => (spanKinds as readonly RecordKind[]).includes(type);
const unique = (keys: readonly Doomed[]): Doomed[] => [...new Map(keys.map((key) => [key.id, key])).values()];
