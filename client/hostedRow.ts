import type { z } from 'zod';
import type { LeasedRow as LeasedRowSchema } from '../shared/wire/experimentRuns.ts';
import { readScores, ScoresByName, scoreToWire } from '../shared/wire/readScores.ts';
import { withContext } from './context.ts';
import type { HostedRow, LocalMetric } from './localMetric.ts';
import { isInParts, outputText } from './outputText.ts';
import { nowNs, type OpenSpan, toWire } from './spans.ts';
import { thrownText } from './texts.ts';

export type LeasedRow = z.output<typeof LeasedRowSchema>;

export interface RowWork<Input, Output> {
  function: (input: Input, row: HostedRow<Input>) => Output | Promise<Output>;
  metrics: readonly LocalMetric<Input, Awaited<Output>>[];
  /** Names of metrics that the service computes. */
  takenNames: ReadonlySet<string>;
  warn(message: string): void;
}

/** The result of one row as the service takes it. */
export interface RowReport {
  ordinal: number;
  output: string | null;
  error?: string;
  spans?: unknown[];
  started_at: string;
  duration_ns: number;
  metrics?: Record<string, unknown>;
}

/** Runs the function on one row, then the local metrics. Never rejects: what the function throws, and a time limit that is over, are the row's error. */
export async function runHostedRow<Input, Output>(
  work: RowWork<Input, Output>,
  leased: LeasedRow,
  timeLimitMs: number,
  limit: AbortController,
): Promise<RowReport> {
  const row: HostedRow<Input> = {
    input: (Object.hasOwn(leased.values, 'input') ? leased.values.input : leased.values) as Input,
    expected: leased.expected,
    metadata: leased.metadata,
    values: leased.values,
    ordinal: leased.dataset_row_ordinal,
    trial: leased.trial,
    id: leased.row_id,
    signal: limit.signal,
  };
  const spans = { children: [] as OpenSpan[] };
  const startedAt = new Date();
  const startNs = nowNs();
  let endNs: number | undefined;
  let rejectAsStray: (reason: StrayRejection) => void = () => undefined;
  const stray = new Promise<never>((_, reject) => {
    rejectAsStray = reject;
  });
  stray.catch(() => undefined);
  const onStray = (reason: unknown): void => {
    const rejected = `a promise that nothing awaits was rejected: ${thrownText(reason)}`;
    if (endNs === undefined) rejectAsStray(new StrayRejection(rejected));
    else work.warn(`row ${row.ordinal}: ${rejected}`);
  };
  const run = async (): Promise<string | null> => {
    try {
      output = await work.function(row.input, row);
    } finally {
      // At once: the functions of other rows may hold the event loop before anything else hears of the end.
      endNs = nowNs();
    }
    const text = await outputText(output);
    if (isInParts(output)) endNs = nowNs();
    return text;
  };
  let output: Output | undefined;
  const ended = await within(timeLimitMs, limit, () =>
    withContext({ parent: spans, row: { onStray } }, () => Promise.race([run(), stray])),
  );
  const ran: RowReport = {
    ordinal: leased.ordinal,
    output: null,
    started_at: startedAt.toISOString(),
    duration_ns: (endNs ?? nowNs()) - startNs,
  };
  if (spans.children.length > 0) ran.spans = spans.children.map(toWire);
  if ('error' in ended) return { ...ran, error: ended.error };
  ran.output = ended.value;
  if (work.metrics.length > 0) ran.metrics = await localScores(work, row, output as Awaited<Output>, timeLimitMs, limit);
  return ran;
}

async function localScores<Input, Output>(
  work: RowWork<Input, Output>,
  row: HostedRow<Input>,
  output: Awaited<Output>,
  timeLimitMs: number,
  limit: AbortController,
): Promise<Record<string, unknown>> {
  const scales = new Map(work.metrics.flatMap((metric) => Object.entries(metric.scales ?? {})));
  for (const { name, range } of work.metrics) scales.set(name, { range });
  const names = new Set(work.metrics.map(({ name }) => name));
  const byName = new ScoresByName({
    rangeOf: (name) => scales.get(name)?.range,
    isTaken: (name) => names.has(name) || work.takenNames.has(name),
  });
  for (const { name, score } of work.metrics) {
    const ended = await within(timeLimitMs, limit, async () => readScores(name, await score(row, output)));
    const problems = byName.add(name, 'error' in ended ? [{ name, value: null, error: ended.error }] : ended.value);
    if (problems.length > 0) work.warn(`metric ${JSON.stringify(name)} of row ${row.ordinal}: ${problems.join('; ')}`);
  }
  return Object.fromEntries([...byName.scores].map(([name, score]) => [name, scoreToWire(score)]));
}

/** Its message says all: the function itself has not thrown. */
class StrayRejection extends Error {}

type Ended<T> = { value: T } | { error: string };

/** Returns the result of `work`, or the reason for which `limit` aborted first: the row's time is over, or the run stops. */
function within<T>(ms: number, limit: AbortController, work: () => Promise<T>): Promise<Ended<T>> {
  return new Promise((resolve) => {
    const onAbort = () => end({ error: messageOf(limit.signal.reason) });
    const end = (ended: Ended<T>) => {
      clearTimeout(timer);
      limit.signal.removeEventListener('abort', onAbort);
      resolve(ended);
    };
    const timer = setTimeout(() => limit.abort(new Error(`no result within the row's time limit of ${ms} ms`)), ms);
    limit.signal.addEventListener('abort', onAbort, { once: true });
    work().then(
      (value) => end({ value }),
      (error: unknown) => end({ error: error instanceof StrayRejection ? error.message : thrownText(error) }),
    );
  });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : thrownText(error));
