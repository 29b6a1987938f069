import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import { isSpanKind, type RecordKind, spanKinds } from '../wire/recordKinds.ts';
import { timeOf } from '../wire/time.ts';
import { Attendance, type AttendedDeletion, type AttendedDeletions } from './deletionAttendance.ts';
import { type Erased, type ErasedKey, goneWith, type RecordErasure } from './eraseRecords.ts';
import type { FindColumn } from './findColumn.ts';
import type { ForgetHeldUpdates, HeldUpdateFilter } from './heldUpdates.ts';
import type { HeldLocks, StoredKey } from './recordStore.ts';
import type { RecordWriter } from './recordWriter.ts';
import { findKeys, type RecordQuery, type RecordReads } from './searchRecords.ts';

type Filter = RecordQuery['filter'];

/** The column by which a record says what it belongs to. */
type Container = 'trace_id' | 'session_id';

/** Finds the records of a deletion in the store. */
export interface RecordEraser {
  /** Keys of every record that belongs to one of these traces or sessions, they themselves included. */
  members(run: RunRef, of: Container, ids: readonly string[]): Promise<StoredKey[]>;
  /** How many `members` gives. */
  countMembers(run: RunRef, of: Container, ids: readonly string[]): Promise<number>;
  /**
   * Submits the removal of all versions, metric values and keys of these records: what is stored after it has returned stays. Safe to repeat.
   */
  erase(run: RunRef, keys: readonly ErasedKey[]): Promise<Erased>;
}

/** A deletion that was asked for and is not done. */
export interface DeletionRequest {
  id: string;
  run: RunRef;
  kinds: readonly RecordKind[];
  filter: Filter;
  /** Canonical time. */
  requestedAt: string;
}

/** Deletions that were asked for: noted before the first record goes, removed when all of them have gone. */
export interface DeletionRequests extends AttendedDeletions {
  add(request: Omit<DeletionRequest, 'id'>): Promise<AttendedDeletion>;
  /** The deletion is done; of an experiment it is noted that its aggregates are outdated. */
  remove(id: string): Promise<void>;
  /** Takes the deletions that no process has attended for `ms`; the caller then attends them. */
  takeUnattended(ms: number): Promise<(DeletionRequest & AttendedDeletion)[]>;
  /** Marks all as unattended: for the start of the only process, whose predecessor has died. */
  freeAll(): Promise<void>;
}

export interface DeleteDeps {
  reads: Pick<RecordReads, 'readPage'>;
  eraser: Pick<RecordEraser, 'members' | 'countMembers'>;
  erasure: Pick<RecordErasure, 'erase'>;
  requests: DeletionRequests;
  forgetHeldUpdates: ForgetHeldUpdates;
  writer: Pick<RecordWriter, 'exclusively' | 'recount'>;
  /** Hears of every run of which records were deleted by request. */
  onDeleted(run: RunRef): void;
  now: () => Date;
}

interface Exclusively {
  writer: Pick<RecordWriter, 'exclusively'>;
}

// Keys are held while their records go: some 25 MB for a page of this size.
const PAGE = 100_000;
// Records taken at a time with all that hangs below them; writes to the run wait while they are found and their deletion is submitted. Of traces with
// 8 spans these are 4,500 records, of which one deletion takes 0.3 s in a run of 300,000.
const ROOTS_PER_ERASURE = 500;
const STRAYS_PER_ERASURE = 5_000;
/** Records taken at a time at most, but for those of a single trace or session. */
export const MAX_ERASED = 20_000;

/**
 * Deletes the records that match, and what hangs in or below them: a session's traces, a trace's spans, a span's spans. What matches is taken
 * from the newest versions before anything goes; what was written since is not taken with the pages and kinds that follow. The ids can be logged
 * anew afterwards. A deletion that a crash or a lost store cuts off is finished later ({@link finishDeletions}). Updates that wait for records go
 * with a deletion of all of their kind, or of their ids; whether they match another filter is not known.
 * @returns how many records went.
 */
export async function deleteRecords(deps: DeleteDeps, query: RecordQuery): Promise<number> {
  const { run, kinds, filter } = query;
  const requestedAt = timeOf(deps.now());
  const first = await findKeys(deps.reads, { ...query, offset: 0, limit: 1 }); // a filter that cannot be applied is refused before it is noted
  const waiting = waitingFor(kinds, filter);
  if (first.keys.length === 0) {
    await forgetWaiting(deps, run, waiting);
    return 0;
  }
  const added = await deps.requests.add({ run: { projectId: run.projectId, runId: run.runId }, kinds, filter, requestedAt });
  return carryOut(deps, added, { first: query, later: writtenBefore(requestedAt, query) }, waiting);
}

/** The held updates that a deletion takes back; undefined where it takes none. */
function waitingFor(kinds: readonly RecordKind[], filter: Filter): HeldUpdateFilter | undefined {
  const updated = (['trace', 'span'] as const).filter((of) => kinds.some((kind) => isUpdatedAs(kind, of)));
  const named = namedIds(filter);
  if (named === undefined || updated.length === 0) return undefined;
  return { kinds: updated, ...(named === 'all' ? {} : { ids: named }) };
}

/** While nothing is written: an update is not taken back that a write is about to apply. */
async function forgetWaiting(deps: DeleteDeps, run: RunRef, waiting: HeldUpdateFilter | undefined): Promise<void> {
  if (waiting) await deps.writer.exclusively(run, () => deps.forgetHeldUpdates(run, waiting));
}

const isUpdatedAs = (kind: RecordKind, of: 'trace' | 'span'): boolean =>
  of === 'trace' ? kind === 'trace' : (spanKinds as readonly RecordKind[]).includes(kind);

/** The ids that a filter asks for and nothing else; undefined where it asks for more. */
function namedIds(filter: Filter): 'all' | readonly string[] | undefined {
  if ('and' in filter) {
    const parts = filter.and.map(namedIds).filter((part) => part !== 'all');
    if (!parts.every((part) => part !== undefined)) return undefined;
    const [first, ...others] = parts;
    return first ? first.filter((id) => others.every((ids) => ids.includes(id))) : 'all';
  }
  if ('or' in filter) {
    const parts = filter.or.map(namedIds);
    if (parts.includes('all')) return 'all';
    return parts.every((part) => part !== undefined) ? (parts as string[][]).flat() : undefined;
  }
  if (!('filter' in filter) || filter.filter.type !== 'id' || filter.filter.column_id !== 'id') return undefined;
  const { operator, value } = filter.filter;
  return operator === 'eq' || operator === 'one_of' ? [value].flat() : undefined;
}

/**
 * Carries out what former processes have left: records that match, but for those written since the deletion was asked for.
 * @param unattendedMs milliseconds in which no process must have attended a deletion
 * @param stopping ends the work after the records at hand
 */
export async function finishDeletions(
  deps: DeleteDeps & { findColumn(run: RunRef, filter: Filter): Promise<FindColumn> },
  unattendedMs: number,
  stopping: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  for (const { id, at, run, kinds, filter, requestedAt } of await deps.requests.takeUnattended(unattendedMs)) {
    try {
      const findColumn = await deps.findColumn(run, filter);
      const waiting = waitingFor(kinds, filter);
      const query = writtenBefore(requestedAt, { run, kinds, filter, findColumn });
      await carryOut(deps, { id, at }, { first: query, later: query }, waiting && { ...waiting, until: requestedAt }, stopping);
    } catch (err) {
      // A metric that the filter names may be gone by now: nothing has a value of it, and this deletion cannot go on. Others do not wait for one that fails.
      if (err instanceof ServiceError && cannotGoOn.has(err.code)) await deps.requests.remove(id);
      else failures.push(err);
    }
  }
  if (failures.length > 0)
    throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'deletions could not be finished');
}

const writtenBefore = (time: string, query: RecordQuery): RecordQuery => ({
  ...query,
  filter: { and: [query.filter, { filter: { type: 'date', column_id: 'updated_at', operator: 'lte', value: time } }] },
});

const cannotGoOn: ReadonlySet<string> = new Set(['ColumnUnknown', 'ColumnNotFilterable', 'RunNotFound', 'NotFound']);

/** The kinds in the order of their deletion: one erasure never takes more than a trace with its spans, and sessions are empty when they go. */
const steps: readonly (readonly RecordKind[])[] = [['trace'], spanKinds, ['session']];

/** @param first what the first look finds, `later` what those for more of it and for other kinds do */
async function carryOut(
  deps: DeleteDeps,
  request: AttendedDeletion,
  { first, later }: { first: RecordQuery; later: RecordQuery },
  waiting: HeldUpdateFilter | undefined,
  stopping?: AbortSignal,
): Promise<number> {
  await using attendance = new Attendance(deps.requests, request);
  await forgetWaiting(deps, first.run, waiting);
  let deleted = 0;
  let query = first;
  for (const step of steps) {
    const kinds = step.filter((kind) => query.kinds.includes(kind));
    for (let found = kinds.length === 0 ? 0 : PAGE; found === PAGE; ) {
      const ofStep = { ...query, kinds };
      query = later;
      const { keys } = await findKeys(deps.reads, { ...ofStep, offset: 0, limit: PAGE });
      found = keys.length;
      for (let from = 0; from < keys.length; from += ROOTS_PER_ERASURE) {
        if (stopping?.aborted) return deleted; // the next start goes on
        const ids = keys.slice(from, from + ROOTS_PER_ERASURE).map((key) => key.id);
        deleted += await eraseInPieces(deps, ofStep, ids, attendance);
      }
    }
  }
  await deps.requests.remove(request.id);
  deps.onDeleted(first.run);
  return deleted;
}

/** Erases them together where what is below them are not too many, else each half for itself. */
async function eraseInPieces(deps: DeleteDeps, query: RecordQuery, ids: string[], attendance: Attendance): Promise<number> {
  const erased = await deps.writer.exclusively(query.run, (confirm) =>
    eraseMatching(deps, query, ids, async () => {
      await attendance.confirm();
      await confirm();
    }),
  );
  if (erased) {
    await erased.gone;
    if (erased.tracesLeft.length > 0) await deps.writer.recount(query.run, erased.tracesLeft);
    return erased.count;
  }
  const half = Math.ceil(ids.length / 2);
  return (
    (await eraseInPieces(deps, query, ids.slice(0, half), attendance)) +
    (await eraseInPieces(deps, query, ids.slice(half), attendance))
  );
}

/**
 * Erases those of these records that match still, with what is below them now: while nothing is written, so that neither can change meanwhile.
 * @returns undefined where these are too many, and nothing went; else also the traces that stay without some of their spans.
 */
async function eraseMatching(
  { reads, eraser, erasure }: DeleteDeps,
  query: RecordQuery,
  ids: string[],
  confirm: HeldLocks['confirm'],
): Promise<(Erased & { count: number; tracesLeft: readonly string[] }) | undefined> {
  const among: Filter = { filter: { type: 'id', column_id: 'id', operator: 'one_of', value: ids } };
  const { keys } = await findKeys(reads, { ...query, filter: { and: [query.filter, among] }, offset: 0, limit: ids.length });
  const { of, containers } = containersOf(query.kinds, keys);
  if (keys.length > 1 && (await eraser.countMembers(query.run, of, containers)) > MAX_ERASED) return undefined;
  const toErase = await withMembers(eraser, query.run, query.kinds, keys);
  const tracesLeft = query.kinds.some(isSpanKind) ? containers : [];
  return { ...(await erasure.erase(query.run, toErase, confirm)), count: toErase.length, tracesLeft };
}

/** Erases these traces with all that is below them, whatever they hold. */
export async function eraseTraces(
  { eraser, erasure, writer }: Pick<DeleteDeps, 'eraser' | 'erasure'> & Exclusively,
  run: RunRef,
  traceIds: readonly string[],
): Promise<void> {
  const erased = await writer.exclusively(run, async (confirm) =>
    erasure.erase(run, await eraser.members(run, 'trace_id', traceIds), confirm),
  );
  await erased.gone;
}

/**
 * Erases the spans that an attempt of an experiment left behind whose trace another attempt has replaced.
 * @param find gives those spans, which are looked for again while nothing is written
 * @returns how many went.
 */
export async function deleteStraySpans(
  { erasure, writer }: Pick<DeleteDeps, 'erasure'> & Exclusively,
  find: (run: RunRef) => Promise<ErasedKey[]>,
  run: RunRef,
): Promise<number> {
  if ((await find(run)).length === 0) return 0;
  const { gone, count } = await writer.exclusively(run, async (confirm) => {
    const strays = await find(run);
    const erased: Erased[] = [];
    for (let from = 0; from < strays.length; from += STRAYS_PER_ERASURE)
      erased.push(await erasure.erase(run, strays.slice(from, from + STRAYS_PER_ERASURE), confirm));
    return { ...goneWith(erased.map((part) => part.gone)), count: strays.length };
  });
  await gone;
  return count;
}

type Found = { id: string; createdAt: string; traceId: string | null };

/** By what the members of these records are found: sessions and traces by themselves, spans among all of their traces. */
function containersOf(kinds: readonly RecordKind[], keys: readonly Found[]): { of: Container; containers: string[] } {
  const ids = keys.map(({ id }) => id);
  if (kinds.includes('session')) return { of: 'session_id', containers: ids };
  if (kinds.includes('trace')) return { of: 'trace_id', containers: ids };
  return { of: 'trace_id', containers: [...new Set(keys.flatMap(({ traceId }) => (traceId === null ? [] : [traceId])))] };
}

async function withMembers(
  eraser: Pick<RecordEraser, 'members'>,
  run: RunRef,
  kinds: readonly RecordKind[],
  keys: readonly Found[],
): Promise<ErasedKey[]> {
  if (keys.length === 0) return [];
  const found = keys.map(({ id, createdAt }) => ({ id, created_at: createdAt }));
  const { of, containers } = containersOf(kinds, keys);
  const members = await eraser.members(run, of, containers);
  if (kinds.includes('session') || kinds.includes('trace')) return unique([...found, ...members]);
  const children = Map.groupBy(members, ({ parent_id }) => parent_id);
  const toErase = new Map<string, ErasedKey>(found.map((key) => [key.id, key]));
  // The map grows while it is walked: each span brings its children behind itself.
  for (const { id } of toErase.values()) {
    for (const child of children.get(id) ?? []) if (isSpan(child) && !toErase.has(child.id)) toErase.set(child.id, child);
  }
  return [...toErase.values()];
}

const isSpan = ({ type }: StoredKey): boolean => (spanKinds as readonly StoredKey['type'][]).includes(type);
const unique = (keys: readonly ErasedKey[]): ErasedKey[] => [
  ...new Map(keys.map(({ id, created_at }) => [id, { id, created_at }])).values(),
];
