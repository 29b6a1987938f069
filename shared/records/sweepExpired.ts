import type { RetentionStore } from '../projects/retention.ts';
import type { RunRef } from '../projects/runs.ts';
import type { DeleteDeps } from './delete.ts';
import type { ErasedKey } from './eraseRecords.ts';
import type { RecordKey } from './recordStore.ts';

/** A record on the older side of the time, and the trace that it goes or stays with; a session has its own id there. */
export interface OlderRecord extends ErasedKey {
  holder: string;
  isSession: boolean;
}

/** What a sweep looks for in the store. */
export interface ExpiredReads {
  /** Runs of the project that may hold something to sweep. */
  runs(projectId: string, before: string): Promise<string[]>;
  /** Records created before the time, oldest first, those behind `after`. */
  older(run: RunRef, before: string, after: ErasedKey | undefined, limit: number): Promise<OlderRecord[]>;
  /** Records whose `created_at` lies more than a day ahead, last written before the time. */
  dated(run: RunRef, before: string, limit: number): Promise<OlderRecord[]>;
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
  const sweep = (isNewer: (key: ErasedKey) => boolean, find: () => Promise<OlderRecord[]>): Promise<OlderRecord[]> =>
    deps.writer.exclusively(run, async () => {
      signal.throwIfAborted();
      const found = await find();
      const doomed = await expiredWith(deps.eraser, run, found, isNewer);
      await deps.erasure.erase(run, doomed);
      erased += doomed.length;
      return found;
    });
  let after: ErasedKey | undefined;
  do {
    const found = await sweep(
      ({ created_at }) => created_at >= before,
      () => deps.expired.older(run, before, after, LOOKED_AT),
    );
    after = found.length < LOOKED_AT ? undefined : found.at(-1);
  } while (after);
  const horizon = new Date(deps.now().getTime() + DAY_MS).toISOString();
  await sweep(
    ({ created_at }) => created_at >= before && created_at < horizon,
    () => deps.expired.dated(run, before, LOOKED_AT),
  );
  return erased;
}

/** The whole traces of these records, and the sessions among them, that no newer record keeps. */
async function expiredWith(
  eraser: SweepDeps['eraser'],
  run: RunRef,
  found: readonly OlderRecord[],
  isNewer: (key: ErasedKey) => boolean,
): Promise<ErasedKey[]> {
  const [sessions, others] = [found.filter(({ isSession }) => isSession), found.filter(({ isSession }) => !isSession)];
  const traceIds = [...new Set(others.map(({ holder }) => holder))];
  const traces = Map.groupBy(traceIds.length > 0 ? await eraser.members(run, 'trace_id', traceIds) : [], traceOf);
  const doomed = new Map<string, ErasedKey>();
  const take = ({ id, created_at }: ErasedKey) => void doomed.set(id, { id, created_at });
  for (const record of others) {
    const members = traces.get(record.holder) ?? [];
    if (!members.some(isNewer)) for (const member of members) take(member);
  }
  const sessionIds = sessions.map(({ id }) => id);
  const held = sessionIds.length > 0 ? await eraser.members(run, 'session_id', sessionIds) : [];
  const alive = new Set(held.filter(isNewer).map(({ session_id }) => session_id));
  for (const session of sessions) if (!alive.has(session.id)) take(session);
  return [...doomed.values()];
}

const traceOf = ({ trace_id }: RecordKey): string => trace_id ?? '';
