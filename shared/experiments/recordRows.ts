import { ServiceError } from '../errors/errors.ts';
import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { MAX_ERROR_CHARACTERS } from './recordableResult.ts';
import { resultBytes } from './rowBytes.ts';
import { firstAttemptOf, type RecordedRow, type RowLog } from './rowLog.ts';
import type { EndedRow } from './rowRecorder.ts';
import { type RowResult, rowTrace, rowTraceId } from './rowTrace.ts';
import { isKnown, isRefusal, reasonOf } from './untilStored.ts';

export interface RecordRowsDeps {
  log: RowLog;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/**
 * Tries of a write that fails in a way that is neither the store's absence nor a refusal: with the pauses between them some 10 s. Then the rows are
 * suspected, one after another.
 */
const MAX_UNKNOWN_FAILURES = 7;

/** Milliseconds in which rows that have ended are still recorded when what is in flight is given up; a worker that ends has 4.5 s left then. */
const LAST_TRIES_MS = 3_000;

/** Bytes of a result that one insert is given. A larger one is recorded as failed: the engine might never take it. */
const MAX_RESULT_BYTES = 64_000_000;

/**
 * Records rows that have ended. Each of them ends in a record: one whose content the store does not take is recorded without it, with the reason.
 * A store that is away is waited for, until `signal` aborts and for some seconds more.
 * @returns rejects with a ServiceError that no repetition cures when a row cannot even be recorded without its content
 */
export function recordRows({ log, untilStored }: RecordRowsDeps, run: ExperimentRun, attempt: number, signal: AbortSignal) {
  const idOf = ({ rowId, trial }: ExperimentRow) => rowTraceId(run.experimentId, rowId, trial);
  // The other runs execute what is not recorded.
  const recordedBefore = async (rows: readonly EndedRow[]) =>
    run.rowsToRun === 'failed' || run.rowsToRun === 'chosen'
      ? log.recorded(
          run,
          rows.map(({ row }) => idOf(row)),
        )
      : new Map<string, RecordedRow>();
  const inAllRuns = (before: RecordedRow | undefined, now: number | null): number | null => {
    if (!before) return now;
    // By this run: a caller that got no answer gives its result again.
    if (before.attempt >= firstAttemptOf(run.workflowNumber)) return before.attempts;
    return before.attempts === null || now === null ? null : before.attempts + now;
  };
  const store = async (rows: readonly EndedRow[]): Promise<void> => {
    let unknownFailures = 0;
    let before: Map<string, RecordedRow> | undefined;
    const once = async () => {
      try {
        // Once, for a write whose answer was lost may have replaced it.
        before ??= await recordedBefore(rows);
        const traces = rows.map(({ row, result }) => {
          const attempts = inAllRuns(before?.get(idOf(row)), result.attempts);
          return rowTrace(run, row, { ...result, attempts });
        });
        await log.write(run, traces, attempt);
      } catch (err) {
        if (isKnown(err) || ++unknownFailures < MAX_UNKNOWN_FAILURES) throw err;
        throw new ServiceError('BadRequest', `the record store failed ${unknownFailures} times: ${reasonOf(err)}`, {
          cause: err,
        });
      }
    };
    try {
      await untilStored(once, signal);
    } catch (err) {
      if (!signal.aborted) throw err;
      // These rows have ended and are paid for.
      await untilStored(once, AbortSignal.timeout(LAST_TRIES_MS));
    }
  };
  // When the store refuses several rows, one is to blame: each is then tried alone, and that one is recorded without the refused part.
  return async function write(rows: readonly EndedRow[]): Promise<void> {
    try {
      await store(rows.map(notTooLarge));
    } catch (err) {
      if (signal.aborted || !isRefusal(err)) throw err;
      const [only] = rows;
      if (rows.length > 1 || !only) for (const one of rows) await write([one]);
      else await store([{ row: only.row, result: withoutContent(only.result, reasonOf(err)) }]);
    }
  };
}

function notTooLarge(ended: EndedRow): EndedRow {
  const bytes = resultBytes(ended.result);
  if (bytes <= MAX_RESULT_BYTES) return ended;
  const reason = `it takes some ${Math.round(bytes / 1e6)} MB, and at most ${Math.round(MAX_RESULT_BYTES / 1e6)} MB are recorded`;
  return { row: ended.row, result: withoutContent(ended.result, reason) };
}

/** Every row ends in a record, also one whose output, spans or metrics cannot be stored. */
const withoutContent = ({ startedAt, durationNs, attempts }: RowResult, reason: string): RowResult => ({
  output: null,
  error: `the result cannot be stored: ${reason}`.slice(0, MAX_ERROR_CHARACTERS),
  spans: [],
  startedAt,
  durationNs,
  attempts,
});
