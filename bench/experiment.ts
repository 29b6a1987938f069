import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { ServiceClient } from '../client/http.ts';
import { runExperiment } from '../client/runExperiment.ts';
import { newId } from '../shared/identifiers/ids.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import { openClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { postgresProgram } from '../test/support/postgresServer.ts';
import { redisProgram } from '../test/support/redisServer.ts';
import { type ServiceProcess, serviceFolder } from '../test/support/serviceProcess.ts';
import { startServiceServers } from '../test/support/serviceServers.ts';
import { cpuSeconds, untilIdle } from './cpu.ts';
import { generateRecords, mergesDone } from './recordData.ts';
import { slowEndpoint } from './slowEndpoint.ts';

const ROW_MS = 200;
const SLOW_ROW_MS = 3_000;
const CONCURRENCY = 100;

/** Rows of the run that is to be short. */
const FEW_ROWS = 500;

/**
 * An experiment's overhead. Options: `--rows` (5000), `--records` that the service holds already (1000000), `--runs` of each (3), `--only`
 * `quick`, `noop`, `slow`, `long` or `servers`, `--checkout` of another release.
 *
 * - `quick`: seconds from the request to the aggregates for 500 rows of a module that does nothing, on a service with nothing else to do;
 * - `noop`: rows per second for a function that does nothing, in the caller and as a module, and the CPU time of the service per row;
 * - `slow`: the ratio to the best schedule for rows that take a known time;
 * - `long`: one run of 20 times as many rows of the module: memory of the service along its way, and events in the workflow's history;
 * - `servers`: the rows of the module with an api and a worker over servers: CPU time of the two per row, and of ClickHouse's stand-in.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '5000' },
      records: { type: 'string', default: '1000000' },
      runs: { type: 'string', default: '3' },
      only: { type: 'string' },
      checkout: { type: 'string' },
    },
  });
  const [rows, records, runs] = [Number(values.rows), Number(values.records), Number(values.runs)];
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  const wanted = (part: string) => values.only === undefined || values.only === part;
  try {
    await writeRunner(join(folder, 'runners'));
    const environment = { RUNNERS_DIR: join(folder, 'runners') };
    if (values.only !== 'servers') {
      await fill(join(folder, 'data'), records);
      const where = await serviceFolder(join(folder, 'data'), environment, { root: values.checkout });
      const service = await where.start();
      try {
        await measure(service, { rows, runs, records, wanted, temporal: `127.0.0.1:${where.environment.TEMPORAL_PORT}` });
      } finally {
        await service.kill('SIGTERM');
      }
    }
    if (wanted('servers')) await measureServers(environment, rows, runs, values.checkout);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The records that are there already are made inside the engine, before the service owns the folder. */
async function fill(dataDir: string, records: number): Promise<void> {
  if (records === 0) return;
  await mkdir(dataDir, { mode: 0o700 }); // the service takes no folder with content that is open to others
  const clickhouse = openClickHouse({ dataDir: join(dataDir, 'clickhouse') });
  await generateRecords(clickhouse, { projectId: newId(), runId: newId(), records });
  await mergesDone(clickhouse);
  await clickhouse.close();
}

async function writeRunner(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'nothing.ts'), 'export default (input: string) => input;\n');
}

interface Measured {
  rows: number;
  runs: number;
  records: number;
  wanted(part: string): boolean;
  /** Address of Temporal's server. */
  temporal: string;
}

async function measure(service: ServiceProcess, { rows, runs, records, wanted, temporal }: Measured): Promise<void> {
  const pid = service.child.pid as number;
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const project = await client.send<{ id: string }>('/projects', { body: { name: 'bench' } });
  const dataset = Array.from({ length: rows }, (_, index) => ({ input: `question ${index}`, output: `question ${index}` }));
  const common = { client, projectId: project.id, dataset, metrics: ['exact_match'], concurrency: CONCURRENCY };
  print(`${rows} rows, one metric, a service that holds ${records} records, concurrency ${CONCURRENCY}`);

  const seconds = async (
    name: string,
    work: () => Promise<{ progress: { rows_done: number; rows_total: number; rows_failed: number } }>,
  ): Promise<number> => {
    const start = performance.now();
    const { progress } = await work();
    const taken = (performance.now() - start) / 1_000;
    if (progress.rows_done !== progress.rows_total || progress.rows_failed !== 0)
      throw new Error(`${name}: ${JSON.stringify(progress)}`);
    return taken;
  };

  if (wanted('quick')) {
    const taken: number[] = [];
    for (let index = 0; index < runs; index++) {
      await untilIdle(pid);
      const few = { ...common, dataset: dataset.slice(0, FEW_ROWS), module: 'nothing', experimentName: `few ${index}` };
      taken.push(await seconds('few rows', () => runExperiment(few)));
    }
    print(`  ${FEW_ROWS} no-op rows, from the request to the aggregates: ${spread(taken, 2)} s`);
  }

  const runners = [
    ['function in the caller', { function: (input: unknown) => input }],
    ['registered module', { module: 'nothing' }],
  ] as const;
  for (const [name, runner] of wanted('noop') ? runners : []) {
    const taken: number[] = [];
    const cpu: number[] = [];
    for (let index = 0; index < runs; index++) {
      await untilIdle(pid);
      const before = cpuSeconds(pid);
      taken.push(await seconds(name, () => runExperiment({ ...common, ...runner, experimentName: `${name} ${index}` })));
      cpu.push(((cpuSeconds(pid) - before) * 1_000) / rows);
    }
    const perSecond = taken.map((one) => rows / one);
    print(`  no-op, ${name}: ${spread(perSecond, 0)} rows/s, ${spread(cpu, 2)} ms of CPU a row`);
  }
  if (wanted('slow')) await measureSlow();
  if (wanted('long')) {
    await untilIdle(pid);
    const long = Array.from({ length: 20 * rows }, (_, index) => ({ input: `question ${index}`, output: `question ${index}` }));
    const memory: number[] = [];
    const look = setInterval(() => memory.push(memoryOf(pid).now), 250);
    const { experiment } = await runExperiment({ ...common, dataset: long, module: 'nothing', experimentName: 'long' });
    clearInterval(look);
    const quarter = Math.floor(memory.length / 4);
    const most = [0, 1, 2, 3].map((part) => Math.max(...memory.slice(part * quarter, (part + 1) * quarter)).toFixed(0));
    print(
      `  ${long.length} no-op rows: at most ${most.join(', ')} MiB in each quarter of the run, ${await eventsOf(temporal, experiment.id)} events`,
    );
  }
  print(`  peak memory of the service process: ${memoryOf(pid).most.toFixed(0)} MiB`);

  async function measureSlow(): Promise<void> {
    await using slow = await slowEndpoint(() => ROW_MS);
    await client.send(`/integrations/custom/bench`, {
      method: 'PUT',
      body: { endpoint: slow.url, authentication_type: 'none', model_properties: [{ name: 'bench-model' }] },
    });
    for (const share of [0, 0.05]) {
      const { best, work } = bestSeconds(rows, share);
      const taken: number[] = [];
      for (let index = 0; index < runs; index++) {
        slow.reset((index) => callMs(index, share));
        taken.push(
          await seconds('prompt template', () =>
            runExperiment({
              ...common,
              experimentName: `slow ${share} ${index}`,
              promptTemplate: `{{input}}`,
              promptSettings: { model_alias: 'bench-model' },
            }),
          ),
        );
      }
      const name = share === 0 ? `${ROW_MS} ms each` : `${ROW_MS} ms, ${share * 100} % of them ${SLOW_ROW_MS} ms`;
      const ratios = (to: number) =>
        spread(
          taken.map((one) => one / to),
          3,
        );
      print(
        `  ${name}: ${spread(taken, 2)} s, best schedule ${best.toFixed(2)} s, ratio ${ratios(best)}; to the ${work.toFixed(2)} s of work alone ${ratios(work)}; endpoint saw at most ${slow.most()} at once, ${slow.calls()} calls in the last run`,
      );
    }
  }
}

/** Memory of a process in MiB. */
function memoryOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { now: mib('VmRSS'), most: mib('VmHWM') };
}

/** Events in the histories of an experiment's workflows. */
async function eventsOf(address: string, experimentId: string): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    let events = 0;
    const { workflow } = new Client({ connection });
    for await (const { historyLength, workflowId } of workflow.list())
      if (workflowId.includes(experimentId)) events += historyLength ?? 0;
    return events;
  } finally {
    await connection.close();
  }
}

/** The no-op rows of the module with an api and a worker of their own. */
async function measureServers(
  environment: Record<string, string>,
  rows: number,
  runs: number,
  checkout: string | undefined,
): Promise<void> {
  const { path: postgres } = postgresProgram;
  const { path: redis } = redisProgram;
  if (!postgres || !redis) {
    print('  over servers: not measured, since postgres or redis-server is not installed');
    return;
  }
  await using servers = await startServiceServers({ postgres, redis }, environment, checkout);
  const [api, worker] = [await servers.api(), servers.worker()];
  await Promise.all([api.start(), worker.start()]);
  const project = await api.client.send<{ id: string }>('/projects', { body: { name: 'bench' } });
  const dataset = Array.from({ length: rows }, (_, index) => ({ input: `question ${index}`, output: `question ${index}` }));
  const common = { client: api.client, projectId: project.id, dataset, metrics: ['exact_match'], concurrency: CONCURRENCY };
  const used = () => [cpuSeconds(api.pid()) + cpuSeconds(worker.pid()), cpuSeconds(servers.clickhouse.pid())] as const;
  const taken: number[] = [];
  const ours: number[] = [];
  const clickhouse: number[] = [];
  for (let index = 0; index < runs; index++) {
    await untilIdle(worker.pid());
    const [before, clickhouseBefore] = used();
    const start = performance.now();
    await runExperiment({ ...common, module: 'nothing', experimentName: `over servers ${index}` });
    taken.push((rows / (performance.now() - start)) * 1_000);
    const [after, clickhouseAfter] = used();
    ours.push(((after - before) * 1_000) / rows);
    clickhouse.push(((clickhouseAfter - clickhouseBefore) * 1_000) / rows);
  }
  print(
    `  over servers: ${spread(taken, 0)} rows/s, ${spread(ours, 2)} ms of CPU a row in api and worker, ` +
      `${spread(clickhouse, 2)} in ClickHouse's stand-in`,
  );
}

/** The endpoint's n-th call takes so long. */
const callMs = (index: number, slowShare: number): number =>
  slowShare > 0 && index % Math.round(1 / slowShare) === 0 ? SLOW_ROW_MS : ROW_MS;

/**
 * Seconds of the best schedule: each call begins the moment a lane is free. Which calls are slow the endpoint decides by their order, so no order of
 * the rows is better, and an idle lane only delays the rest. `work`: the calls' time over the lanes, which leaves out that the
 * last slow calls end alone.
 */
function bestSeconds(rows: number, slowShare: number): { best: number; work: number } {
  const lanes = new Array<number>(CONCURRENCY).fill(0);
  let work = 0;
  for (let index = 0; index < rows; index++) {
    const first = lanes.indexOf(Math.min(...lanes));
    const ms = callMs(index, slowShare);
    lanes[first] = (lanes[first] ?? 0) + ms;
    work += ms;
  }
  return { best: Math.max(...lanes) / 1_000, work: work / CONCURRENCY / 1_000 };
}

/** The median, with the lowest and the highest. */
function spread(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => percentile(sorted, share).toFixed(digits);
  return `${at(0.5)} (lowest ${at(0)}, highest ${at(1)})`;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
