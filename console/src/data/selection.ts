import type { FilterTree } from '../../../shared/filterText/parseFilterText.ts';
import type { RecordKind, RunOf } from './records.ts';

/** Records that something is done with: those of these ids, or all that fit a filter. */
export interface Selection {
  run: RunOf;
  kind: RecordKind;
  records: { ids: readonly string[] } | { filter: FilterTree | undefined };
  count: number;
}

/** The selection that a search, export or deletion takes to find just these. */
export function filterOf({ records }: Pick<Selection, 'records'>): FilterTree | undefined {
  if ('filter' in records) return records.filter;
  return { filter: { type: 'id', column_id: 'id', operator: 'one_of', value: records.ids } };
}

export const runSelector = ({ runId, isExperiment }: RunOf) =>
  isExperiment ? { experiment_id: runId } : { log_stream_id: runId };

/** `1 trace`, `1,204 traces`. */
export const countOf = ({ count, kind }: Selection): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? kind.slice(0, -1) : kind}`;
