import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { jobScheduleId, RUN_JOB } from '../../shared/maintenance/jobWorkflow.ts';
import type { RecurringJob } from '../../shared/maintenance/recurringJob.ts';
import { connectTemporal } from '../../shared/stores/temporal/connect.ts';
import { temporalNamespace } from '../../shared/stores/temporal/prepareNamespace.ts';
import { type BareTemporal, startBareTemporal } from '../support/bareTemporal.ts';
import { type ServerProcess, serverProcess, startServer } from '../support/serverProcess.ts';

let folder: string;
let file: string;
let temporal: BareTemporal;
let connection: Connection;
let client: Client;
const workers: ServerProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-jobs-'));
  file = join(folder, 'runs');
  writeFileSync(file, '');
  temporal = await startBareTemporal(folder);
  ({ connection, client } = await connectTemporal({ address: temporal.address, namespace: 'default' }));
  for (let count = 0; count < 2; count++) workers.push(await startJobWorker(['count', 'once-there']));
});
afterAll(async () => {
  for (const worker of workers) await worker.kill();
  await connection?.close();
  await temporal?.server.kill();
  await rm(folder, { recursive: true, force: true });
});

async function startJobWorker(names: string[]): Promise<ServerProcess> {
  const program = join(import.meta.dirname, '../support/jobWorker.ts');
  const child = startServer(process.execPath, [program, temporal.address, file, JSON.stringify(names)]);
  const ready = Promise.withResolvers<void>();
  child.stdout?.on('data', (chunk: Buffer) => chunk.includes('ready') && ready.resolve());
  child.once('exit', (code) => ready.reject(new Error(`the worker ended with ${code}`)));
  await ready.promise;
  return serverProcess(child);
}

const job = (name: string, every: number, atStart = false): RecurringJob => ({ name, every, atStart, run: async () => {} });

/** Builds the namespace through which an api process applies the jobs, at its start and every 30 s from then on. */
const apiProcess = (of = client, through = connection, log = pino({ level: 'silent' })) =>
  temporalNamespace(through, of, 'default', log);

/** The process of every run so far. */
const runs = (name: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));

const schedule = (name: string) => client.schedule.getHandle(jobScheduleId(name));
const intervals = async (name: string) => (await schedule(name).describe()).spec.intervals?.map(({ every }) => every);

async function scheduleIds(): Promise<string[]> {
  const ids: string[] = [];
  for await (const { scheduleId } of client.schedule.list()) ids.push(scheduleId);
  return ids.sort();
}

/** Runs of a job as Temporal knows them, by the time that its schedule gave them. */
async function executions(name: string): Promise<string[]> {
  const ids: string[] = [];
  const query = `WorkflowType = '${RUN_JOB}' AND ExecutionStatus = 'Completed'`;
  for await (const { workflowId } of client.workflow.list({ query }))
    if (workflowId.startsWith(`${jobScheduleId(name)}-`)) ids.push(workflowId);
  return ids;
}

test('a job runs once at each of its times, whatever the number of apis and workers, and goes on when one dies', async () => {
  const jobs = [job('count', 1_000)];
  await Promise.all([apiProcess().prepare(jobs), apiProcess().prepare(jobs)]);
  await vi.waitFor(() => expect(runs('count').length).toBeGreaterThanOrEqual(4), { timeout: 240_000 });

  await workers[0]?.kill();
  const before = runs('count').length;
  await vi.waitFor(() => expect(runs('count').length).toBeGreaterThanOrEqual(before + 3), { timeout: 240_000 });
  expect(new Set(runs('count').slice(before + 1))).toEqual(new Set([String(workers[1]?.pid)]));

  await schedule('count').pause();
  const taken = async () => (await schedule('count').describe()).info.numActionsTaken;
  // Temporal lists an execution that has ended a moment later.
  await expect.poll(async () => (await taken()) - (await executions('count')).length).toBe(0);
  // Each time is in the id of its execution; the kill may have cost a run that was under way its line.
  const times = new Set(await executions('count')).size;
  expect(times).toBe(await taken());
  expect(runs('count').length).toBeGreaterThanOrEqual(times);
  expect(runs('count').length).toBeLessThanOrEqual(times + 1);
});

test('a start changes intervals, deletes the schedule of a job that is no more, and touches no other and no pause', async () => {
  await apiProcess().prepare([job('count', 1_000), job('former', 3_600_000)]);
  await client.schedule.create({
    scheduleId: 'of-somebody-else',
    spec: { intervals: [{ every: '1 day' }] },
    action: { type: 'startWorkflow', workflowType: 'theirs', taskQueue: 'theirs' },
  });
  await schedule('count').pause();
  const restarted = apiProcess();
  await expect
    .poll(async () => {
      // A start lists the schedules, and the server brings that list up to date a moment later.
      await Promise.all([apiProcess(), apiProcess()].map((api) => api.prepare([job('count', 2_000)])));
      return scheduleIds();
    })
    .toEqual([jobScheduleId('count'), 'assay-sweep-expired', 'of-somebody-else'].sort());
  expect(await intervals('count')).toEqual([2_000]);
  expect((await schedule('count').describe()).state.paused).toBe(true);

  // A process of another release that goes on does not change back and forth what the last start has set.
  await restarted.prepare([job('count', 2_000)]);
  await apiProcess().prepare([job('count', 5_000)]);
  await restarted.prepare([job('count', 2_000)]);
  expect(await intervals('count')).toEqual([5_000]);
});

test('what a crash may have cut off is run at each start, without waiting for its time', async () => {
  const jobs = [job('once-there', 3_600_000, true)];
  for (let start = 1; start <= 2; start++) {
    const api = apiProcess();
    await api.prepare(jobs);
    await api.startJobs(jobs);
    await vi.waitFor(() => expect(runs('once-there')).toHaveLength(start), { timeout: 240_000 });
    await expect.poll(async () => (await executions('once-there')).length).toBe(start);
  }
});

test('a namespace that refuses schedules is named in one sentence, and the rest is prepared', async () => {
  await using left = new AsyncDisposableStack();
  const refusing = await startBareTemporal(folder, { 'frontend.enableSchedules': 'false' });
  left.defer(() => refusing.server.kill());
  const at = await connectTemporal({ address: refusing.address, namespace: 'default' });
  left.defer(() => at.connection.close());
  const said: { level: number; msg: string }[] = [];
  const api = apiProcess(at.client, at.connection, pino({}, { write: (line: string) => said.push(JSON.parse(line)) }));
  const jobs = [job('count', 1_000, true)];
  await api.prepare(jobs);
  await api.prepare(jobs);
  await api.startJobs(jobs);
  expect(said).toHaveLength(1);
  expect(said[0]?.msg).toMatch(/^the Temporal namespace default refuses schedules.*\(count, and the daily sweep\): let the key/);
  expect(api.searchAttributes()).toContain('AssayProject');
});

test('schedules that cannot be looked at keep no run from being found by its attributes', async () => {
  await using left = new AsyncDisposableStack();
  const gone = await startBareTemporal(folder);
  const at = await connectTemporal({ address: gone.address, namespace: 'default' });
  left.defer(() => at.connection.close());
  await gone.server.kill();
  const api = apiProcess(at.client);
  await expect(api.prepare([job('count', 1_000)])).rejects.toThrow();
  expect(api.searchAttributes()).toContain('AssayStatus');
});

test('whether a namespace has its attributes is asked of the server once in ten minutes, not twice a minute', async () => {
  const api = apiProcess();
  await api.prepare([]); // they may be registered here
  const asked = vi.spyOn(connection.operatorService, 'listSearchAttributes');
  try {
    for (let count = 0; count < 5; count++) await api.prepare([]);
    expect(asked).not.toHaveBeenCalled();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_001 });
    await api.prepare([]);
    await api.prepare([]);
    expect(asked).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
    asked.mockRestore();
  }
});
