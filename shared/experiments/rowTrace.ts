import { derivedId } from '../identifiers/ids.ts';
import type { LoggedSpan } from '../recordSchemas/loggedRecords.ts';
import type { ExperimentTrace } from '../records/ingest.ts';
import { isObject } from '../wire/isObject.ts';
import { flatMetrics } from '../wire/readScores.ts';
import { textOf } from '../wire/textOf.ts';
import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { type GivenResult, recordableResult } from './recordableResult.ts';

/** The result of one row. A failed row has an `error`; its spans and whatever output there is are kept all the same. */
export interface RowResult {
  /** Text, or the JSON text of a value that is not a string. */
  output: string | null;
  error?: string;
  /** The row failed because its provider is down or refuses whatever it is asked; never recorded. */
  isProviderFailure?: boolean;
  /** The provider's quota is used up, or it asks to wait for hours: the row is left to a resume. */
  isExhausted?: boolean;
  /** Spans that the runner logged, in wire shape and nested, without ids or with ids of their own. */
  spans: LoggedSpan[];
  startedAt: Date;
  /** Nanoseconds of the work alone: no wait in a queue, no retry's pause. Null where nothing was measured: such a row is in no average. */
  durationNs: number | null;
  /**
   * Times that it was tried: calls that were sent, or executions of a function. One that ends before its first call is a try, too. Null where nothing
   * counted them, or nothing was run.
   */
  attempts: number | null;
  /** Scores that the caller computed itself; they travel with the record. */
  localMetrics?: Record<string, unknown>;
  tags?: string[];
  /** Parts that have no place in a result as they were, as text by their names. */
  asText?: Record<string, string>;
}

/** The trace of a row: the same for every attempt, so that a repeat finds or replaces it and never stands beside it. */
export const rowTraceId = (experimentId: string, rowId: string, trial = 0): string => derivedId(experimentId, rowId, trial);

/**
 * The records of one row: a trace with its spans, whose ids are a pure function of (experiment, row, trial, span path).
 * @param given whatever the runner gave: this is where it gets the form of a result, for runners of all kinds
 */
export function rowTrace(
  {
    experimentId,
    source,
    loggedMetrics,
  }: Pick<ExperimentRun, 'experimentId' | 'source'> & Partial<Pick<ExperimentRun, 'loggedMetrics'>>,
  row: ExperimentRow,
  given: GivenResult,
): ExperimentTrace {
  const id = rowTraceId(experimentId, row.rowId, row.trial);
  const result = recordableResult(given);
  return {
    type: 'trace',
    id,
    ordinal: row.ordinal,
    ofRow: {
      dataset_row_id: row.rowId,
      dataset_version: source.kind === 'dataset' ? source.versionIndex : null,
      dataset_row_ordinal: row.sourceOrdinal,
      trial: row.trial,
      attempts: result.attempts,
    },
    name: `row ${row.sourceOrdinal + 1}${row.trial > 0 ? `, trial ${row.trial + 1}` : ''}`,
    created_at: result.startedAt.toISOString(),
    input: row.input,
    output: result.output,
    dataset_input: row.input,
    dataset_output: row.expected,
    dataset_metadata: row.metadata,
    user_metadata: result.asText,
    tags: result.tags ?? [],
    status_code: result.error === undefined ? 200 : 500,
    error_message: result.error ?? '',
    metrics: {
      ...flatMetrics(result.localMetrics ?? {}, (name) => loggedMetrics?.[name]?.range ?? undefined),
      ...(result.durationNs === null ? {} : { duration_ns: result.durationNs }),
    },
    spans: withDerivedIds(result.spans, experimentId, row),
  } as ExperimentTrace;
}

/** Characters of a path. In a longer one an id replaces the upper part: a tree of 100,000 levels would have 10 GB of paths. */
const MAX_PATH = 4_000;

/** Derives span ids from the path in the tree: the third child of the first span has the same id in every process and attempt. */
function withDerivedIds(
  spans: readonly unknown[],
  experimentId: string,
  { rowId, trial }: Pick<ExperimentRow, 'rowId' | 'trial'>,
): Record<string, unknown>[] {
  interface Work {
    from: readonly unknown[];
    into: Record<string, unknown>[];
    path: string;
  }
  const roots: Record<string, unknown>[] = [];
  const open: Work[] = [{ from: spans, into: roots, path: '' }];
  for (let work = open.pop(); work; work = open.pop()) {
    for (const [index, span] of work.from.entries()) {
      const path = `${work.path}/${index}`;
      const id = derivedId(experimentId, rowId, trial, path);
      const fields = isObject(span) ? span : { type: 'workflow', name: 'span', output: textOf(span) };
      const copy: Record<string, unknown> = { ...fields, id };
      if (Array.isArray(copy.spans) && copy.spans.length > 0) {
        const below: Record<string, unknown>[] = [];
        open.push({ from: copy.spans, into: below, path: path.length > MAX_PATH ? id : path });
        copy.spans = below;
      }
      work.into.push(copy);
    }
  }
  return roots;
}
