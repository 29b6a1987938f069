import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { ServiceClient } from '../../client/http.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { late, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { type ProcessLine, processTree, untilGone } from '../support/processTree.ts';
import { modelAt, newExperiment } from '../support/runs.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

const ROWS = 2_000;
const CONCURRENCY = 50;
/** Rows that may have ended and wait for their write to be acknowledged: the constant of the row loop. */
const WRITE_GROUP = 500;
const METRICS = ['exact_match', 'correctness'];

let folder: string;
let runners: string;
let attemptsFile: string;
let allowedFile: string;
let where: ServiceFolder;
let judge: ModelEndpoint;
let service: ServiceProcess | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-nothing-'));
  runners = await mkdtemp(join(tmpdir(), 'assay-runners-'));
  [attemptsFile, allowedFile] = [join(runners, 'attempts.txt'), join(runners, 'allowed.txt')];
  writeFileSync(attemptsFile, '');
  allow(Number.POSITIVE_INFINITY);
  await writeFile(
    join(runners, 'slow.mjs'),
    `import { appendFileSync, readFileSync, statSync } from 'node:fs';
     import { setTimeout } from 'node:timers/promises';
     const mayBegin = () => statSync(${JSON.stringify(attemptsFile)}).size / 32 < Number(readFileSync(${JSON.stringify(allowedFile)}, 'utf8'));
     export default async (input, { row, attempt }) => {
       while (!mayBegin()) await setTimeout(20);
       appendFileSync(${JSON.stringify(attemptsFile)}, (row.ordinal + ' ' + attempt).padEnd(31) + '\\n');
       await setTimeout(50);
       return 'answer ' + row.ordinal;
     };`,
  );
  judge = await startModelEndpoint();
  judge.otherwise(late(40, says('{"explanation": "it agrees", "verdict": true}')));
  where = await serviceFolder(folder, { RUNNERS_DIR: runners });
});
afterAll(async () => {
  if (service) await stopAll(service);
  await judge?.close();
  await rm(folder, { recursive: true, force: true });
  await rm(runners, { recursive: true, force: true });
});

/** Executions so far, in the order in which they began: what the runner wrote outside the service. */
const executions = (): number[] =>
  readFileSync(attemptsFile, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => Number(line.split(' ')[0]));
/** Further executions wait once there were so many. */
const allow = (count: number) => writeFileSync(allowedFile, String(count));

/** Rows that are recorded, looked at in the store's own files while no service runs. */
async function recordedOrdinals(experimentId: string): Promise<Set<number>> {
  const clickhouse = openClickHouse({ dataDir: join(folder, 'clickhouse') });
  try {
    const rows = await clickhouse.query({
      name: 'rows recorded after a kill',
      sql: "SELECT name FROM records FINAL WHERE run_id = {run:UUID} AND type = 'trace'",
      params: { run: experimentId },
      row: z.object({ name: z.string() }),
    });
    return new Set(rows.map(({ name }) => Number(name.replace('row ', '')) - 1));
  } finally {
    await clickhouse.close();
  }
}

interface Parts {
  npm: ProcessLine;
  node: ProcessLine;
  temporal: ProcessLine;
  all: ProcessLine[];
}

async function partsOf(running: ServiceProcess): Promise<Parts> {
  const all = await processTree(running.child.pid as number);
  const one = (what: string, is: (line: ProcessLine) => boolean) => {
    const found = all.find(is);
    if (!found) throw new Error(`no ${what} among ${JSON.stringify(all)}`);
    return found;
  };
  return {
    npm: one('npm', ({ pid }) => pid === running.child.pid),
    node: one('node', ({ command }) => /node\S* (\S+ )*\S*start\.ts$/.test(command)),
    temporal: one("Temporal's server", ({ command }) => command.includes('server start-dev')),
    all,
  };
}

type Victim = 'npm' | 'node' | 'temporal';

test('2,000 rows are recorded and scored once each, whatever is killed and when', async () => {
  service = await where.start('npm');
  const { url: apiUrl, apiKey } = service;
  const client = new ServiceClient({ apiUrl, apiKey });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'kills' } });
  await modelAt(client, 'judge', judge.url, ['judge-1']);
  const experiment = await newExperiment(client, projectId, { name: 'nothing is lost', metrics: METRICS });
  const records = Array.from({ length: ROWS }, (_, index) => ({ input: `question ${index}`, output: `answer ${index}` }));
  const kills: {
    at: string;
    victims: Victim[];
    started: number;
    recorded: number | null;
    unrecorded: number | null;
    goneMs: number | null;
  }[] = [];

  /** Kills, waits until nothing of ours is left, and starts the service again; Temporal's server alone is started again by the service. */
  const kill = async (at: string, ...victims: Victim[]) => {
    const parts = await partsOf(service as ServiceProcess);
    for (const victim of victims) process.kill(parts[victim].pid, 'SIGKILL');
    if (victims.length === 1 && victims[0] === 'temporal') {
      kills.push({ at, victims, started: executions().length, recorded: null, unrecorded: null, goneMs: null });
      await expect
        .poll(() => partsOf(service as ServiceProcess).then(({ temporal }) => temporal.pid))
        .not.toBe(parts.temporal.pid);
      return;
    }
    const goneMs = await untilGone(parts.all);
    const started = executions();
    const recorded = await recordedOrdinals(experiment.id);
    const unrecorded = [...new Set(started)].filter((ordinal) => !recorded.has(ordinal)).length;
    kills.push({ at, victims, started: started.length, recorded: recorded.size, unrecorded, goneMs });
    service = await where.start('npm');
  };
  /** Waits for a count of executions that is read from the runner's own file. */
  const executed = async (count: number) => {
    // However late the kill is, some rows are left for the next one.
    allow(count + 150);
    const deadline = Date.now() + 240_000;
    while (executions().length < count) {
      expect(Date.now(), `${executions().length} of ${count} rows were started. ${service?.output().slice(-3_000)}`).toBeLessThan(
        deadline,
      );
      await sleep(5);
    }
  };

  allow(0);
  const { workflow_id } = await experiment.start({ runner: { kind: 'module', name: 'slow' }, records, concurrency: CONCURRENCY });
  await kill('the start', 'node');

  await planScheduled(workflow_id);
  await kill('planning', 'npm', 'node', 'temporal');

  await executed(200);
  await kill('rows', 'npm');
  await executed(executions().length + 200);
  await kill('rows', 'temporal');
  await executed(executions().length + 200);
  await kill('rows', 'node');
  await executed(executions().length + 200);
  await kill('rows', 'npm', 'node', 'temporal');

  allow(Number.POSITIVE_INFINITY);
  const scoring = await experiment.until(({ scores_done }) => scores_done > 0, 120_000);
  await kill('scoring', 'node', 'temporal');
  expect(scoring.scores_done).toBeLessThan(scoring.scores_total);
  const judgedBefore = judge.requests.length;

  const end = await experiment.end(120_000);
  const [traces, spans] = [await experiment.traces(), await experiment.spans()];
  const attempts = executions();
  const repeats = attempts.length - new Set(attempts).size;
  const unrecorded = kills.reduce((sum, one) => sum + (one.unrecorded ?? 0), 0);
  console.table(kills);
  console.log(
    `expected ${ROWS}, recorded ${traces.length}, attempts ${attempts.length}, repeats ${repeats} (allowed: the ${unrecorded} that were started and ` +
      `not recorded), judge called ${judge.requests.length} times (${judgedBefore} before the last kill)`,
  );

  expect(end).toMatchObject({ state: 'completed', rows_done: ROWS, rows_failed: 0, error: null });
  expect(end.scores_done).toBe(ROWS * METRICS.length);
  expect(kills.map(({ at }) => at)).toEqual(['the start', 'planning', 'rows', 'rows', 'rows', 'rows', 'scoring']);
  expect(traces).toHaveLength(ROWS);
  expect(new Set(traces.map(({ input }) => input)).size).toBe(ROWS);
  expect(spans).toEqual([]);
  expect(traces.filter(({ metrics }) => metrics.exact_match !== 1 && metrics.exact_match !== true)).toEqual([]);
  expect(traces.filter(({ metrics }) => metrics.correctness !== 1 && metrics.correctness !== true)).toEqual([]);
  expect(new Set(attempts).size).toBe(ROWS);
  expect(attempts.length).toBeLessThanOrEqual(ROWS + unrecorded);
  // A kill leaves nothing of ours after 5 s; a machine that stalls may take longer now and then.
  const gone = kills.flatMap(({ goneMs }) => goneMs ?? []).sort((one, other) => one - other);
  expect(gone[Math.floor(gone.length / 2)]).toBeLessThan(5_000);
  for (const one of kills) expect(one.unrecorded ?? 0).toBeLessThanOrEqual(CONCURRENCY + WRITE_GROUP);
}, 600_000);

test('a kill while recorded rows are scored beside others loses neither rows nor scores', { timeout: 600_000 }, async () => {
  service ??= await where.start('npm');
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'scored along' } });
  const experiment = await newExperiment(client, projectId, { name: 'scored along and killed', metrics: ['exact_match'] });
  const records = Array.from({ length: 1_000 }, (_, index) => ({ input: `question ${index}`, output: `answer ${index}` }));
  await experiment.start({ runner: { kind: 'module', name: 'slow' }, records, concurrency: 10 });
  const along = await experiment.until(({ scores_done }) => scores_done > 0);
  expect(along.rows_done).toBeLessThan(records.length);
  const parts = await partsOf(service);
  for (const { pid } of [parts.npm, parts.node, parts.temporal]) process.kill(pid, 'SIGKILL');
  await untilGone(parts.all);
  service = await where.start('npm');
  expect(await experiment.end(120_000)).toMatchObject({
    state: 'completed',
    rows_done: 1_000,
    rows_failed: 0,
    scores_done: 1_000,
    error: null,
  });
  const traces = await experiment.traces();
  expect(traces).toHaveLength(1_000);
  expect(traces.filter(({ metrics }) => metrics.exact_match !== 1 && metrics.exact_match !== true)).toEqual([]);
});

test('a pause whose service is killed while long rows end stays a pause, and nothing of ours stays after the parent', {
  timeout: 600_000,
}, async () => {
  await writeFile(
    join(runners, 'long.mjs'),
    "import { setTimeout } from 'node:timers/promises'; export default async (input) => { await setTimeout(8_000); return input; };",
  );
  service ??= await where.start('npm');
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'pauses' } });
  const experiment = await newExperiment(client, projectId, { name: 'paused and killed' });
  const records = Array.from({ length: 8 }, (_, index) => ({ input: `question ${index}` }));
  const { workflow_id } = await experiment.start({ runner: { kind: 'module', name: 'long' }, records, concurrency: 4 });
  await expect
    .poll(async () => (await partsOf(service as ServiceProcess)).all.some(({ command }) => command.includes('long.mjs')))
    .toBe(true);
  await experiment.steer('pause');

  const parts = await partsOf(service);
  process.kill(parts.npm.pid, 'SIGKILL');
  await untilGone(parts.all);
  service = await where.start('npm');
  // Longer than it takes to notice the lost worker: the workflow then waits for the end of the pause.
  const { workflow, close } = await temporalClient();
  const handle = workflow.getHandle(workflow_id);
  await expect.poll(async () => (await handle.describe()).raw.pendingActivities?.length).toBe(0);
  await close();
  expect(await experiment.progress()).toMatchObject({ state: 'paused', error: null });
  await experiment.steer('resume');
  expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 8, rows_failed: 0 });
});

async function temporalClient() {
  const connection = await Connection.connect({ address: `127.0.0.1:${where.environment.TEMPORAL_PORT}` });
  return { workflow: new Client({ connection }).workflow, close: () => connection.close() };
}

/** Waits until the workflow has asked for its plan: from then on, and until the answer, the run is being planned. */
async function planScheduled(workflowId: string): Promise<void> {
  const { workflow, close } = await temporalClient();
  try {
    const handle = workflow.getHandle(workflowId);
    const deadline = Date.now() + 240_000;
    for (;;) {
      const { events } = await handle.fetchHistory();
      if (events?.some((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'planExperiment')) return;
      expect(Date.now(), 'no plan was asked for').toBeLessThan(deadline);
    }
  } finally {
    await close();
  }
}

async function stopAll(running: ServiceProcess): Promise<void> {
  const parts = await processTree(running.child.pid as number);
  await running.kill('SIGTERM');
  await untilGone(parts);
}
