import type { SourceRow } from '../datasets/experimentRow.ts';
import type { RowReader } from '../datasets/rowsOfRun.ts';
import { ServiceError } from '../errors/errors.ts';
import type { ExperimentRun } from '../experiments/experiment.ts';
import type { RunRef } from '../projects/runs.ts';
import { asksJudges } from '../scorers/resolveMetrics.ts';
import { isBlank } from '../wire/isBlank.ts';
import type { RecordToScore } from './recordToScore.ts';
import type { FoundMetric } from './spansOfRows.ts';

/** Rows by their position in their dataset: their input, and their cells by the names of columns. */
export type RowValues = ReadonlyMap<number, Pick<SourceRow, 'input' | 'variables'>>;

export interface RowValueDeps {
  /** The rows at these positions of what an experiment runs over. */
  rowValues(run: RunRef, ordinals: readonly number[]): Promise<RowValues>;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/**
 * The records with the values of their rows, where a judge is to see those: it asks for a column, or the record does not say what was asked, as
 * records of former releases do not where their dataset has no column `input`.
 * @param part the records and metrics that are to be computed
 */
export async function withRowValues(
  deps: RowValueDeps,
  run: RunRef,
  part: readonly { recordId: string; metric: FoundMetric }[],
  records: ReadonlyMap<string, RecordToScore>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RecordToScore>> {
  const wanted = new Map<string, RecordToScore & { rowOrdinal: number }>();
  for (const { recordId, metric } of part) {
    const target = records.get(recordId);
    if (!target || 'problem' in metric || !asksJudges(metric) || target.rowOrdinal === null) continue;
    if (metric.readsRow || lacksInput(target)) wanted.set(recordId, { ...target, rowOrdinal: target.rowOrdinal });
  }
  if (wanted.size === 0) return records;
  const ordinals = [...new Set([...wanted.values()].map(({ rowOrdinal }) => rowOrdinal))];
  const values = await deps.untilStored(() => deps.rowValues(run, ordinals), signal);
  const filled = [...wanted].map(([id, target]) => [id, withValues(target, values.get(target.rowOrdinal))] as const);
  return new Map([...records, ...filled]);
}

const lacksInput = ({ kind, record }: RecordToScore): boolean =>
  kind === 'trace' && isBlank(record.input) && isBlank(record.datasetInput);

function withValues(target: RecordToScore, row: Pick<SourceRow, 'input' | 'variables'> | undefined): RecordToScore {
  if (!row) return target;
  const { spansOf, record } = target;
  const datasetInput = isBlank(record.datasetInput) ? row.input : record.datasetInput;
  return {
    ...target,
    record: { ...record, datasetInput, rowValues: row.variables },
    ...(spansOf && { spansOf: (kinds, withSpans) => spansOf(kinds, withSpans).map((span) => withValues(span, row)) }),
  };
}

/** Reads rows by their position in the dataset, or in the run's own records, whatever rows of it the run was for. */
export async function readRowValues(
  { find, page }: { find(runId: string): Promise<ExperimentRun | undefined>; page: RowReader['page'] },
  { runId }: RunRef,
  ordinals: readonly number[],
): Promise<RowValues> {
  const run = await find(runId);
  const values = new Map<number, SourceRow>();
  if (!run) return values;
  const read = (from: number, to: number): Promise<SourceRow[]> =>
    page({ ...run, selectedRows: null }, from, to).catch((err: unknown) => {
      if (err instanceof ServiceError && err.code === 'NotFound') return []; // a run whose rows were not kept
      throw err;
    });
  for (const [from, to] of rangesOf(ordinals))
    for (let next = from; next < to; ) {
      const rows = await read(next, to);
      if (rows.length === 0) break;
      for (const row of rows) values.set(row.ordinal, row);
      next += rows.length;
    }
  return values;
}

/** The numbers as ranges of consecutive ones, the ends excluded. */
function rangesOf(numbers: readonly number[]): [from: number, to: number][] {
  const ranges: [number, number][] = [];
  for (const number of numbers.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last?.[1] === number) last[1]++;
    else ranges.push([number, number + 1]);
  }
  return ranges;
}
