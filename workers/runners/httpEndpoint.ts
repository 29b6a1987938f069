import { z } from 'zod';
import type { CallGate } from '../../shared/coordination/coordination.ts';
import { givenInput } from '../../shared/datasets/experimentRow.ts';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import { recordableResult } from '../../shared/experiments/recordableResult.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowContext, RowRunner } from '../../shared/experiments/runRows.ts';
import { parseJson } from '../../shared/json/parseJson.ts';
import { MOST_CALLS } from '../../shared/modelCalls/callLimits.ts';
import { defaultRetryRules, limitedCall } from '../../shared/modelCalls/limitedCall.ts';
import type { Attempt } from '../../shared/modelCalls/modelCall.ts';
import type { TimeLimit } from '../../shared/modelCalls/timeLimit.ts';
import { headersOf, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import { AttemptFailure, connectionFailure, httpFailure, UNEXPLAINED } from '../../shared/providers/failures.ts';

/** Bytes of an answer that are read; a larger one fails the row. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

const utf8 = new TextDecoder();

/** The contents of these fields are not checked here: the record of the row takes any value. */
const anything = z.unknown().optional();
const Answer = z.object({ output: z.unknown(), error: anything, spans: anything, metrics: anything });

/**
 * Posts each row to a URL and takes the output from its JSON answer: `{ row, input, experiment, attempt }` in, `{ output, error?, spans?, metrics? }`
 * out. It is called, waited for and tried again as a model is; all runs that name the same address share it.
 * @param outbound refuses addresses that the configuration does not allow
 */
export function httpRunner(
  run: ExperimentRun,
  url: string,
  headers: Record<string, string>,
  outbound: Pick<OutboundGuard, 'request' | 'mayExplain'>,
  calls: CallGate,
): RowRunner {
  const { rowTimeLimitMs, maxCallAttempts, limits } = run.settings;
  const shared = { key: url, limits: () => ({ concurrency: MOST_CALLS }) };
  const own = { key: `${url}/${run.experimentId}`, limits: () => ({ concurrency: MOST_CALLS, ...limits }) };
  const gates = limits ? [own, shared] : [shared];
  const who = "the runner's URL";
  return {
    async run(row: ExperimentRow, { attempt, signal, waiting, stopping, confirm, memory }: RowContext): Promise<RowResult> {
      let startedAt = new Date();
      // Times the last attempt alone.
      let durationNs: number | null = null;
      const tries: Attempt[] = [];
      const body = JSON.stringify({
        row: {
          id: row.rowId,
          ordinal: row.sourceOrdinal,
          trial: row.trial,
          expected: row.expected,
          metadata: row.metadata,
          values: row.variables,
        },
        input: givenInput(row),
        experiment: { id: run.experimentId, name: run.name, project_id: run.projectId },
        attempt,
      });
      const call = async (limit: TimeLimit, wait: <T>(work: () => Promise<T>) => Promise<T>) => {
        startedAt = new Date();
        const start = process.hrtime.bigint();
        try {
          const answer = await outbound.request(url, {
            method: 'POST',
            headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
            body,
            signal: limit.signal,
            most: MAX_ANSWER_BYTES,
            reserve: (bytes) => wait(() => memory.take(bytes, signal)),
          });
          const { status, headers: received, bytes } = answer;
          if (status < 200 || status > 299) throw httpFailure(who, status, headersOf(received));
          memory.keep(bytes.byteLength);
          return { value: utf8.decode(bytes) };
        } catch (err) {
          limit.signal.throwIfAborted();
          throw err instanceof AttemptFailure ? err : connectionFailure(who, err);
        } finally {
          durationNs = Number(process.hrtime.bigint() - start) - Math.round(limit.waitedMs() * 1e6);
        }
      };
      try {
        const text = await limitedCall(
          calls,
          {
            gates,
            party: run.experimentId,
            tokens: 0,
            rules: { ...defaultRetryRules, maxAttempts: maxCallAttempts },
            timeLimitMs: rowTimeLimitMs,
            overdue: `the row took longer than its time limit of ${rowTimeLimitMs} ms`,
            signal,
            waiting,
            stopping,
            confirm,
            attempts: tries,
            mayExplain: () => outbound.mayExplain(url),
          },
          call,
        );
        const { output, error, spans, metrics } = Answer.parse(parseJson(text));
        return recordableResult({ output, error, spans, startedAt, durationNs, attempts: tries.length, localMetrics: metrics });
      } catch (err) {
        signal.throwIfAborted();
        if (stopping.aborted && err === stopping.reason) throw err;
        return {
          output: null,
          spans: [],
          startedAt,
          durationNs,
          attempts: Math.max(1, tries.length),
          error: err instanceof AttemptFailure || outbound.mayExplain(url) ? reason(err) : UNEXPLAINED,
          isProviderFailure: err instanceof AttemptFailure && err.isOfProvider,
          isExhausted: err instanceof AttemptFailure && err.isExhausted,
        };
      }
    },
    close: async () => undefined,
  };
}

/** Describes an error without quoting the answer's body, which may hold secrets. */
function reason(err: unknown): string {
  if (err instanceof z.ZodError || err instanceof SyntaxError)
    return 'the runner\'s URL did not answer with a JSON object that has an "output"';
  return err instanceof Error ? err.message : String(err);
}
