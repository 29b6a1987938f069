import type { RunRef } from '../../projects/runs.ts';
import type { ClickHouse } from './connect.ts';
import { type KindCounts, kindCounts } from './kindCounts.ts';
import { type Asked, LastKnown } from './lastKnown.ts';
import { asWritten, type NewestVersions, newestVersions, sameVersions } from './newestVersions.ts';

/** What a statement over a run has to know of its rows. */
export interface RunState {
  newest: NewestVersions;
  /** Of a run that was never rewritten: the numbers of its records, expired ones too. Undefined otherwise, and where that is not known. */
  counts?: KindCounts['rows'];
}

/** Names a run in {@link LastKnown}. */
export const runKey = ({ projectId, runId }: RunRef): string => `${projectId} ${runId}`;

/** Tells the state of runs, as it is now and as it was when it was last asked for. */
export function runStates(clickhouse: ClickHouse): (run: RunRef) => Asked<RunState> {
  const known = new LastKnown<RunState>(
    { newest: asWritten },
    (one, other) => sameVersions(one.newest, other.newest),
    clickhouse,
  );
  return (run) => known.asked(runKey(run), (last) => runState(clickhouse, run, last));
}

/** Most runs are never rewritten. Their counts, which the engine keeps, say so. */
async function runState(clickhouse: ClickHouse, run: RunRef, last: RunState): Promise<RunState> {
  if (last.newest === asWritten) {
    const { rows, isRewritten } = await kindCounts(clickhouse, run);
    if (!isRewritten) return { newest: asWritten, counts: rows };
  }
  return { newest: await newestVersions(clickhouse, run) };
}
