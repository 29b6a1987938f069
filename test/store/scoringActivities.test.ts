import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assembleDomain, type Domain } from '../../shared/assemble.ts';
import type { CodeScore } from '../../shared/codeMetrics/codeSandbox.ts';
import { type Config, readConfig } from '../../shared/config/config.ts';
import { extendDataset } from '../../shared/datasetExtensions/extendDataset.ts';
import type { ExtensionWorkflows } from '../../shared/datasetExtensions/extension.ts';
import { createDataset } from '../../shared/datasets/createDataset.ts';
import { editContent } from '../../shared/datasets/editContent.ts';
import type { ExperimentRun } from '../../shared/experiments/experiment.ts';
import { attemptNumber } from '../../shared/experiments/rowLog.ts';
import { rowTrace, rowTraceId } from '../../shared/experiments/rowTrace.ts';
import type { RunWorkflows } from '../../shared/experiments/startRun.ts';
import type { OrdinalRange } from '../../shared/experiments/workflow.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { secretKeysOf } from '../../shared/integrations/secretKeys.ts';
import type { JudgeAnswer } from '../../shared/metrics/metric.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { idleSessionValues } from '../../shared/scoring/markRecords.ts';
import { valueKey } from '../../shared/scoring/metricValue.ts';
import type { MarkedValue, MarkStore, ScoringWorkflows } from '../../shared/scoring/scoring.ts';
import type { ScorePass } from '../../shared/scoring/workflow.ts';
import { openStores, type Stores } from '../../shared/stores/open.ts';
import { postgresDatasetExtensions } from '../../shared/stores/postgres/datasetExtensions.ts';
import { postgresExperiments } from '../../shared/stores/postgres/experimentStore.ts';
import { openTelemetry } from '../../shared/telemetry/telemetry.ts';
import type { ScorerConfig } from '../../shared/wire/scorers.ts';
import { assembleActivities } from '../../workers/assembleActivities.ts';
import { createScoringActivities } from '../../workers/scoringActivities.ts';
import { seedPostgres } from '../support/seedPostgres.ts';

let folder: string;
let stores: Stores;
let domain: Domain;
let settings: Config;
const userId = newId();
const projectId = newId();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-scoring-'));
  settings = readConfig({ DATA_DIR: folder });
  await seedPostgres(join(folder, 'postgres'));
  stores = await openStores(settings);
  const workflows: RunWorkflows & ScoringWorkflows & ExtensionWorkflows = {
    start: async () => undefined,
    status: async () => ({ kind: 'open', runId: newId(), problem: null }),
    signal: async () => undefined,
    cancel: async () => undefined,
    progress: async () => undefined,
    rowWorkers: async () => 1,
    keepActivity: async () => true,
    score: async () => undefined,
    extend: async () => undefined,
  };
  domain = assembleDomain(
    stores,
    workflows,
    settings,
    secretKeysOf(undefined, folder),
    pino({ level: 'silent' }),
    openTelemetry(),
    {},
  );
  await stores.database.query("INSERT INTO users (id, email, first_name, role) VALUES ($1, 'ada@example.com', 'Ada', 'user')", [
    userId,
  ]);
  await stores.database.query("INSERT INTO projects (id, name, type, created_by) VALUES ($1, 'scoring', 'gen_ai', $2)", [
    projectId,
    userId,
  ]);
});
afterAll(async () => {
  await domain?.integrations.outbound.close();
  await stores?.close();
  await rm(folder, { recursive: true, force: true });
});

const config = (metric: string, rest: object = {}): ScorerConfig => ({
  id: builtinByName(metric)?.scorerId as string,
  scorer_type: 'preset',
  ...rest,
});

/** An experiment whose rows are recorded by hand, its scoring activities, and a judge whose answers the test sets. */
async function experiment(metrics: ScorerConfig[], concurrency = 20) {
  const id = newId();
  await postgresExperiments(stores.database).insert({
    id,
    projectId,
    name: `experiment ${id}`,
    taskType: 16,
    createdBy: userId,
    group: { name: 'group' },
    dataset: null,
    promptTemplateVersionId: null,
    promptSettings: null,
    playgroundId: null,
    playgroundPromptId: null,
    rows: null,
    trials: 1,
    scorers: metrics,
    loggedMetrics: {},
    failedRows: 'omit',
    creation: null,
  });
  const judge = { calls: 0, atOnce: 0, most: 0, answer: async (): Promise<string> => '{"verdict": true}' };
  const complete = async (): Promise<JudgeAnswer> => {
    judge.calls++;
    judge.most = Math.max(judge.most, ++judge.atOnce);
    try {
      return { text: await judge.answer(), inputTokens: 1, outputTokens: 1, model: 'judge', costUsd: 0 };
    } finally {
      judge.atOnce--;
    }
  };
  /** Code of metrics: what it gives, and the signal that gives up what is in flight. */
  const code = {
    run: async (): Promise<CodeScore> => ({ value: 1, metadata: null }),
    givenUp: undefined as AbortSignal | undefined,
  };
  const workerEnds = new AbortController();
  const read: number[] = [];
  const scoring = assembleActivities(domain, { env: {} }, settings).scoring;
  const activities = createScoringActivities(
    {
      ...scoring,
      contextFor(_run, _metric, signal) {
        code.givenUp = signal;
        return { signal, complete, runCode: () => code.run() };
      },
      async records(...asked) {
        const records = await scoring.records(...asked);
        read.push(JSON.stringify(records).length);
        return records;
      },
    },
    workerEnds.signal,
  );
  const rowIds = Array.from({ length: 400 }, () => newId());
  let run: ExperimentRun;
  const called = <T>(work: () => Promise<T>, cancelled = new AbortController().signal): Promise<T> => {
    const context = { info: { attempt: 1 }, heartbeat: () => undefined, cancellationSignal: cancelled };
    return asyncLocalStorage.run(context as unknown as Context, work);
  };
  const pass = (rest: Partial<ScorePass> = {}): ScorePass => ({ projectId, runId: id, number: run.workflowNumber, ...rest });
  return {
    id,
    judge,
    code,
    workerEnds,
    read,
    pass,
    /** Starts the next workflow of the experiment. */
    async begin(rowsToRun: 'missing' | 'none' | 'chosen' = 'missing', chosen: OrdinalRange[] = []) {
      const after = (await domain.experiments.ledger.find(id))?.workflowNumber ?? 0;
      const requested = await domain.experiments.ledger.request(id, after, {
        rowsToRun,
        rowCount: 400,
        ...(rowsToRun === 'chosen' ? { chosen } : {}),
        settings: { concurrency },
      });
      run = requested?.run as ExperimentRun;
      await domain.experiments.ledger.setState(id, ['requested'], 'running');
    },
    settle: () => assembleActivities(domain, { env: {} }, settings).settleRecords(run),
    end: (state: 'completed' | 'cancelled' = 'completed') =>
      domain.experiments.ledger.end(id, run.workflowNumber, state, { error: null }),
    set: (scorers: ScorerConfig[]) => domain.scorers.store.saveRunSettings(projectId, id, { scorers }),
    async record(from: number, to: number, output = 'answer', spans: object[] = [], round = 1, localMetrics: object = {}) {
      const rows = rowIds.slice(from, to).map((rowId, index) => ({
        rowId,
        ordinal: from + index,
        sourceOrdinal: from + index,
        trial: 0,
        input: `q${from + index}`,
        expected: 'answer',
        metadata: {},
        generatedOutput: null,
        variables: {},
      }));
      const result = { output, spans: spans as never, startedAt: new Date(), durationNs: 1, localMetrics: { ...localMetrics } };
      await domain.experiments.rowLog.write(
        run,
        rows.map((row) => rowTrace({ experimentId: id, source: { kind: 'run' } }, row, result)),
        attemptNumber(run.workflowNumber, round, 1),
      );
    },
    prepare: (rest?: Partial<ScorePass>, cancelled?: AbortSignal) =>
      called(() => activities.prepareScoring(pass(rest)), cancelled),
    score: (rest?: Partial<ScorePass>, cancelled?: AbortSignal) => called(() => activities.scoreMarked(pass(rest)), cancelled),
    prepareAsked: () => called(() => activities.prepareScoring({ projectId, runId: id })),
    scoreAsked: () => called(() => activities.scoreMarked({ projectId, runId: id })),
    settleAsked: () => called(() => activities.settleScoring({ projectId, runId: id })),
    async states(metric: string) {
      const values = await domain.records.values.byMetric({ projectId, runId: id }, metric);
      const counts: Record<string, number> = {};
      for (const { status, value } of values) {
        const state = status === 'success' ? String(value) : status;
        counts[state] = (counts[state] ?? 0) + 1;
      }
      return counts;
    },
    traceId: (row: number) => rowTraceId(id, rowIds[row] as string),
  };
}

test('beside the rows code is computed at once and judges are marked; at the end nothing is left and nothing is paid twice', async () => {
  const one = await experiment([config('exact_match'), config('correctness')], 7);
  one.judge.answer = () => new Promise((resolve) => setTimeout(resolve, 5, '{"verdict": true}'));
  await one.begin();
  expect(await one.prepare()).toEqual({ oldest: null, scored: 0 });
  await one.record(0, 150);
  expect(await one.prepare()).toEqual({ oldest: expect.any(String), scored: 150 });
  expect(await one.states('exact_match')).toEqual({ true: 150 });
  expect(await one.states('correctness')).toEqual({ pending: 150 });
  expect(await one.prepare()).toEqual({ oldest: null, scored: 0 });
  await one.record(150, 400);
  expect(await one.prepare({ ended: true })).toMatchObject({ scored: 250 });
  expect(await one.score({ ended: true })).toEqual({ scored: 400, more: false });
  expect(await one.states('correctness')).toEqual({ true: 400 });
  expect(await one.prepare({ ended: true })).toEqual({ oldest: null, scored: 0 });
  expect(one.judge).toMatchObject({ calls: 400, most: 7 });
});

test('a cut between the spans of a row keeps what was paid for: the next pass asks for the rest', async () => {
  const one = await experiment([config('correctness', { scoreable_node_types: ['llm'] })], 1);
  const stopping = new AbortController();
  one.judge.answer = async () => {
    if (one.judge.calls === 2) stopping.abort();
    return '{"verdict": true}';
  };
  await one.begin();
  await one.record(0, 2, 'answer', ['first', 'second', 'third'].map(modelCall));
  await one.prepare({ ended: true });
  expect(await one.states('correctness')).toEqual({ pending: 2 });
  expect(await one.score({ ended: true }, stopping.signal)).toMatchObject({ scored: 2, more: true });
  expect(await one.states('correctness')).toEqual({ true: 2, computing: 2 });
  expect(await one.score({ ended: true })).toMatchObject({ scored: 4, more: false });
  expect(await one.states('correctness')).toEqual({ true: 6, roll_up: 2 });
  expect(one.judge.calls).toBe(6);
  expect(await one.prepare({ ended: true })).toEqual({ oldest: null, scored: 0 });
});

test('the spans of one row are judged side by side', async () => {
  const one = await experiment([config('correctness', { scoreable_node_types: ['llm'] })], 3);
  const allAsked = Promise.withResolvers<string>();
  one.judge.answer = () => {
    if (one.judge.calls === 3) allAsked.resolve('{"verdict": true}');
    return allAsked.promise;
  };
  await one.begin();
  await one.record(0, 1, 'answer', ['first', 'second', 'third'].map(modelCall));
  await one.prepare({ ended: true });
  expect(await one.score({ ended: true })).toMatchObject({ scored: 3, more: false });
  expect(await one.states('correctness')).toEqual({ true: 3, roll_up: 1 });
});

test('a run that has ended, and one that a newer one has replaced, gets nothing', async () => {
  const one = await experiment([config('exact_match')]);
  await one.begin();
  await one.record(0, 3);
  const { number } = one.pass();
  await one.end();
  expect(await one.prepare()).toBeNull();
  expect(await one.score()).toEqual({ scored: 0, more: false });
  await one.begin();
  expect(await one.prepare({ number: number as number })).toBeNull();
  expect(await one.score({ number: number as number })).toEqual({ scored: 0, more: false });
  expect(await one.prepare()).toMatchObject({ scored: 3 });
});

test('what failed is tried again by the next run alone; so is what is older than its row, or made by other judges', async () => {
  const one = await experiment([config('correctness')]);
  const { judge } = one;
  const lookAndScore = async (): Promise<number> => {
    const before = judge.calls;
    await one.prepare({ ended: true });
    await one.score();
    return judge.calls - before;
  };
  await one.begin();
  await one.record(0, 10);
  judge.answer = async () => {
    if (judge.calls <= 4) throw new Error('the judge is away');
    return judge.calls <= 6 ? 'no verdict' : '{"verdict": true}';
  };
  expect(await lookAndScore()).toBe(10);
  expect(await one.states('correctness')).toEqual({ failed: 4, error: 2, true: 4 });
  expect(await lookAndScore()).toBe(0);
  await one.end();

  await one.begin();
  expect(await lookAndScore()).toBe(6);
  expect(await one.states('correctness')).toEqual({ true: 10 });
  await one.record(0, 2, 'another answer', [], 2);
  expect(await lookAndScore()).toBe(2);
  // Settings that change amid the run are those of the next one.
  await one.set([config('correctness', { num_judges: 2 })]);
  await one.record(2, 3, 'another answer', [], 3);
  expect(await lookAndScore()).toBe(1);
  await one.end();

  await one.begin('none');
  expect(await lookAndScore()).toBe(20);
  expect(await lookAndScore()).toBe(0);
  await one.end();
  await one.begin('none');
  expect(await lookAndScore()).toBe(0);
});

test('values of former releases stand, unless scores alone are asked for', async () => {
  const one = await experiment([config('correctness')]);
  await one.begin();
  await one.record(0, 6);
  const value = (row: number) => ({
    metric: 'correctness',
    recordId: one.traceId(row),
    recordCreatedAt: '',
    recordType: 'trace' as const,
    traceId: one.traceId(row),
    status: 'success' as const,
    value: false,
    details: {},
  });
  const run = { projectId, runId: one.id };
  const marks = assembleActivities(domain, { env: {} }, settings).scoring.marking.marks;
  const lacking = marks.lacking(run, {
    metrics: [{ name: 'correctness', version: 'x' }],
    withSpans: false,
    ofSpans: [],
    failedBefore: 0,
    unknownCounts: true,
  });
  const createdAt = new Map<string, string>();
  for await (const trace of lacking) createdAt.set(trace.id, trace.createdAt);
  const at = (row: number) => ({ ...value(row), recordCreatedAt: createdAt.get(one.traceId(row)) as string });
  // The first two values have a scorer without a version; the third is its caller's own.
  const scorerId = config('correctness').id;
  await domain.records.values.write(run, [{ ...at(0), scorerId }, { ...at(1), scorerId }, at(2)]);
  await one.prepare({ ended: true });
  await one.score();
  expect(await one.states('correctness')).toEqual({ false: 3, true: 3 });
  await one.end();
  await one.begin('none');
  await one.prepare({ ended: true });
  await one.score();
  expect(await one.states('correctness')).toEqual({ false: 1, true: 5 });
  expect(one.judge.calls).toBe(5);
});

test('a row that is run again keeps no score that its caller gave of the former output; a repeat and an update take none back', async () => {
  const one = await experiment([config('correctness')]);
  const run = { projectId, runId: one.id };
  const success = async () => (await domain.records.values.counts(run)).metrics.get('success');
  await one.begin();
  await one.record(0, 4, 'answer', [], 1, { success: true, correctness: false });
  await one.prepare({ ended: true });
  expect(await one.states('success')).toEqual({ true: 4 });
  const id = one.traceId(3);
  const repeat = { id, type: 'trace', trace_id: id, output: 'repeated', metrics: { other: 1 } } as const;
  await domain.records.writer.write(run, [{ action: 'log', record: repeat }]);
  await domain.records.writer.write(run, [{ action: 'update', id, of: 'trace', update: { output: 'updated' } }]);
  expect(await one.states('success')).toEqual({ true: 4 });
  await one.end();

  await one.begin('chosen', [{ from: 0, to: 2 }]);
  await one.record(0, 1, 'another', [], 1, { success: false });
  await one.record(1, 2, 'another');
  expect(await one.states('success')).toEqual({ false: 1, not_computed: 1, true: 2 });
  expect(await success()).toMatchObject({ values: 3, missing: 1, notApplicable: 0 });
  // The run's own judge now scores the row that its caller scored before.
  await one.prepare({ ended: true });
  expect(await one.score()).toEqual({ scored: 2, more: false });
  expect(await one.states('correctness')).toEqual({ true: 2, false: 2 });
  await one.record(1, 2, 'another', [], 2, { success: true });
  expect(await one.states('success')).toEqual({ false: 1, true: 3 });
});

test('a run over chosen rows scores its own, and of the others only those whose scores a cancelled run has left behind', async () => {
  const one = await experiment([config('correctness'), config('exact_match')]);
  const lookAndScore = async () => {
    const before = one.judge.calls;
    const prepared = await one.prepare({ ended: true });
    await one.score();
    return { judged: one.judge.calls - before, code: prepared?.scored };
  };
  await one.begin();
  await one.record(0, 5);
  await lookAndScore();
  await one.record(5, 7, 'answer', [], 2);
  await one.end();

  // Cancelled when its rows were recorded, and before they were looked at.
  await one.begin('chosen', [{ from: 0, to: 2 }]);
  await one.record(0, 2, 'another');
  await one.end('cancelled');

  // The rows that were never scored stay so.
  await one.begin('chosen', [{ from: 3, to: 4 }]);
  await one.record(3, 4, 'a third');
  expect(await lookAndScore()).toEqual({ judged: 3, code: 3 });
  expect(await one.states('exact_match')).toEqual({ true: 2, false: 3 });
  expect(await lookAndScore()).toEqual({ judged: 0, code: 0 });
});

test('a run over chosen rows does not judge again what was only updated since it was scored', async () => {
  const one = await experiment([config('correctness')]);
  await one.begin();
  await one.record(0, 5);
  await one.prepare({ ended: true });
  await one.score();
  await one.record(4, 5); // a newer version by the same attempt, as an update is
  await one.end();

  await one.begin('chosen', [{ from: 0, to: 1 }]);
  await one.record(0, 1, 'another');
  const before = one.judge.calls;
  await one.prepare({ ended: true });
  await one.score();
  expect(one.judge.calls - before).toBe(1);
  await one.end();

  // A run over all scores looks at it.
  await one.begin('none');
  await one.prepare({ ended: true });
  await one.score();
  expect(one.judge.calls - before).toBe(2);
});

test('called back, it starts no further value, and those in flight end and are stored', async () => {
  const one = await experiment([config('correctness')], 5);
  const gate = Promise.withResolvers<string>();
  one.judge.answer = () => gate.promise;
  await one.begin();
  await one.record(0, 30);
  await one.prepare({ ended: true });
  const cancelled = new AbortController();
  const outcome = one.score({}, cancelled.signal);
  await expect.poll(() => one.judge.calls).toBe(5);
  cancelled.abort(new Error('cancelled'));
  setTimeout(gate.resolve, 50, '{"verdict": true}');
  expect(await outcome).toEqual({ scored: 5, more: true });
  expect(one.judge.calls).toBe(5);
  expect(await one.states('correctness')).toMatchObject({ true: 5 });
  expect(await one.score()).toEqual({ scored: 25, more: false });
  expect(one.judge.calls).toBe(30);
});

test('a worker that ends waits for no code; the next one computes its values', async () => {
  const scorer = { id: newId(), name: `code ${newId()}`, scorerType: 'code', definition: {}, organization: true } as const;
  await domain.scorers.store.insert({ ...scorer, projectIds: [], createdBy: userId });
  const form = { code: '', scoreType: 'float', nodeTypes: ['trace'], outputType: 'discrete' } as const;
  const definition = { ...form, nodeTypes: ['trace'], aggregates: false, chainAggregation: null };
  await domain.scorers.store.addVersion({ id: newId(), scorerId: scorer.id, createdBy: userId, definition });
  const one = await experiment([{ id: scorer.id, scorer_type: 'code' }]);
  const { run } = one.code;
  let begun = 0;
  one.code.run = () => {
    begun++;
    return new Promise(() => undefined);
  };
  await one.begin();
  await one.record(0, 3);
  const cancelled = new AbortController();
  const outcome = one.prepare({ ended: true }, cancelled.signal);
  await expect.poll(() => begun).toBe(3);
  one.workerEnds.abort();
  cancelled.abort(new Error('the worker ends'));
  await outcome;
  expect(one.code.givenUp?.aborted).toBe(false);
  expect(await one.states(scorer.id)).toEqual({});
  one.code.run = run;
  await one.prepare({ ended: true });
  expect(await one.states(scorer.id)).toEqual({ 1: 3 });
});

test('what a run that has ended did not compute is no longer marked, and nobody pays for it until the next run', async () => {
  const one = await experiment([config('correctness')]);
  await one.begin();
  await one.record(0, 5);
  await one.prepare({ ended: true });
  expect(await one.states('correctness')).toEqual({ pending: 5 });
  await one.settle();
  expect(await one.states('correctness')).toEqual({});
  await one.end();
  await one.begin();
  await one.prepare({ ended: true });
  expect(await one.score()).toEqual({ scored: 5, more: false });
  await one.settle();
  expect(await one.states('correctness')).toEqual({ true: 5 });
});

test('what is asked for while a run goes on waits for its end, so that no value has two judges', async () => {
  const one = await experiment([config('correctness')]);
  await one.begin();
  await one.record(0, 4);
  await domain.scoring.scorings.request(
    {
      id: newId(),
      projectId,
      runId: one.id,
      scorerIds: [config('correctness').id],
      selection: { filter: { and: [] } as never },
      createdBy: userId,
    },
    [],
  );
  await one.prepareAsked();
  expect(await one.states('correctness')).toEqual({});
  await one.end();
  await one.prepareAsked();
  expect(await one.states('correctness')).toEqual({ pending: 4 });
});

test('rows of megabytes are read a few at a time, with their spans where a metric looks at them', async () => {
  const MB = 1024 ** 2;
  const spans = Array.from({ length: 4 }, () => ({ type: 'tool', name: 'search', input: 'x'.repeat(MB), output: 'found' }));
  const one = await experiment([config('tool_error_rate'), config('exact_match')]);
  await one.begin();
  for (let row = 0; row < 12; row += 2) await one.record(row, row + 2, 'y'.repeat(MB), spans);
  await one.record(12, 112);
  expect(await one.prepare({ ended: true })).toMatchObject({ scored: 2 * 112 });
  expect(await one.states('exact_match')).toEqual({ true: 100, false: 12 });
  expect(one.read.length).toBeGreaterThanOrEqual(4);
  for (const bytes of one.read) expect(bytes).toBeLessThan(18 * MB);
});

test('a run whose sessions are to be looked at is found again, whatever has become of its workflow', async () => {
  const { store } = domain.scorers;
  const { scorings } = domain.scoring;
  const runId = newId();
  await stores.database.query(
    "INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'log_stream', 'stream', $3)",
    [runId, projectId, userId],
  );
  await store.saveRunSettings(projectId, runId, {
    scorers: [config('agent_flow', { scoreable_node_types: ['session'] })],
    segmentFilters: null,
  });
  const now = Date.now() * 1_000;
  const isWaiting = async () => (await scorings.waiting()).includes(runId);
  expect(await scorings.idleSessions(runId)).toEqual({ since: expect.any(Number), due: null });
  expect(await isWaiting()).toBe(false);
  const later = now + 60_000_000;
  await scorings.sessionsSeen(runId, later, now + 3_600_000_000);
  expect(await isWaiting()).toBe(false);
  await scorings.sessionsSeen(runId, later - 1, now - 1);
  expect(await isWaiting()).toBe(true);
  // A look never goes back behind a later one.
  expect(await scorings.idleSessions(runId)).toEqual({ since: later - 30_000_000, due: now - 1 });
});

describe('a clock that was ahead and is set right', () => {
  const AHEAD_MS = 365 * 24 * 3_600_000;
  const ahead = (): number => (Date.now() + AHEAD_MS) * 1_000;

  async function stream(scorers: ScorerConfig[]) {
    const runId = newId();
    await stores.database.query(
      "INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'log_stream', $4, $3)",
      [runId, projectId, userId, `stream ${runId}`],
    );
    await domain.scorers.store.saveRunSettings(projectId, runId, { scorers, segmentFilters: null });
    return runId;
  }
  /** As the service left it while its clock was ahead. */
  const leaveAhead = (runId: string) =>
    stores.database.query(
      `UPDATE run_scorer_settings SET scored_from = scored_from + interval '1 year', looked_at = looked_at + interval '1 year',
              written_at = written_at + interval '1 year', sessions_seen_to = $2, sessions_due = $2 WHERE run_id = $1`,
      [runId, ahead()],
    );

  test('stops no live scoring: what is written now is looked at now, and what was written then once', async () => {
    const { scorings } = domain.scoring;
    const runId = await stream([config('exact_match')]);
    expect(await scorings.noteWritten([runId])).toEqual([runId]);
    await leaveAhead(runId);
    const writtenAt = Date.now() * 1_000;
    await scorings.noteWritten([runId]);
    expect(await scorings.waiting()).toContain(runId);
    const unseen = await scorings.unseen(runId);
    expect(unseen?.since).toBeLessThan(writtenAt);
    expect(unseen?.since).toBeGreaterThan(writtenAt - 15 * 60_000_000);
    const sessions = await scorings.idleSessions(runId);
    expect(sessions).toEqual({ since: expect.any(Number), due: 0 });
    expect(sessions?.since).toBeLessThan(writtenAt);
    await scorings.seen(runId, unseen?.began as Date);
    await scorings.sessionsSeen(runId, writtenAt, null);
    expect(await scorings.unseen(runId)).toBeUndefined();
    expect(await scorings.idleSessions(runId)).toMatchObject({ due: null });
    expect(await scorings.waiting()).not.toContain(runId);
  });

  test('leaves no look undone that was due then', async () => {
    const { scorings } = domain.scoring;
    const runId = await stream([config('exact_match')]);
    await scorings.noteWritten([runId]);
    await leaveAhead(runId);
    const unseen = await scorings.unseen(runId);
    expect(unseen?.since).toBeLessThan(Date.now() * 1_000);
    await scorings.seen(runId, unseen?.began as Date);
    expect(await scorings.unseen(runId)).toBeUndefined();
  });

  test('holds up no session that was written while it was ahead, which is scored once', async () => {
    const [then, now, idle] = [ahead(), Date.now() * 1_000, 600_000_000];
    const session = {
      id: newId(),
      createdAt: '',
      kind: 'session',
      traceId: null,
      name: 's',
      metadata: {},
      modalities: ['text'],
    } as const;
    const metric = builtinByName('agent_flow');
    const values = new Map<string, number>();
    const marks = {
      async *touchedSessions() {
        yield { id: session.id, version: then };
      },
      freshSessions: async () => [{ ...session, version: then, ownVersion: then }],
      valueVersions: async () => values,
    } as unknown as MarkStore;
    const active: number[] = [];
    const look = {
      since: 0,
      now,
      until: now - idle,
      margin: 3_000_000,
      onActive: (version: number) => void active.push(version),
    };
    const metrics = [{ ...metric, name: 'agent_flow', kinds: ['session'], scorerId: metric?.scorerId, filters: [] } as never];
    const found = async () => {
      const all: MarkedValue[] = [];
      for await (const one of idleSessionValues({ marks }, { projectId, runId: newId() }, metrics, [], look)) all.push(one);
      return all;
    };
    expect(await found()).toMatchObject([{ recordId: session.id, version: then }]);
    values.set(valueKey(session.id, 'agent_flow'), then + 2); // what its value is stored with
    expect(await found()).toEqual([]);
    expect(active).toEqual([]);
  });

  test('does not let values of the future win over those that are computed anew', async () => {
    const one = await experiment([config('correctness')]);
    const run = { projectId, runId: one.id };
    one.judge.answer = async () => '{"verdict": false}';
    await one.begin();
    await one.record(0, 3);
    await one.prepare({ ended: true });
    await one.score({ ended: true });
    await one.end();
    const values = await domain.records.values.byMetric(run, 'correctness');
    const failed = values.map(({ scorerId, computedAt: _, ...value }, index) => ({
      ...value,
      ...(scorerId === null ? {} : { scorerId }),
      ...(index === 0 ? { status: 'failed' as const, value: null } : {}),
      version: ahead(),
    }));
    await domain.records.values.write(run, failed);
    expect(await one.states('correctness')).toEqual({ false: 2, failed: 1 });

    // The next run computes what failed, by whatever clock.
    one.judge.answer = async () => '{"verdict": true}';
    await one.begin('none');
    await one.prepare({ ended: true });
    await one.score({ ended: true });
    expect((await one.states('correctness')).failed).toBeUndefined();
    await one.end();

    const id = newId();
    await domain.scoring.scorings.request(
      { id, ...run, scorerIds: [config('correctness').id], selection: { filter: { and: [] } as never }, createdBy: userId },
      [],
    );
    await one.prepareAsked();
    expect(await one.states('correctness')).toEqual({ pending: 3 });
    expect(await domain.scoring.scorings.find(id)).toMatchObject({ state: 'running', total: 3 });
    await one.scoreAsked();
    expect(await one.states('correctness')).toEqual({ true: 3 });
    await one.settleAsked();
    expect(await domain.scoring.scorings.find(id)).toMatchObject({ state: 'completed', done: 3 });
  });

  test('holds the sweep of expired records, whose projects are not even looked for', async () => {
    const { sweeps } = domain.records;
    await stores.database.query('UPDATE projects SET retention_days = 1 WHERE id = $1', [projectId]);
    await stores.database.query("INSERT INTO sweep_clock (last_at) VALUES (now() - interval '1 hour')");
    expect(await sweeps.projects(undefined, 10)).toContain(projectId);
    expect(await sweeps.held()).toBeUndefined();
    await stores.database.query("UPDATE sweep_clock SET last_at = now() - interval '1 year'");
    expect(await sweeps.sweep(projectId, new AbortController().signal)).toBe(0);
    expect(await sweeps.projects(undefined, 10)).toEqual([]);
    expect(await sweeps.projects(undefined, 10)).toEqual([]);
    expect(await sweeps.held()).toContain('the clock had moved by more than a day');
    await stores.database.query('UPDATE projects SET retention_days = NULL WHERE id = $1', [projectId]);
    await stores.database.query('DELETE FROM sweep_clock');
  });
});

/** An empty dataset that is to get one row of a model. */
async function extension() {
  const { deps } = domain.datasets;
  const viewer = { userId, everything: true, limited: false, projects: [], grants: [] };
  const { id } = await createDataset(deps, {
    ...{ name: `made ${newId()}`, appendSuffix: false, content: undefined, columnMapping: undefined, projectId: undefined },
    ...{ hidden: false, draft: false, userId, viewer },
  });
  const extensions = postgresDatasetExtensions(stores.database);
  await extensions.insert(id, {
    ...{ model: 'm', count: 1, prompt: 'p', instructions: null, examples: [], dataTypes: [], sourceRows: [] },
    ...{ columns: ['input'], userId, projectId: undefined },
  });
  return { id, deps, extensions };
}

test('rows that a model made come into a dataset that somebody edits in the same moment, once', async () => {
  const { id, deps, extensions } = await extension();
  await extensions.add(id, 0, [{ input: 'made' }]);
  let edits = 3;
  const edited = {
    ...deps,
    datasets: {
      ...deps.datasets,
      /** Between the look at the rows that there are and the edit, another edit comes in. */
      async version(...asked: Parameters<typeof deps.datasets.version>) {
        const version = await deps.datasets.version(...asked);
        if (edits-- > 0)
          await editContent(deps, {
            ...{ datasetId: id, edits: [{ edit_type: 'append_row', values: { input: 'by hand' } }], userId },
            ...{ readRecords: async () => [], isExpected: () => true },
          });
        return version;
      },
    },
  };
  const models = { complete: () => Promise.reject(new Error('no answer is needed')) };
  expect(await extendDataset({ datasets: edited, extensions, models }, id, false, new AbortController().signal)).toBe(true);
  expect(await extensions.find(id)).toMatchObject({ state: 'completed', message: '1 rows were made' });
  expect((await deps.datasets.find({ id }))?.numRows).toBe(4);
});

test('what no store takes is asked for until the last try, which ends it; the end of a worker does not', async () => {
  const { id, deps, extensions } = await extension();
  const models = { complete: () => Promise.reject(new Error('of an unknown kind')) };
  const step = (isLastTry: boolean, signal = new AbortController().signal) =>
    extendDataset({ datasets: deps, extensions, models }, id, isLastTry, signal);
  await expect(step(false)).rejects.toThrow('of an unknown kind');
  await expect(step(true, AbortSignal.abort())).rejects.toThrow('of an unknown kind');
  expect(await extensions.running()).toContain(id);
  expect(await step(true)).toBe(true);
  const message = 'unexpected error: of an unknown kind; 0 of 1 rows were made';
  expect(await extensions.find(id)).toMatchObject({ state: 'failed', message });
});

function modelCall(name: string) {
  return { type: 'llm', name, input: [{ role: 'user', content: 'q' }], output: { role: 'assistant', content: 'a' } };
}
