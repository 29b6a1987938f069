// A service of its own: it has a page of metrics, which tests read.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { extensionWorkflowId } from '../../shared/datasetExtensions/workflow.ts';
import { jobScheduleId } from '../../shared/maintenance/jobWorkflow.ts';
import { says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { ownPort } from '../support/ownPort.ts';
import { readMetrics, sumOf } from '../support/readMetrics.ts';
import { type ExperimentOf, newExperiment, scorerNamed } from '../support/runs.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

// Beside each other, each with an experiment of its own: most of their time is Temporal's, which looks again after some seconds.

let folder: string;
let metricsUrl: string;
let service: ServiceProcess;
let connection: Connection;
let client: ServiceClient;
let temporal: Client;
let projectId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-pages-'));
  const runner = (ms: number) =>
    `import { setTimeout } from 'node:timers/promises'; export default async (input) => { await setTimeout(${ms}); return input; };`;
  await writeFile(join(folder, 'slow.mjs'), runner(300));
  await writeFile(join(folder, 'hanging.mjs'), runner(600_000));
  // All rows but the first four wait for a file.
  await writeFile(
    join(folder, 'gated.mjs'),
    `import { existsSync } from 'node:fs'; import { setTimeout } from 'node:timers/promises';
     export default async (input, { row }) => {
       while (row.ordinal >= 4 && !existsSync(${JSON.stringify(join(folder, 'gate'))})) await setTimeout(20);
       return input;
     };`,
  );
  await writeFile(join(folder, 'failing.mjs'), "export default () => { throw new Error('the model is gone'); };");
  await writeFile(join(folder, 'broken.mjs'), 'export default 7;');
  const where = await serviceFolder(join(folder, 'data'), {
    RUNNERS_DIR: folder,
    METRICS_PORT: String(await ownPort()),
  });
  metricsUrl = `http://127.0.0.1:${where.environment.METRICS_PORT}/metrics`;
  service = await where.start();
  client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  connection = await Connection.connect({ address: `127.0.0.1:${where.environment.TEMPORAL_PORT}` });
  temporal = new Client({ connection });
  projectId = (await client.send<{ id: string }>('/projects', { body: { name: 'Pages & buttons' } })).id;
});
afterAll(async () => {
  await connection?.close();
  await service?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

async function started(name: string, { module = 'slow', rows = 40, ...settings }: Record<string, unknown> = {}) {
  const experiment = await newExperiment(client, projectId, { name });
  const records = Array.from({ length: rows as number }, (_, index) => ({ input: `question ${index}` }));
  await experiment.start({ runner: { kind: 'module', name: module as string }, records, concurrency: 4, ...settings });
  return experiment;
}

const handleOf = (experiment: ExperimentOf) => temporal.workflow.getHandle(experiment.workflowId());
const statusOf = async (experiment: ExperimentOf) => (await handleOf(experiment).describe()).status.name;
const attribute = async (experiment: ExperimentOf, name: string) =>
  (await handleOf(experiment).describe()).searchAttributes[name]?.[0];
const ordinalsOf = async (experiment: ExperimentOf) =>
  (await experiment.traces()).map(({ name }) => Number(name.replace('row ', ''))).sort((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test.concurrent('a run is found by its names, and by what it has done', async ({ expect }) => {
  const experiment = await started('first/one ☂');
  expect(experiment.workflowId()).toBe(`Pages-buttons/first-one-/${experiment.id}/1`);
  await experiment.end();
  await expect.poll(() => statusOf(experiment)).toBe('COMPLETED');
  const query = `AssayExperiment = 'first/one ☂' AND AssayRows = 40 AND AssayFailedRows = 0 AND AssayStatus = 'completed'`;
  await expect.poll(async () => (await temporal.workflow.count(query)).count).toBe(1);
});

test.concurrent('cancel ends the run as cancelled, and other runs of the worker go on', async ({ expect }) => {
  const [experiment, other] = [await started('cancelled there', { rows: 400 }), await started('other')];
  await experiment.until(({ rows_done }) => rows_done >= 4);
  const asked = Date.now();
  await handleOf(experiment).cancel();
  const end = await experiment.end();
  expect(Date.now() - asked).toBeLessThan(60_000);
  expect(end).toMatchObject({ state: 'cancelled', error: null });
  expect(end.rows_done).toBeLessThan(400);
  await expect.poll(() => statusOf(experiment)).toBe('CANCELLED');
  expect(await attribute(experiment, 'AssayStatus')).toBe('cancelled');
  expect(await attribute(experiment, 'AssayRows')).toBe(end.rows_done);
  expect(await other.end()).toMatchObject({ state: 'completed', rows_done: 40 });
});

test.concurrent('our own cancel is one of Temporal', async ({ expect }) => {
  const experiment = await started('cancelled here', { module: 'hanging' });
  await experiment.until(({ rows_running }) => rows_running === 4);
  await experiment.steer('cancel');
  expect(await experiment.end()).toMatchObject({ state: 'cancelled', rows_done: 0 });
  await expect.poll(() => statusOf(experiment)).toBe('CANCELLED');
});

test.concurrent('terminate ends the run, names Temporal, and nothing is recorded from then on', async ({ expect }) => {
  const experiment = await started('terminated', { rows: 400 });
  await experiment.until(({ rows_done }) => rows_done >= 4);
  const asked = Date.now();
  await handleOf(experiment).terminate('it costs too much');
  const end = await experiment.end();
  expect(Date.now() - asked).toBeLessThan(120_000);
  expect(end).toMatchObject({ state: 'cancelled', error: 'the workflow was terminated in Temporal: it costs too much' });
  const recorded = await ordinalsOf(experiment);
  // Two further looks of whatever looks after runs: a new workflow would have been there by then.
  const other = await started('beside it', { rows: 200 });
  await other.end();
  expect(await ordinalsOf(experiment)).toEqual(recorded);
  expect(await statusOf(experiment)).toBe('TERMINATED');
  // The remaining rows run when a caller asks for it.
  await experiment.start({ concurrency: 100 });
  expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 400 });
});

/** `RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL` of temporal.api.enums.v1. */
const WITHOUT_SIGNALS = 1;

/** Resets a workflow to the end of its first task, as Temporal's pages do. */
async function reset(experiment: ExperimentOf, resetReapplyExcludeTypes: number[] = []): Promise<void> {
  const { events } = await handleOf(experiment).fetchHistory();
  const task = events?.find(({ workflowTaskCompletedEventAttributes: completed }) => completed);
  await connection.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: experiment.workflowId() },
    reason: 'tried again',
    workflowTaskFinishEventId: task?.eventId as never,
    requestId: crypto.randomUUID(),
    resetReapplyExcludeTypes,
  });
}

test.concurrent('reset goes on with the run, of which each row is recorded once', async ({ expect }) => {
  const experiment = await started('reset', { rows: 60 });
  await experiment.until(({ rows_done }) => rows_done >= 4);
  await reset(experiment);
  expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 60, rows_failed: 0 });
  expect(await ordinalsOf(experiment)).toEqual(upTo(60));
  await expect.poll(() => statusOf(experiment)).toBe('COMPLETED');
});

test.concurrent('reset goes on with the rows that a run was to run again, and repeats none that it has recorded', async ({
  expect,
}) => {
  const ran = join(folder, 'dated.txt');
  const executions = async () => (await readFile(ran, 'utf8')).trim().split('\n');
  await writeFile(
    join(folder, 'dated.mjs'),
    `import { appendFileSync } from 'node:fs'; import { setTimeout } from 'node:timers/promises';
     export default async (input, { row, attempt }) => {
       appendFileSync(${JSON.stringify(ran)}, row.ordinal + '\\n');
       await setTimeout(attempt < 2_000_000 ? 0 : 300);
       return Math.floor(attempt / 1_000_000);
     };`,
  );
  const experiment = await started('run again and reset', { module: 'dated', rows: 24 });
  await experiment.end();
  // None of the rows has a value of it, until they are scored: which they were is frozen before.
  await client.send(`/projects/${projectId}/runs/${experiment.id}/scorer-settings`, {
    body: { run_id: experiment.id, scorers: [await scorerNamed(client, 'exact_match')] },
  });
  await experiment.start({ rows_to_run: { metric: 'exact_match', state: ['missing'], again: 'rows' }, concurrency: 4 });
  /** Ordinals of the rows that were run again, as the module notes them. */
  const again = async () =>
    (await experiment.traces())
      .filter(({ output }) => output === '2')
      .map(({ name }) => String(Number(name.replace('row ', '')) - 1));
  await expect.poll(async () => (await again()).length).toBeGreaterThanOrEqual(8);
  const recorded = await again();
  await reset(experiment);
  const before = (await executions()).length;
  expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 24, rerun: { executions: 24 } });
  expect((await executions()).slice(before).filter((row) => recorded.includes(row))).toEqual([]);
  expect(await again()).toHaveLength(24);
  // And once more, when all are recorded and have values.
  const all = (await executions()).length;
  await reset(experiment);
  await expect.poll(() => statusOf(experiment)).toBe('COMPLETED');
  expect((await experiment.progress()).rerun).toMatchObject({ executions: 24 });
  expect(await executions()).toHaveLength(all);
});

test.concurrent('reset brings back a run that was terminated', async ({ expect }) => {
  const experiment = await started('terminated and reset', { module: 'gated', rows: 60 });
  await experiment.until(({ rows_done }) => rows_done === 4);
  await handleOf(experiment).terminate();
  await experiment.end();
  await writeFile(join(folder, 'gate'), '');
  await reset(experiment);
  await expect.poll(async () => (await experiment.progress()).state).toBe('completed');
  expect(await ordinalsOf(experiment)).toEqual(upTo(60));
});

test.concurrent('a workflow whose tasks fail is named, and the run goes on when they do not', async ({ expect }) => {
  const experiment = await started('stuck', { rows: 200 });
  await experiment.until(({ rows_done }) => rows_done >= 4);
  await handleOf(experiment).signal('handedOver'); // without what the workflow reads of it
  await expect.poll(async () => (await experiment.progress()).message).toMatch(/tasks of its workflow fail \(\d+ tries\): /);
  expect((await (await fetch(`${service.url}/healthcheck`)).json()) as unknown).toMatchObject({
    message: expect.stringContaining('"stuck"'),
  });
  expect(service.output()).toContain('does not get on');
  const metrics = await readMetrics(metricsUrl);
  expect(sumOf(metrics, 'assay_runs_stuck')).toBe(1);
  expect(sumOf(metrics, 'assay_workflow_task_failures_total')).toBeGreaterThan(0);
  await reset(experiment, [WITHOUT_SIGNALS]);
  expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 200, message: null });
});

test.concurrent('a run that pauses by itself says why, in its progress and in Temporal', async ({ expect }) => {
  const experiment = await started('pausing', { module: 'failing', pause_after_failures: 5 });
  const paused = await experiment.until(({ state }) => state === 'paused');
  expect(paused.message).toMatch(/5 rows in a row failed, the last with: .*the model is gone/);
  await expect.poll(() => attribute(experiment, 'AssayStatus')).toBe('paused');
  await experiment.steer('resume');
  await experiment.until(({ state, rows_done }) => state === 'paused' && rows_done >= 10);
  await experiment.steer('cancel');
  expect(await experiment.end()).toMatchObject({ state: 'cancelled', message: null });
});

test.concurrent('a run that fails closes as failed, with its status', async ({ expect }) => {
  const experiment = await started('broken', { module: 'broken' });
  expect(await experiment.end()).toMatchObject({ state: 'failed' });
  await expect.poll(() => statusOf(experiment)).toBe('FAILED');
  expect(await attribute(experiment, 'AssayStatus')).toBe('failed');
});

test.concurrent('activities say in a line what they do', async ({ expect }) => {
  const experiment = await started('lines');
  await experiment.end();
  const { events } = await handleOf(experiment).fetchHistory();
  const lines = events?.flatMap(({ userMetadata }) => {
    const data = userMetadata?.summary?.data;
    return data ? [JSON.parse(Buffer.from(data).toString()) as string] : [];
  });
  expect(lines).toEqual(expect.arrayContaining(['plan', 'rows 1 to 40, up to 4 in flight in the run', 'aggregate and complete']));
});

test.concurrent('a dataset that is deleted, or whose workflow is terminated, is filled no further', async ({ expect }) => {
  const endpoint = await startModelEndpoint();
  try {
    const integration = { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['a-model'] };
    await client.send('/integrations/custom/local', { method: 'PUT', body: integration });
    const held = Promise.withResolvers<void>();
    endpoint.next(says('["a", "b"]'));
    endpoint.otherwise(async (request, response) => {
      await held.promise;
      await says('["c"]')(request, response);
    });
    const extend = async () => {
      const body = { prompt_settings: { model_alias: 'a-model' }, prompt: 'a prompt', count: 40 };
      return (await client.send<{ dataset_id: string }>('/datasets/extend', { body })).dataset_id;
    };
    const workflowOf = (id: string) => temporal.workflow.getHandle(extensionWorkflowId(id));
    const looksAgain = () => temporal.schedule.getHandle(jobScheduleId('start-waiting-extensions')).trigger();
    const progress = (id: string) => client.send<{ progress_message: string; steps_completed: number }>(`/datasets/extend/${id}`);

    const terminated = await extend();
    await expect.poll(() => endpoint.requests.length).toBe(2);
    await workflowOf(terminated).terminate('it costs too much');
    // A trigger is skipped while the job runs by its schedule, which may have begun before the end of the workflow.
    await expect
      .poll(() => looksAgain().then(async () => (await progress(terminated)).progress_message), { interval: 1_000 })
      .toBe('unexpected error: the workflow ended in Temporal (terminated): it costs too much; 2 of 40 rows were made');
    expect((await progress(terminated)).steps_completed).toBe(40);
    expect(await client.send(`/datasets/${terminated}`)).toMatchObject({ num_rows: 2 });

    const deleted = await extend();
    await expect.poll(() => endpoint.requests.length).toBe(3);
    await client.send(`/datasets/${deleted}`, { method: 'DELETE' });
    held.resolve();
    await workflowOf(deleted).result();
    await looksAgain();
    const later = await extend();
    await expect.poll(async () => (await progress(later)).steps_completed).toBe(40);
    // Those of the last one alone: one new row, and then none three times.
    expect(endpoint.requests).toHaveLength(7);
    expect((await workflowOf(terminated).describe()).status.name).toBe('TERMINATED');
  } finally {
    await endpoint.close();
  }
});
