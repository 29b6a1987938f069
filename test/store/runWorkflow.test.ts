import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { taskQueues } from '../../shared/config/taskQueues.ts';
import type { Chunk, ChunkOutcome, RunPlan } from '../../shared/experiments/workflow.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { Prepared, ScoredOutcome, ScorePass } from '../../shared/scoring/workflow.ts';
import { workflowBundle } from '../../workers/workflowBundle.ts';
import { type BareTemporal, startBareTemporal } from '../support/bareTemporal.ts';

/** Events after which a workflow is asked to continue as new. */
const SHORT_HISTORY = 60;

let folder: string;
let temporal: BareTemporal;
let connection: Connection;
let native: NativeConnection;
let client: Client;
let worker: Worker;
let rowsWorker: Worker;
let sweepWorker: Worker;
/** Projects that a sweep has come to. */
const swept: string[] = [];
let working: Promise<unknown>;

/** The scripted behaviour of the activities of one run. */
interface Behind {
  plan: Partial<RunPlan>;
  runRows(chunk: Chunk, context: Context): Promise<ChunkOutcome>;
  notes: string[];
  prepare?(pass: ScorePass): Prepared;
  score?(): void;
}
const behind = new Map<string, Behind>();
const of = (experimentId: string) => behind.get(experimentId) as Behind;

const activities = {
  planExperiment: async ({ experimentId }: { experimentId: string }): Promise<RunPlan> => ({
    experimentName: 'experiment',
    projectName: 'project',
    groupName: 'group',
    runnerKind: 'module',
    rowCount: 1_000,
    concurrency: 10,
    runsRows: true,
    metrics: [],
    ...of(experimentId).plan,
  }),
  runRows: async (chunk: Chunk): Promise<ChunkOutcome> => {
    const context = Context.current();
    const beat = setInterval(() => context.heartbeat(), 200);
    try {
      return await of(chunk.experimentId).runRows(chunk, context);
    } finally {
      clearInterval(beat);
    }
  },
  markPaused: async ({ experimentId }: { experimentId: string }, paused: boolean, reason: string | null) =>
    void of(experimentId).notes.push(paused ? `paused: ${reason}` : 'goes on'),
  prepareScoring: async (pass: ScorePass): Promise<Prepared> => of(pass.runId).prepare?.(pass) ?? { oldest: null },
  async scoreMarked({ runId }: ScorePass): Promise<ScoredOutcome> {
    of(runId).score?.();
    return { scored: 0, more: false };
  },
  finishExperiment: async ({ experimentId }: { experimentId: string }) => {
    of(experimentId).notes.push('completed');
    return { rows: 1_000, failedRows: 0, costUsd: 0 };
  },
  endExperiment: async ({ experimentId }: { experimentId: string }, state: string, error: string | null) =>
    void of(experimentId).notes.push(`${state}: ${error}`),
};

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  folder = await mkdtemp(join(tmpdir(), 'assay-workflow-'));
  temporal = await startBareTemporal(folder, { 'limit.historyCount.suggestContinueAsNew': SHORT_HISTORY });
  const { address } = temporal;
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  client = new Client({ connection });
  worker = await Worker.create({
    connection: native,
    taskQueue: 'runs',
    workflowBundle: await workflowBundle(),
    activities,
    maxHeartbeatThrottleInterval: '200 ms',
  });
  // Rows and scores have a task queue of their own.
  rowsWorker = await Worker.create({
    connection: native,
    taskQueue: taskQueues.rows,
    activities,
    maxHeartbeatThrottleInterval: '200 ms',
  });
  const sweeping = {
    projectsToSweep: async ({ after }: { after?: string }) => (after === undefined ? ['one', 'two', 'three'] : []),
    async sweepProject({ projectId }: { projectId: string }) {
      swept.push(projectId);
      const context = Context.current();
      const beat = setInterval(() => context.heartbeat(), 200);
      await called(context).finally(() => clearInterval(beat));
    },
  };
  sweepWorker = await Worker.create({ connection: native, taskQueue: taskQueues.maintenance, activities: sweeping });
  working = Promise.all([worker.run(), rowsWorker.run(), sweepWorker.run()]);
});
afterAll(async () => {
  worker?.shutdown();
  rowsWorker?.shutdown();
  sweepWorker?.shutdown();
  await working;
  await native?.close();
  await connection?.close();
  await temporal?.server.stop();
  await rm(folder, { recursive: true, force: true });
});

const all = (chunk: Chunk): ChunkOutcome => ({ takenTo: chunk.to, recorded: chunk.to - chunk.from });
type Moment = PromiseWithResolvers<void>;
const called = (context: Context) => context.cancelled.catch(() => undefined);

async function start(runRows: Behind['runRows'], plan: Partial<RunPlan> = {}) {
  const experimentId = newId();
  const notes: string[] = [];
  behind.set(experimentId, { plan, runRows, notes });
  const handle = await client.workflow.start('runExperiment', {
    args: [{ experimentId, projectId: newId(), number: 1, searchAttributes: [] }],
    taskQueue: 'runs',
    workflowId: experimentId,
  });
  return { handle, notes, experimentId };
}

const handOver = (handle: WorkflowHandle, { chunk, token }: Chunk, to: number) =>
  handle.signal('handedOver', { chunk, to, token });

test('a chunk that takes no further row does not hold up its successor, and a namespace without search attributes does neither', async () => {
  const successor = Promise.withResolvers<Chunk>();
  const { handle, notes } = await start(async (chunk) => {
    if (chunk.chunk === 0) {
      await handOver(handle, chunk, 300);
      await successor.promise; // its last rows end later than its successor starts
      return { takenTo: 300, recorded: 300 };
    }
    successor.resolve(chunk);
    return all(chunk);
  });
  await handle.result();
  expect(await successor.promise).toMatchObject({ from: 300, to: 1_000 });
  expect(notes).toEqual(['completed']);
});

test('rows of a handed over chunk that were not recorded are given out again, under a higher round', async () => {
  const given: Chunk[] = [];
  const { handle } = await start(async (chunk) => {
    given.push(chunk);
    if (chunk.chunk !== 0) return all(chunk);
    await handOver(handle, chunk, 300);
    return { takenTo: 120, recorded: 120 };
  });
  await handle.result();
  const [first, ...others] = given;
  expect(first).toMatchObject({ from: 0, to: 1_000, round: 1 });
  expect(others).toContainEqual(expect.objectContaining({ from: 120, to: 300, round: 2 }));
});

test('a signal that is not of this chunk hands over nothing', async () => {
  const { handle } = await start(async (chunk) => {
    await handle.signal('handedOver', { chunk: chunk.chunk, to: 300, token: newId() });
    const progress = await handle.query<{ chunks: unknown[] }>('progress');
    expect(progress.chunks).toEqual([{ chunk: 0, to: 1_000 }]);
    return all(chunk);
  });
  await handle.result();
});

test('a reset to a point after a hand-over goes on from there', async () => {
  const [successor, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const given: Chunk[] = [];
  const { handle, notes } = await start(async (chunk) => {
    given.push(chunk);
    if (given.length === 1) await handOver(handle, chunk, 300);
    if (chunk.chunk === 1) successor.resolve();
    await release.promise;
    return chunk.chunk === 0 ? { takenTo: 300, recorded: 300 } : all(chunk);
  });
  await successor.promise;
  const { events } = await handle.fetchHistory();
  const last = events?.findLast(({ workflowTaskCompletedEventAttributes: completed }) => completed);
  await connection.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: handle.workflowId },
    reason: 'tried again',
    workflowTaskFinishEventId: last?.eventId as never,
    requestId: newId(),
  });
  release.resolve();
  await client.workflow.getHandle(handle.workflowId).result();
  expect(notes.at(-1)).toBe('completed');
  // The chunk that was under way is given out again as it was; the step in which its successor was started is taken anew.
  const again = given.slice(2);
  expect(again.map(({ chunk }) => chunk).sort()).toEqual([0, 1]);
  expect(again.find(({ chunk }) => chunk === 0)?.token).toBe(given[0]?.token);
});

test('scores that were called back before all was looked at are looked for again', async () => {
  let passes = 0;
  const { handle, experimentId } = await start(async (chunk) => all(chunk), { metrics: ['exact_match'] });
  of(experimentId).prepare = () => ({ oldest: null, scored: 1, more: ++passes < 3 });
  await handle.result();
  expect(passes).toBe(3);
});

test('beside the rows plain code is computed as the plan says, and judges are asked when all rows are recorded', async () => {
  const steps: string[] = [];
  const passes = [1, 2].map(() => Promise.withResolvers<void>()) as [Moment, Moment];
  const { handle, experimentId } = await start(
    async (chunk) => {
      await handle.signal('progress', { rowsDone: 4 }); // too few
      await handle.signal('progress', { rowsDone: 5 });
      await passes[0].promise;
      await handle.signal('progress', { rowsDone: 12 });
      await passes[1].promise;
      steps.push('rows end');
      return all(chunk);
    },
    { rowCount: 100, metrics: ['exact_match', 'correctness'], scoresAlong: false, codeAlong: 5 },
  );
  of(experimentId).prepare = ({ ended }) => {
    steps.push(ended ? 'all' : 'so far');
    if (!ended) passes[steps.length - 1]?.resolve();
    return { oldest: '2026-01-01T00:00:00.000000Z', scored: 5 };
  };
  of(experimentId).score = () => void steps.push('judges');
  await handle.result();
  expect(steps).toEqual(['so far', 'so far', 'rows end', 'all', 'judges']);
});

test('rows are spread over as many chunks as the plan says, each once', async () => {
  const given: Chunk[] = [];
  const four = Promise.withResolvers<void>();
  const { handle } = await start(
    async (chunk) => {
      given.push(chunk);
      if (given.length === 4) four.resolve();
      await four.promise;
      return all(chunk);
    },
    { rowCount: 5_000, chunksAtOnce: 4 },
  );
  await handle.result();
  const ranges = given.map(({ from, to }) => [from, to] as const).sort(([a], [b]) => a - b);
  expect(ranges.length).toBeGreaterThan(4);
  expect(ranges[0]?.[0]).toBe(0);
  expect(ranges.at(-1)?.[1]).toBe(5_000);
  for (const [index, [from]] of ranges.entries()) if (index > 0) expect(from).toBe(ranges[index - 1]?.[1]);
});

test('a pause waits for the rows in flight, and a run that is resumed before they have ended goes on at once', async () => {
  const [begun, calledBack, resumed] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Moment, Moment, Moment];
  const { handle, notes } = await start(async (chunk, context) => {
    if (chunk.chunk !== 0) {
      resumed.resolve();
      return all(chunk);
    }
    begun.resolve();
    await called(context);
    calledBack.resolve();
    await handOver(handle, chunk, 10);
    await resumed.promise;
    return { takenTo: 10, recorded: 10 };
  });
  await begun.promise;
  await handle.signal('pause');
  await calledBack.promise;
  await handle.signal('resume');
  await handle.result();
  expect(notes).toEqual(['goes on', 'completed']);
});

test('a chunk that finds its rows failing pauses the run, with the reason', async () => {
  const { handle, notes } = await start(async (chunk) =>
    chunk.chunk === 0 ? { takenTo: 20, recorded: 20, failing: 'twenty failed' } : all(chunk),
  );
  await expect.poll(() => notes).toEqual(['paused: twenty failed']);
  await handle.signal('resume');
  await handle.result();
  expect(notes).toEqual(['paused: twenty failed', 'goes on', 'completed']);
});

test('a run without a caller waits for one', async () => {
  const { handle } = await start(async (chunk) =>
    chunk.chunk === 0 ? { takenTo: 0, recorded: 0, callerGone: true } : all(chunk),
  );
  await expect.poll(async () => (await handle.query<{ awaitsCaller: boolean }>('progress')).awaitsCaller).toBe(true);
  await handle.signal('callerBack');
  await handle.result();
});

/** Makes the history long enough that the workflow is to continue as new. */
async function lengthen(handle: WorkflowHandle): Promise<void> {
  for (let rowsDone = 0; rowsDone < SHORT_HISTORY; rowsDone++) await handle.signal('progress', { rowsDone });
}

test('a long history is left for a new one, which knows what was done', async () => {
  const given: Chunk[] = [];
  const { handle } = await start(async (chunk, context) => {
    given.push(chunk);
    if (given.length > 1) return all(chunk);
    await lengthen(handle);
    await called(context);
    return { takenTo: 400, recorded: 400 };
  });
  await handle.result();
  expect(given.slice(1)).toEqual([expect.objectContaining({ from: 400, to: 1_000, chunk: 1, round: 3 })]);
  expect((await handle.describe()).runId).not.toBe(handle.firstExecutionRunId);
});

test('a cancel that comes while a long history is left is not lost', async () => {
  const { handle, notes } = await start(async (_chunk, context) => {
    await lengthen(handle);
    await called(context);
    await handle.cancel();
    return { takenTo: 400, recorded: 400 };
  });
  await expect(handle.result()).rejects.toThrow('cancelled');
  expect(notes).toEqual(['cancelled: null']);
});

test('what cannot succeed fails the run, after the other chunks have returned', async () => {
  const order: string[] = [];
  const { handle, notes } = await start(
    async (chunk, context) => {
      if (chunk.chunk === 1) throw ApplicationFailure.nonRetryable('the module has no function');
      await called(context);
      order.push('the other has returned');
      return { takenTo: chunk.from, recorded: 0 };
    },
    { chunksAtOnce: 2 },
  );
  await expect(handle.result()).rejects.toThrow();
  expect([...order, ...notes]).toEqual(['the other has returned', 'failed: the module has no function']);
  expect((await handle.describe()).status.name).toBe('FAILED');
});

test('a sweep that is cancelled ends as cancelled and goes to no further project', async () => {
  const handle = await client.workflow.start('sweepExpired', { taskQueue: 'runs', workflowId: newId(), args: [{}] });
  await expect.poll(() => swept).toEqual(['one']);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(swept).toEqual(['one']);
});
