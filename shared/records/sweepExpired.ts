import type { RetentionStore } from '../projects/retention.ts';
import type { RunRef } from '../projects/runs.ts';
import { type DeleteDeps, MAX_ERASED } from './delete.ts';
import type { ErasedKey } from './eraseRecords.ts';
import type { StoredKey } from './recordStore.ts';

/** A record on the older side of the time, and the trace that it goes or stays with; a session has its own id there. */
export interface OlderRecord extends ErasedKey {
  container: string;
  isSession: boolean;
}

/** Finds expired records in the store. */
export interface ExpiredReads {
  /** Runs of the project that may hold something to sweep. */
  runs(projectId: string, before: string): Promise<string[]>;
  /** Records created before the time, oldest first, those behind `after`. */
  older(run: RunRef, before: string, after: ErasedKey | undefined, limit: number): Promise<OlderRecord[]>;
  /** Records whose `created_at` lies more than a day ahead, last written before the time; in order, those behind `after`. */
  dated(run: RunRef, before: string, after: ErasedKey | undefined, limit: number): Promise<OlderRecord[]>;
}

export interface SweepDeps extends Pick<DeleteDeps, 'eraser' | 'erasure' | 'writer'> {
  retention: Pick<RetentionStore, 'get'>;
  expired: ExpiredReads;
  now: () => Date;
}

// Writes to the run wait while so many are looked at and taken, with the rest of their traces.
const LOOKED_AT = 2_000;
const DAY_MS = 24 * 3_600_000;

/**
 * Deletes what has expired in a project by its retention as it is now. Safe to repeat and to break off: reads show nothing of it in any case.
 * @returns how many records went.
 */
export async function sweepProject(deps: SweepDeps, projectId: string, signal: AbortSignal): Promise<number> {
  const before = (await deps.retention.get(projectId))?.expiredBefore;
  if (!before) return 0;
  let erased = 0;
  for (const runId of await deps.expired.runs(projectId, before))
    erased += await sweepRun(deps, { projectId, runId }, before, signal);
  return erased;
}

async function sweepRun(deps: SweepDeps, run: RunRef, before: string, signal: AbortSignal): Promise<number> {
  let erased = 0;
  // Looked for and taken while nothing is written: no record can join a trace that is about to go.
  const sweep = async (isNewer: (key: ErasedKey) => boolean, find: ExpiredReads['older'], after?: ErasedKey): Promise<Swept> => {
    const { gone, ...swept } = await deps.writer.exclusively(run, async (confirm) => {
      signal.throwIfAborted();
      const found = await find(run, before, after, LOOKED_AT);
      const taken = await fewEnough(deps.eraser, run, found);
      const toErase = await expiredWith(deps.eraser, run, taken, isNewer);
      const { gone } = await deps.erasure.erase(run, toErase, confirm);
      erased += toErase.length;
      return { gone, last: taken.at(-1), more: taken.length < found.length || found.length === LOOKED_AT };
    });
    await gone;
    return swept;
  };
  const sweepAll = async (isNewer: (key: ErasedKey) => boolean, find: ExpiredReads['older']): Promise<void> => {
    for (let swept = await sweep(isNewer, find); swept.more; ) swept = await sweep(isNewer, find, swept.last);
  };
  await sweepAll(({ created_at }) => created_at >= before, deps.expired.older);
  const horizon = new Date(deps.now().getTime() + DAY_MS).toISOString();
  await sweepAll(({ created_at }) => created_at >= before && created_at < horizon, deps.expired.dated);
  return erased;
}

interface Swept {
  last: OlderRecord | undefined;
  more: boolean;
}

/** The first of these records: as many as can be taken at once with all that is in their traces and sessions, but at least those of one of these. */
async function fewEnough(
  eraser: SweepDeps['eraser'],
  run: RunRef,
  found: readonly OlderRecord[],
): Promise<readonly OlderRecord[]> {
  let taken = found;
  let containers = new Set(found.map(({ container }) => container));
  while (containers.size > 1 && (await countMembers(eraser, run, taken)) > MAX_ERASED) {
    containers = new Set([...containers].slice(0, Math.ceil(containers.size / 2)));
    taken = found.slice(
      0,
      found.findIndex(({ container }) => !containers.has(container)),
    );
  }
  return taken;
}

async function countMembers(eraser: SweepDeps['eraser'], run: RunRef, found: readonly OlderRecord[]): Promise<number> {
  const { sessionIds, traceIds } = containersOf(found);
  const counts = [
    sessionIds.length > 0 ? eraser.countMembers(run, 'session_id', sessionIds) : 0,
    traceIds.length > 0 ? eraser.countMembers(run, 'trace_id', traceIds) : 0,
  ];
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

function containersOf(found: readonly OlderRecord[]): { sessionIds: string[]; traceIds: string[] } {
  const of = (isSession: boolean) => [
    ...new Set(found.filter((one) => one.isSession === isSession).map(({ container }) => container)),
  ];
  return { sessionIds: of(true), traceIds: of(false) };
}

/** The whole traces of these records, and the sessions among them, that no newer record keeps. */
async function expiredWith(
  eraser: SweepDeps['eraser'],
  run: RunRef,
  found: readonly OlderRecord[],
  isNewer: (key: ErasedKey) => boolean,
): Promise<ErasedKey[]> {
  const { sessionIds, traceIds } = containersOf(found);
  const traces = Map.groupBy(traceIds.length > 0 ? await eraser.members(run, 'trace_id', traceIds) : [], traceOf);
  const toErase = new Map<string, ErasedKey>();
  const take = ({ id, created_at }: ErasedKey) => void toErase.set(id, { id, created_at });
  for (const traceId of traceIds) {
    const members = traces.get(traceId) ?? [];
    if (!members.some(isNewer)) for (const member of members) take(member);
  }
  const held = sessionIds.length > 0 ? await eraser.members(run, 'session_id', sessionIds) : [];
  const alive = new Set(held.filter(isNewer).map(({ session_id }) => session_id));
  for (const record of found) if (record.isSession && !alive.has(record.id)) take(record);
  return [...toErase.values()];
}

const traceOf = ({ trace_id }: StoredKey): string => trace_id ?? '';
