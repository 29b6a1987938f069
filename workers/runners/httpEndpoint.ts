import { setTimeout as delay } from 'node:timers/promises';
import pRetry, { AbortError } from 'p-retry';
import { z } from 'zod';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import { recordableResult } from '../../shared/experiments/recordableResult.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowContext, RowRunner } from '../../shared/experiments/runRows.ts';

/** Bytes of an answer that are read; a larger one fails the row. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

/** What its parts hold is not looked at here: the record of the row takes whatever they are. */
const anything = z.unknown().optional();
const Answer = z.object({ output: z.unknown(), error: anything, spans: anything, metrics: anything });

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
      // Of the last try alone.
      let durationNs: number | null = null;
      const call = async () => {
        const start = process.hrtime.bigint();
        const asked = ask();
        const took = () => {
          durationNs = Number(process.hrtime.bigint() - start);
        };
        asked.then(took, took);
        const { response, text } = await asked;
        if (response.ok) return text;
        if (response.status !== 408 && response.status !== 429 && response.status < 500)
          throw new AbortError(`the runner's URL answered ${response.status}`);
        await waitAsTold(response.headers.get('retry-after'), both);
        throw new Error(`the runner's URL answered ${response.status}`);
      };
      const ask = async () => {
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
        return { response, text: await boundedText(response) };
      };
      try {
        const text = await pRetry(call, {
          retries: run.settings.maxCallAttempts - 1,
          minTimeout: 200,
          maxTimeout: 30_000,
          randomize: true,
          signal: both,
        });
        const { output, error, spans, metrics } = Answer.parse(JSON.parse(text));
        return recordableResult({ output, error, spans, startedAt, durationNs, localMetrics: metrics });
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
