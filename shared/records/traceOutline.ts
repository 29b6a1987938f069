import { microsOfTime } from '../wire/time.ts';
import type { TraceOutline } from '../wire/traceOutline.ts';
import { errorOf } from './failed.ts';
import { hanging, type ReadDeps, recordsOfTrace } from './read.ts';
import type { StoredRecord } from './record.ts';
import { keyOf, withUsage } from './searchRecords.ts';

/** The fields of each record that an outline reads. */
const fields = ['name', 'parent_id', 'step_number', 'status_code', 'error_message', 'model', 'metrics', 'trace_is_complete'];

/**
 * The records of a trace in the order of its tree, as columns: what a tree and a timeline show, without inputs and outputs.
 * @throws ServiceError `NotFound`; `QueryTooExpensive` as for the whole trace.
 */
export async function traceOutline({ reader, reads }: ReadDeps, projectId: string, traceId: string): Promise<TraceOutline> {
  const { run, records } = await recordsOfTrace(reader, projectId, traceId, fields);
  const trace = records.find(({ type }) => type === 'trace');
  const usage = await reads.usage(run, trace ? [keyOf(trace)] : []);
  const rows = inTreeOrder(records).map(({ record, parent }) => ({ record: withUsage(record, usage), parent }));
  const [first] = rows as [(typeof rows)[0]];
  const start = microsOfTime(first.record.created_at);
  const column = <T>(of: (record: StoredRecord) => T): T[] => rows.map(({ record }) => of(record));
  const number = (name: string) => column(({ metrics }) => numberOrNull(metrics?.[name]));
  return {
    trace_id: traceId,
    run_id: run.runId,
    session_id: first.record.session_id,
    is_complete: trace?.trace_is_complete ?? false,
    start_time: first.record.created_at,
    columns: {
      id: column(({ id }) => id),
      parent: rows.map(({ parent }) => parent),
      type: column(({ type }) => type),
      name: column(({ name }) => name ?? ''),
      start_us: column(({ created_at }) => Number(microsOfTime(created_at) - start)),
      duration_ns: number('duration_ns'),
      num_total_tokens: number('num_total_tokens'),
      cost: number('cost'),
      model: column(({ model }) => model ?? null),
      status_code: column(({ status_code }) => status_code ?? null),
      failed: column((record) => errorOf(record) !== undefined),
    },
  };
}

const numberOrNull = (value: unknown): number | null => {
  const number = value === null || value === undefined ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
};

/** Each record before those below it, with the place of the one above it. Without recursion, as deep as they nest. */
function inTreeOrder(records: readonly StoredRecord[]): { record: StoredRecord; parent: number }[] {
  const below = Map.groupBy(hanging(records), ({ above }) => above);
  const rows: { record: StoredRecord; parent: number }[] = [];
  const open = (below.get(undefined) ?? []).map(({ record }) => ({ record, parent: -1 })).reverse();
  for (let next = open.pop(); next; next = open.pop()) {
    const parent = rows.push(next) - 1;
    for (const { record } of (below.get(next.record) ?? []).toReversed()) open.push({ record, parent });
  }
  return rows;
}
