import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import type { Progress } from '../support/runs.ts';
import { experimentOf } from '../support/runs.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

const script = new URL('../support/callerProcess.ts', import.meta.url).pathname;
const CONCURRENCY = 50;
/** Results that a caller may have in hand, unrecorded, beside the rows that run. */
const WRITE_GROUP = 500;

let folder: string;
let where: ServiceFolder;
let service: ServiceProcess;
let client: ServiceClient;
let projectId: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-callers-'));
  where = await serviceFolder(join(folder, 'data'));
  service = await where.start();
  client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  projectId = (await client.send<{ id: string }>('/projects', { body: { name: 'callers' } })).id;
});
afterAll(async () => {
  await service?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

interface Script {
  child: ChildProcess;
  printed(): string;
  /** Returns what the script printed at its end; rejects when it failed. */
  done(): Promise<Progress & { resumed: boolean }>;
  kill(): Promise<void>;
}

/** Runs the user's script in a process of its own. */
function run(name: string, { rows, blockFor = 0, holdAt = 0 }: { rows: number; blockFor?: number; holdAt?: number }): Script {
  const given = [attemptsFile(name), name, ...[rows, CONCURRENCY, blockFor, holdAt].map(String)];
  const child = spawn(process.execPath, [script, ...given], {
    env: { ...process.env, SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (printed += chunk));
  const exit = once(child, 'exit');
  return {
    child,
    printed: () => printed,
    async done() {
      const [code] = await exit;
      expect(code, printed).toBe(0);
      return JSON.parse(printed.trim().split('\n').at(-1) as string);
    },
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

const attemptsFile = (name: string) => join(folder, `${name}.txt`);
const executions = (name: string): { ordinal: number; pid: number }[] =>
  existsSync(attemptsFile(name))
    ? readFileSync(attemptsFile(name), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => {
          const [ordinal, pid] = line.split(' ').map(Number) as [number, number];
          return { ordinal, pid };
        })
    : [];

async function executed(name: string, count: number, running: Script): Promise<void> {
  for (const deadline = Date.now() + 240_000; executions(name).length < count; ) {
    expect(Date.now(), `${executions(name).length} of ${count}: ${running.printed()}`).toBeLessThan(deadline);
    await sleep(5);
  }
}

async function experimentNamed(name: string) {
  const { experiments } = await client.send<{ experiments: { id: string; name: string }[] }>(
    `/projects/${projectId}/experiments/search`,
    { body: { filters: [{ name: 'name', operator: 'eq', value: name }] } },
  );
  expect(experiments).toHaveLength(1);
  return experimentOf(client, projectId, (experiments[0] as { id: string }).id);
}

test('a caller that is killed and started again ends its experiment: every row once, only rows in hand repeated', {
  timeout: 600_000,
}, async () => {
  const rows = 2_000;
  const name = 'killed caller';
  const kills: { started: number; recorded: number; unrecorded: number }[] = [];
  const counts = [200, 900, 1_500];
  // However late the kill is, the script is not through.
  const next = () => run(name, { rows, holdAt: kills.length < counts.length ? Number(counts[kills.length]) + 200 : 0 });
  let script = next();
  for (const count of counts) {
    await executed(name, count, script);
    await script.kill();
    const started = executions(name);
    const recorded = new Set((await (await experimentNamed(name)).traces()).map((trace) => Number(trace.input.split(' ')[1])));
    const unrecorded = [...new Set(started.map(({ ordinal }) => ordinal))].filter((ordinal) => !recorded.has(ordinal)).length;
    kills.push({ started: started.length, recorded: recorded.size, unrecorded });
    script = next();
  }
  const end = await script.done();
  const experiment = await experimentNamed(name);
  const traces = await experiment.traces();
  const attempts = executions(name).map(({ ordinal }) => ordinal);
  const unrecorded = kills.reduce((sum, one) => sum + one.unrecorded, 0);
  console.table(kills);
  console.log(
    `expected ${rows}, recorded ${traces.length}, attempts ${attempts.length}, repeats ${attempts.length - new Set(attempts).size} ` +
      `(allowed: the ${unrecorded} that were started and not recorded)`,
  );
  expect(end).toMatchObject({ state: 'completed', rows_done: rows, rows_failed: 0, scores_done: rows, resumed: true });
  expect(new Set(traces.map(({ input }) => input)).size).toBe(rows);
  expect(traces).toHaveLength(rows);
  expect(await experiment.spans()).toEqual([]);
  expect(attempts.length).toBeLessThanOrEqual(rows + unrecorded);
  for (const one of kills) expect(one.unrecorded).toBeLessThanOrEqual(CONCURRENCY + WRITE_GROUP);
});

test('a function that blocks its event loop for a minute is not started twice, though the service is killed meanwhile', {
  timeout: 600_000,
}, async () => {
  const rows = 300;
  const name = 'blocked caller';
  const script = run(name, { rows, blockFor: 62_000 });
  for (const deadline = Date.now() + 240_000; !existsSync(`${attemptsFile(name)}.blocked`); ) {
    expect(Date.now(), script.printed()).toBeLessThan(deadline);
    await sleep(5);
  }
  const before = executions(name).length;
  await service.kill('SIGKILL');
  service = await where.start();
  const end = await script.done();
  const attempts = executions(name).map(({ ordinal }) => ordinal);
  console.log(
    `expected ${rows}, recorded ${end.rows_done}, attempts ${attempts.length}, repeats ${attempts.length - new Set(attempts).size}`,
  );
  expect(end).toMatchObject({ state: 'completed', rows_done: rows, rows_failed: 0, scores_done: rows, resumed: false });
  expect(before).toBeLessThan(rows);
  expect(attempts).toHaveLength(rows);
  expect(await (await experimentNamed(name)).traces()).toHaveLength(rows);
});
