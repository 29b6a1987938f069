import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServiceClient } from '../client/http.ts';
import { runExperiment } from '../client/runExperiment.ts';
import { newId } from '../shared/ids.ts';
import { percentile } from '../shared/metrics/percentile.ts';
import { openClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { type ServiceProcess, serviceFolder } from '../test/support/serviceProcess.ts';
import { generateRecords, mergesDone } from './recordData.ts';
import { slowEndpoint } from './slowEndpoint.ts';

const ROW_MS = 200;
const SLOW_ROW_MS = 3_000;
const CONCURRENCY = 100;

/**
 * An experiment's overhead. Options: `--rows` (5000), `--records` that the service holds already (1000000), `--runs` of each (3).
 * Prints rows per second from the request to the finished aggregates for a function that does nothing, in the caller and as a module, one metric
 * scored; and for rows that take a known time the ratio to the best schedule.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '5000' },
      records: { type: 'string', default: '1000000' },
      runs: { type: 'string', default: '3' },
    },
  });
  const [rows, records, runs] = [Number(values.rows), Number(values.records), Number(values.runs)];
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  try {
    await fill(join(folder, 'data'), records);
    await writeRunner(join(folder, 'runners'));
    const service = await (await serviceFolder(join(folder, 'data'), { RUNNERS_DIR: join(folder, 'runners') })).start();
    try {
      await measure(service, rows, runs, records);
    } finally {
      await service.kill('SIGTERM');
    }
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

async function measure(service: ServiceProcess, rows: number, runs: number, records: number): Promise<void> {
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const project = await client.send<{ id: string }>('/projects', { body: { name: 'bench' } });
  const dataset = Array.from({ length: rows }, (_, index) => ({ input: `question ${index}`, output: `question ${index}` }));
  const common = { client, projectId: project.id, dataset, metrics: ['exact_match'], concurrency: CONCURRENCY };
  print(`${rows} rows, one metric, a service that holds ${records} records, concurrency ${CONCURRENCY}`);

  const seconds = async (
    name: string,
    work: () => Promise<{ progress: { rows_done: number; scores_done: number; rows_failed: number } }>,
  ): Promise<number> => {
    const start = performance.now();
    const { progress } = await work();
    const taken = (performance.now() - start) / 1_000;
    if (progress.rows_done !== rows || progress.rows_failed !== 0) throw new Error(`${name}: ${JSON.stringify(progress)}`);
    return taken;
  };

  for (const [name, runner] of [
    ['function in the caller', { function: (input: unknown) => input }],
    ['registered module', { module: 'nothing' }],
  ] as const) {
    const taken: number[] = [];
    for (let index = 0; index < runs; index++)
      taken.push(await seconds(name, () => runExperiment({ ...common, ...runner, experimentName: `${name} ${index}` })));
    print(
      `  no-op, ${name}: ${spread(
        taken.map((one) => rows / one),
        0,
      )} rows/s`,
    );
  }

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
  const status = await readFile(`/proc/${service.child.pid}/status`, 'utf8').catch(() => '');
  const peak = /VmHWM:\s+(\d+)/.exec(status)?.[1];
  if (peak) print(`  peak memory of the service process: ${(Number(peak) / 1024).toFixed(0)} MiB`);
}

/** The endpoint's n-th call takes so long. */
const callMs = (index: number, slowShare: number): number =>
  slowShare > 0 && index % Math.round(1 / slowShare) === 0 ? SLOW_ROW_MS : ROW_MS;

/**
 * Seconds of the best schedule: each call begins the moment a lane is free. Which calls are slow the endpoint decides by their order, so no order of
 * the rows is better, and whoever leaves a lane idle only begins the rest later. `work`: the calls' time over the lanes, which leaves out that the
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
