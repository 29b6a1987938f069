import { setTimeout as delay } from 'node:timers/promises';
import pRetry, { AbortError } from 'p-retry';
import { z } from 'zod';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowContext, RowRunner } from '../../shared/experiments/runRows.ts';
import { LoggedSpan } from '../../shared/wire/records.ts';

/** Bytes of an answer that are read; a larger one fails the row. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

const Answer = z.object({
  output: z.unknown(),
  error: z.string().nullish(),
  spans: z.array(LoggedSpan).nullish(),
  metrics: z.record(z.string(), z.unknown()).nullish(),
});

/**
 * Posts each row to a URL and takes the output from its JSON answer: `{ row, input, experiment, attempt }` in, `{ output, error?, spans?, metrics? }`
 * out. 408, 429, 5xx and broken connections are tried again, honouring Retry-After.
 * @param fetch guarded against addresses that the configuration does not allow
 */
export function httpRunner(
  run: ExperimentRun,
  url: string,
  headers: Record<string, string>,
  fetch: typeof globalThis.fetch,
): RowRunner {
  return {
    async run(row: ExperimentRow, { attempt, signal }: RowContext): Promise<RowResult> {
      const limit = AbortSignal.timeout(run.settings.rowTimeLimitMs);
      const both = AbortSignal.any([signal, limit]);
      const startedAt = new Date();
      let durationNs = 0;
      const call = async () => {
        const start = process.hrtime.bigint();
        const response = await fetch(url, {
          method: 'POST',
          redirect: 'error',
          headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
          body: JSON.stringify({
            row: { id: row.rowId, ordinal: row.ordinal, expected: row.expected, metadata: row.metadata, values: row.variables },
            input: row.input,
            experiment: { id: run.experimentId, name: run.name, project_id: run.projectId },
            attempt,
          }),
          signal: both,
        });
        const text = await boundedText(response);
        durationNs = Number(process.hrtime.bigint() - start);
        if (response.ok) return text;
        if (response.status !== 408 && response.status !== 429 && response.status < 500)
          throw new AbortError(`the runner's URL answered ${response.status}`);
        await waitAsTold(response.headers.get('retry-after'), both);
        throw new Error(`the runner's URL answered ${response.status}`);
      };
      try {
        const text = await pRetry(call, {
          retries: run.settings.maxCallAttempts - 1,
          minTimeout: 200,
          maxTimeout: 30_000,
          randomize: true,
          signal: both,
        });
        const answer = Answer.parse(JSON.parse(text));
        return {
          output:
            answer.output === undefined || answer.output === null
              ? null
              : typeof answer.output === 'string'
                ? answer.output
                : JSON.stringify(answer.output),
          spans: answer.spans ?? [],
          startedAt,
          durationNs,
          ...(answer.error ? { error: answer.error } : {}),
          ...(answer.metrics ? { localMetrics: answer.metrics } : {}),
        };
      } catch (err) {
        signal.throwIfAborted();
        return {
          output: null,
          spans: [],
          startedAt,
          durationNs,
          error: limit.aborted ? `the row took longer than its time limit of ${run.settings.rowTimeLimitMs} ms` : reason(err),
        };
      }
    },
    close: async () => undefined,
  };
}

/** What went wrong, without anything of the answer's body: it may hold secrets. */
function reason(err: unknown): string {
  if (err instanceof z.ZodError || err instanceof SyntaxError)
    return 'the runner\'s URL did not answer with a JSON object that has an "output"';
  const inner = err instanceof Error && err.cause instanceof Error ? err.cause : err;
  return inner instanceof Error ? inner.message : String(inner);
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new AbortError(`the answer of the runner's URL is larger than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function waitAsTold(retryAfter: string | null, signal: AbortSignal): Promise<void> {
  if (retryAfter === null) return;
  const seconds = Number(retryAfter);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(retryAfter) - Date.now();
  if (!(ms > 0)) return;
  await delay(ms, undefined, { signal });
}
