import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chooseScorers } from '../client/chooseMetrics.ts';
import { ServiceClient } from '../client/http.ts';
import { runExperiment } from '../client/runExperiment.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import { type ServiceProcess, serviceFolder } from '../test/support/serviceProcess.ts';

const CONCURRENCY = 100;
/** Milliseconds between two requests. */
const ASKED_EVERY_MS = 20;

/**
 * How long the embedded service takes to answer /healthcheck while metrics of code score long texts at concurrency 100. Options: `--answers` (1000),
 * `--characters` of each answer and its reference (20000), `--metrics` (similarity), `--runs` (3). The answers are recorded first; what is timed is
 * their scoring alone.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      answers: { type: 'string', default: '1000' },
      characters: { type: 'string', default: '20000' },
      metrics: { type: 'string', default: 'similarity' },
      runs: { type: 'string', default: '3' },
    },
  });
  const [answers, characters, runs] = [Number(values.answers), Number(values.characters), Number(values.runs)];
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  try {
    await mkdir(join(folder, 'runners'));
    await writeFile(join(folder, 'runners', 'reversed.ts'), "export default (input: string) => [...input].reverse().join('');\n");
    const service = await (await serviceFolder(join(folder, 'data'), { RUNNERS_DIR: join(folder, 'runners') })).start();
    try {
      await measure(service, { answers, characters, runs, metrics: values.metrics.split(',') });
    } finally {
      await service.kill('SIGTERM');
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(
  service: ServiceProcess,
  { answers, characters, runs, metrics }: { answers: number; characters: number; runs: number; metrics: string[] },
): Promise<void> {
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const project = await client.send<{ id: string }>('/projects', { body: { name: 'bench' } });
  const dataset = Array.from({ length: answers }, (_, row) => {
    const text = textOf(characters, row + 1);
    return { input: text, output: text };
  });
  print(`${answers} answers of ${characters} characters, ${metrics.join(', ')}, concurrency ${CONCURRENCY}`);
  print(`  /healthcheck of the idle service: ${await healthBeside(service, delay(5_000))}`);
  for (let index = 0; index < runs; index++) {
    const common = { client, projectId: project.id, dataset, module: 'reversed', concurrency: CONCURRENCY };
    const { experiment } = await runExperiment({ ...common, experimentName: `run ${index}` });
    const path = `/projects/${project.id}/experiments/${experiment.id}`;
    await client.send(`/projects/${project.id}/runs/${experiment.id}/scorer-settings`, {
      body: { run_id: experiment.id, scorers: await chooseScorers(client, metrics) },
    });
    const start = performance.now();
    const scored = async () => {
      await client.send(`${path}/run`, { body: { rows_to_run: 'none' } });
      for (;;) {
        const { state } = await client.send<{ state: string }>(`${path}/progress?wait_ms=10000`);
        if (state === 'completed') return;
        if (state === 'failed') throw new Error('the run failed');
      }
    };
    const health = await healthBeside(service, scored());
    print(`  ${((performance.now() - start) / 1_000).toFixed(1)} s of scoring, /healthcheck: ${health}`);
  }
}

/** The answers of /healthcheck until the work has ended. */
async function healthBeside(service: ServiceProcess, work: Promise<unknown>): Promise<string> {
  let ended = false;
  const end = work.finally(() => {
    ended = true;
  });
  end.catch(() => undefined);
  const took: number[] = [];
  while (!ended) {
    const start = performance.now();
    const answer = await fetch(`${service.url}/healthcheck`);
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`/healthcheck answered ${answer.status}`);
    took.push(performance.now() - start);
    await delay(ASKED_EVERY_MS);
  }
  await end;
  const sorted = took.sort((a, b) => a - b);
  const at = (share: number) => percentile(sorted, share).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms (${sorted.length} answers)`;
}

/** Words of letters that no two rows have in the same order. */
const textOf = (characters: number, seed: number): string =>
  Array.from({ length: characters }, (_, at) =>
    at % 6 === 5 ? ' ' : String.fromCharCode(97 + ((at * at * seed + at) % 26)),
  ).join('');

const print = (line: string) => process.stdout.write(`${line}\n`);
