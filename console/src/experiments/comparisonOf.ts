import type { CompareAddress } from '../address/compareAddress.ts';
import type { Experiment } from '../data/experiments.ts';

/** The address that compares chosen experiments: with the newest one approved as a baseline, else with the oldest. */
export function comparisonOf(pick: readonly string[], loaded: readonly Experiment[]): CompareAddress {
  const picked = loaded.filter(({ id }) => pick.includes(id));
  const byAge = picked.toSorted((one, two) => Date.parse(one.created_at) - Date.parse(two.created_at));
  const base = byAge.findLast(({ approved_at }) => approved_at !== null)?.id ?? byAge[0]?.id ?? pick[0];
  return { ...(base === undefined ? {} : { base }), with: pick.filter((id) => id !== base) };
}
