import type { OfSorts, ReadRunState, RunState } from '../../../records/liveRecords.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { Binder, timeOfColumn } from '../binder.ts';
import { type ClickHouse, ONE_THREAD } from '../clickHouse.ts';
import { scopeOf } from '../filters/columnSql.ts';
import { RunVersions } from './runVersions.ts';

/**
 * Numbers of records and their newest times. A run that was never rewritten is not read while its numbers stay: the embedded engine's are in memory, those
 * of a server are kept with each part. Else three narrow columns are read.
 */
export function clickhouseRunState(clickhouse: ClickHouse): ReadRunState {
  const versions = new RunVersions(clickhouse);
  return async (run, before) => {
    const { newest, counts } = await versions.ofRecords(run);
    if (before && counts && !run.expiry && isSame(before.counts, summed([...counts]))) return before;
    const { bind, params } = new Binder();
    const scope = scopeOf(bind, run, newest);
    const rows = await clickhouse.query({
      name: 'state of a run',
      sql: `SELECT type, count() AS held, max(created_at) AS latest FROM ${scope.from} WHERE ${scope.newest} GROUP BY type`,
      params,
      row: (row) => row as { type: RecordKind; held: string; latest: string },
      ...ONE_THREAD,
    });
    const state: RunState = {
      counts: summed(rows.map(({ type, held }) => [type, Number(held)])),
      newest: newestOf(rows.map(({ type, latest }) => [type, timeOfColumn(latest)])),
    };
    return before && isSame(before.counts, state.counts) ? before : state;
  };
}

const sortOf = (kind: RecordKind): keyof OfSorts<number> =>
  kind === 'trace' ? 'traces' : kind === 'session' ? 'sessions' : 'spans';

function summed(kinds: readonly (readonly [RecordKind, number])[]): OfSorts<number> {
  const counts = { traces: 0, spans: 0, sessions: 0 };
  for (const [kind, count] of kinds) counts[sortOf(kind)] += count;
  return counts;
}

function newestOf(kinds: readonly (readonly [RecordKind, string])[]): RunState['newest'] {
  const newest: OfSorts<string | null> = { traces: null, spans: null, sessions: null };
  for (const [kind, time] of kinds) {
    const known = newest[sortOf(kind)];
    if (known === null || known < time) newest[sortOf(kind)] = time;
  }
  return newest;
}

const isSame = (one: OfSorts<number>, other: OfSorts<number>): boolean =>
  one.traces === other.traces && one.spans === other.spans && one.sessions === other.sessions;
