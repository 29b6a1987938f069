import { derivedId } from '../ids.ts';
import type { LoggedSpan, LoggedTrace } from '../wire/records.ts';
import type { ExperimentRow } from './experiment.ts';

/** What running one row gave. A row that failed has an `error`; its spans and whatever output there is are kept all the same. */
export interface RowResult {
  /** Text, or the JSON text of a value that is not a string. */
  output: string | null;
  error?: string;
  /** Spans that the runner logged, in wire shape and nested, without ids or with ids of their own. */
  spans: LoggedSpan[];
  startedAt: Date;
  /** Nanoseconds of the work alone: no wait in a queue, no retry's pause. */
  durationNs: number;
  /** Scores that the caller computed itself; they travel with the record. */
  localMetrics?: Record<string, unknown>;
  tags?: string[];
}

/** The trace of a row: the same for every attempt, so that a repeat finds or replaces it and never stands beside it. */
export const rowTraceId = (experimentId: string, rowId: string, trial = 0): string => derivedId(experimentId, rowId, trial);

/** The records of one row: a trace with its spans, whose ids are a pure function of (experiment, row, trial, span path). */
export function rowTrace(experimentId: string, row: ExperimentRow, result: RowResult): LoggedTrace & { error_message: string } {
  const id = rowTraceId(experimentId, row.rowId);
  return {
    type: 'trace',
    id,
    name: `row ${row.ordinal + 1}`,
    created_at: result.startedAt.toISOString(),
    input: row.input,
    output: result.output,
    dataset_input: row.input,
    dataset_output: row.expected,
    dataset_metadata: row.metadata,
    user_metadata: {},
    tags: result.tags ?? [],
    status_code: result.error === undefined ? 200 : 500,
    error_message: result.error ?? '',
    metrics: {
      ...result.localMetrics,
      duration_ns: result.durationNs,
      ...usageOf(result.spans),
    },
    spans: withDerivedIds(result.spans, experimentId, row.rowId),
  } as LoggedTrace & { error_message: string };
}

const usageKeys = ['num_input_tokens', 'num_output_tokens', 'num_total_tokens', 'cost'] as const;

/** Tokens and cost of a row: the sums over its llm spans, of those that say. */
function usageOf(spans: readonly LoggedSpan[]): Record<string, number> {
  const usage: Record<string, number> = {};
  const open = [...spans];
  for (let span = open.pop(); span; span = open.pop()) {
    if ('spans' in span && Array.isArray(span.spans)) for (const below of span.spans as LoggedSpan[]) open.push(below);
    if (span.type !== 'llm') continue;
    const metrics: Record<string, unknown> = span.metrics ?? {};
    for (const key of usageKeys) {
      const value = metrics[key];
      if (typeof value === 'number') usage[key] = (usage[key] ?? 0) + value;
    }
  }
  return usage;
}

/** Span ids by path in the tree: whoever ran the row, and however often, the third child of the first span has one id. */
function withDerivedIds(spans: LoggedSpan[], experimentId: string, rowId: string): LoggedSpan[] {
  interface Work {
    from: LoggedSpan[];
    into: LoggedSpan[];
    path: string;
  }
  const roots: LoggedSpan[] = [];
  const open: Work[] = [{ from: spans, into: roots, path: '' }];
  for (let work = open.pop(); work; work = open.pop()) {
    for (const [index, span] of work.from.entries()) {
      const path = `${work.path}/${index}`;
      const children = 'spans' in span && Array.isArray(span.spans) ? span.spans : [];
      const copy = { ...span, id: derivedId(experimentId, rowId, 0, path) } as LoggedSpan & { spans?: LoggedSpan[] };
      if (children.length > 0) {
        copy.spans = [];
        open.push({ from: children, into: copy.spans, path });
      }
      work.into.push(copy);
    }
  }
  return roots;
}
