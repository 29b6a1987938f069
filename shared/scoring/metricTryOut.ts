import { NotNow, type Score } from '../metrics/metric.ts';
import type { IngestLookup } from '../projects/openRun.ts';
import type { RunRef } from '../projects/runs.ts';
import { LoggedTraces } from '../recordSchemas/ingest.ts';
import { ingestTraces } from '../records/ingest.ts';
import type { MetricValue } from '../records/recordStore.ts';
import type { RecordWriter } from '../records/recordWriter.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { SHOWN_CHARACTERS, type TriedSample, type TryOutSummary } from '../wire/judgeTryOut.ts';
import { GENERATED_SCORER, REGISTERED_SCORER } from '../wire/metricsTesting.ts';
import { timeOf } from '../wire/time.ts';
import { type JudgedRun, judgedLogs } from './judgedRun.ts';
import { toMetricValue } from './metricValue.ts';
import type { RecordToScore } from './recordToScore.ts';
import type { ScoredRunMetrics } from './runMetrics.ts';
import { type ScoreValuesDeps, scoreOf } from './scoreValues.ts';

/** Something that a metric is tried out on, read when its turn comes. */
export interface TryOutSource {
  type: TriedSample['source']['type'];
  /** Id of the record or the row; null for a text. */
  id: string | null;
  /** Run of the record. */
  runId: string | null;
  /** Reads the sample. Undefined where it was deleted meanwhile. */
  read(): Promise<RecordToScore | undefined>;
}

export interface MetricTryOutDeps {
  ingestRun: IngestLookup;
  metrics: Pick<ScoredRunMetrics, 'freeze'>;
  contextFor(run: JudgedRun, ...rest: Parameters<ScoreValuesDeps['contextFor']>): ReturnType<ScoreValuesDeps['contextFor']>;
  writer: Pick<RecordWriter, 'write' | 'writeParts' | 'counters'>;
  write(run: RunRef, values: readonly MetricValue[]): Promise<void>;
  newId(): string;
  /** Milliseconds after which no further value is begun, and after which one that was begun is not waited for. */
  time?: { asking: number; waiting: number };
}

export interface MetricTryOut {
  runId: string;
  samples: TriedSample[];
  summary: TryOutSummary;
}

/** Words for the metric in the messages of a try-out. */
interface Words {
  one: string;
  what: string;
  notBegun: string;
  notEnded: string;
  /** Empty where nothing is paid. */
  butPaid: string;
}
const judgeWords: Words = {
  one: 'the judge',
  what: 'judge',
  notBegun: 'the try-out asks no judge',
  notEnded: 'the judge had not answered',
  butPaid: '; its provider may ask for payment',
};
const codeWords: Words = {
  one: 'the metric',
  what: 'score',
  notBegun: 'the try-out computes no value',
  notEnded: 'the code had not ended',
  butPaid: '',
};

/** The metric that the values of a try-out have in its run. */
export const tryOutMetric = ({ needs }: Pick<EnabledMetric, 'needs'>): string =>
  needs === 'judge' ? GENERATED_SCORER : REGISTERED_SCORER;

/** Samples that are scored at once. */
const LANES = 8;
/** Attempts of a call: somebody waits for the answer. */
const MAX_ATTEMPTS = 3;
const TIME = { asking: 60_000, waiting: 90_000 };

/**
 * Scores some samples with a metric that is not saved, as that of an experiment would. A metrics-testing run keeps the values: a trace for each sample with
 * its texts, and the value or the reason why there is none. The samples themselves stay as they are. A sample fails alone.
 * @param signal aborts when the caller no longer waits for the answer. No further value begins then, and the values so far are kept
 */
export async function tryMetric(
  deps: MetricTryOutDeps,
  {
    projectId,
    userId,
    metric: unsaved,
    sources,
  }: { projectId: string; userId: string; metric: EnabledMetric; sources: readonly TryOutSource[] },
  signal: AbortSignal,
): Promise<MetricTryOut> {
  const runId = deps.newId();
  const run = { projectId, runId, kind: 'metrics_testing' as const, name: 'Metrics testing', projectName: '', createdBy: userId };
  await deps.ingestRun(projectId, { metrics_testing_id: runId }, userId);
  const [frozen] = await deps.metrics.freeze(run, [unsaved]);
  const metric = { ...(frozen as EnabledMetric), name: tryOutMetric(unsaved) };
  const said = unsaved.needs === 'judge' ? judgeWords : codeWords;
  const judged = { ...judgedLogs(run), jobId: `try-out/${runId}`, maxCallAttempts: MAX_ATTEMPTS };
  const { asking, waiting } = deps.time ?? TIME;
  const stopping = AbortSignal.any([signal, AbortSignal.timeout(asking)]);
  const givenUp = AbortSignal.any([signal, AbortSignal.timeout(waiting)]);
  const options = { stopping, givenUp, confirm: async () => stopping.throwIfAborted() };
  const contextFor: ScoreValuesDeps['contextFor'] = (...rest) => deps.contextFor(judged, ...rest);
  const began = Date.now();

  const scored = async (target: RecordToScore): Promise<Score & { isCut?: true }> => {
    if (stopping.aborted) return { notComputed: `${said.notBegun} after ${asking / 1_000} s` };
    try {
      return await scoreOf(target, metric, { contextFor }, options);
    } catch (err) {
      const when = signal.aborted ? 'when its caller left' : `after ${waiting / 1_000} s`;
      if (givenUp.aborted) return { notComputed: `${said.notEnded} ${when}${said.butPaid}`, isCut: true };
      if (err instanceof NotNow) return { notComputed: notNow(err, stopping, said) };
      throw err;
    }
  };

  const samples: TriedSample[] = new Array(sources.length);
  const cut = new Set<number>();
  const tryOne = async (source: TryOutSource, index: number): Promise<void> => {
    const target = await source.read();
    if (!target) {
      samples[index] = sampleOf(
        source,
        undefined,
        { status: 'not_applicable', details: { message: 'the record was deleted' } },
        0,
      );
      return;
    }
    if (signal.aborted) return;
    const { isCut, ...score } = await scored(target);
    if (isCut) cut.add(index);
    const id = deps.newId();
    // In the order of the samples, the first one first in lists of the newest.
    const createdAt = timeOf(new Date(began - index));
    await ingestTraces(deps.writer, run, {
      traces: LoggedTraces.parse([traceOf(source, target, id, createdAt)]),
      isComplete: true,
    });
    const { name, scorerId, version } = metric;
    const place = { id, createdAt, kind: 'trace' as const, traceId: id };
    const value = toMetricValue(place, { name, scorerId, ...(version === undefined ? {} : { version }) }, score as Score);
    await deps.write(run, [value]);
    samples[index] = sampleOf(source, { id, target }, value, 'usage' in score && score.usage ? score.usage.calls : 0);
  };
  const queue = sources.entries();
  const lane = async () => {
    for (const [index, source] of queue) {
      if (signal.aborted) return;
      await tryOne(source, index);
    }
  };
  // Answers that were paid for are kept, also where a sample breaks.
  const ended = await Promise.allSettled(Array.from({ length: LANES }, lane));
  signal.throwIfAborted();
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return { runId, samples, summary: summaryOf(samples, cut.size, said) };
}

function notNow({ cause }: NotNow, stopping: AbortSignal, { one }: Words): string {
  if (stopping.aborted) return `the time of the try-out was over before ${one} could be asked`;
  return `${one} could not be asked now: ${cause instanceof Error ? cause.message : 'the service is busy'}`;
}

/** Makes the record that the metrics-testing run keeps of a sample. Its external id is that of the record or row. */
const traceOf = (source: TryOutSource, { name, record, kind }: RecordToScore, id: string, created_at: string) => ({
  id,
  type: 'trace',
  name,
  created_at,
  input: record.input ?? '',
  output: record.output,
  ...(source.id === null ? {} : { external_id: source.id }),
  ...(record.datasetInput === null ? {} : { dataset_input: record.datasetInput }),
  ...(record.datasetOutput === null ? {} : { dataset_output: record.datasetOutput }),
  dataset_metadata: record.datasetMetadata ?? {},
  user_metadata: { sample_of: source.type, sample_kind: kind, ...(source.runId === null ? {} : { sample_run_id: source.runId }) },
});

const cutText = (text: string | null | undefined): string | null => {
  if (text === null || text === undefined) return null;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
};

function sampleOf(
  { type, id, runId }: TryOutSource,
  judged: { id: string; target: RecordToScore } | undefined,
  {
    status,
    value = null,
    explanation = null,
    metadata,
    details = {},
  }: Pick<MetricValue, 'status' | 'details'> & Partial<MetricValue>,
  calls: number,
): TriedSample {
  const record = judged?.target.record;
  const { message, cost, model_alias, input_tokens, output_tokens } = details as Record<string, string & number>;
  const judges = metadata?.judges;
  return {
    record_id: judged?.id ?? null,
    source: { type, id, run_id: runId },
    name: judged?.target.name ?? '',
    input: cutText(record?.input),
    output: cutText(record?.output),
    reference: cutText(record?.datasetOutput),
    status,
    value,
    explanation,
    reason: status === 'success' ? null : (message ?? null),
    judges: Array.isArray(judges) ? judges : null,
    calls,
    model: model_alias ?? null,
    cost: cost ?? null,
    input_tokens: input_tokens ?? null,
    output_tokens: output_tokens ?? null,
  };
}

/** @param cut samples whose value was begun and not waited for */
function summaryOf(samples: readonly TriedSample[], cut: number, said: Words): TryOutSummary {
  const asked = samples.filter(({ calls }) => calls > 0);
  const sum = (numbers: readonly (number | null)[]): number | null => {
    const known = numbers.filter((number) => number !== null);
    return known.length === 0 ? null : known.reduce((total, number) => total + number, 0);
  };
  const withValue = samples.filter(({ status }) => status === 'success').length;
  const lacking = samples.filter(({ status }) => status !== 'success');
  const causes = [...Map.groupBy(lacking, ({ status, reason }) => JSON.stringify([status, reason]))]
    .map(([, [first, ...rest]]) => {
      const { status, reason } = first as TriedSample;
      return { status, reason: reason ?? '', samples: 1 + rest.length };
    })
    .sort((one, other) => other.samples - one.samples);
  return {
    message: messageOf(samples.length, withValue, causes, said),
    samples: samples.length,
    with_value: withValue,
    causes,
    calls: samples.reduce((total, { calls }) => total + calls, 0),
    cost: sum(asked.map((one) => one.cost)),
    samples_of_unknown_cost: asked.filter((one) => one.cost === null).length + (said.butPaid ? cut : 0),
    input_tokens: sum(asked.map((one) => one.input_tokens ?? null)),
    output_tokens: sum(asked.map((one) => one.output_tokens ?? null)),
  };
}

function messageOf(
  samples: number,
  withValue: number,
  [first, ...others]: TryOutSummary['causes'],
  { one, what }: Words,
): string {
  if (samples === 0) return `there was nothing to ${what}: no record or row is on this page`;
  const said = `${one} gave a value for ${withValue} of ${samples} ${samples === 1 ? 'sample' : 'samples'}`;
  if (!first) return said;
  const more = others.length > 0 ? `, and ${others.length} other ${others.length === 1 ? 'cause' : 'causes'}` : '';
  return `${said}. Of the others, ${first.samples}: ${first.reason}${more}`;
}
