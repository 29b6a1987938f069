import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildConsole } from '../api/console/buildConsole.ts';
import { table } from '../cli/output/table.ts';
import {
  compareExperiments,
  createDataset,
  type ExperimentComparison,
  type ExperimentRunResults,
  getDataset,
  runExperiment,
  ServiceClient,
} from '../client/index.ts';
import { type Service, startService } from '../service.ts';
import { assertFree } from '../shared/childProcesses/freePort.ts';
import { runProcess } from '../shared/childProcesses/runProcess.ts';
import { withoutSettings } from '../shared/config/config.ts';
import { figureCell } from './figureCell.ts';
import { problemsFile } from './problems.ts';
import { ProgressLine } from './progressLine.ts';
import { solverWith } from './solve.ts';
import { STAND_IN, startStandInModel } from './standInModel.ts';

// The main job, end to end, on one machine: the embedded service in a folder of its own, a model endpoint of its own, a dataset of word problems,
// and two experiments over it. Ends by itself; run again, it adds two experiments to what is there.

const PROJECT = 'demo';
const DATASET = 'word problems';
const INTEGRATION = 'stand-in';
const METRICS = ['numeric_match', 'exact_match', 'latency', 'total_tokens'];
/** Metrics that the two are compared by. Times differ from run to run, and each further metric makes the correction stricter. */
const DECIDING = ['numeric_match', 'exact_match'];
const CONCURRENCY = 5;
const usualPorts = { api: 8088, temporalUi: 8233 };
/** Those that the environment names, else the usual ones; where one is taken, any free one is used. */
const ports = [
  process.env.PORT || usualPorts.api,
  process.env.TEMPORAL_PORT || 7233,
  process.env.TEMPORAL_UI_PORT || usualPorts.temporalUi,
].map(String);

const dataDir = process.env.DATA_DIR || '.assay-demo';
const say = (line = '') => void process.stdout.write(`${line}\n`);

/** The port when nothing listens there, else 0: any free one. What is no port is left to the service to refuse. */
async function portOrAny(port: string): Promise<string> {
  if (!(Number(port) < 65_536)) return port;
  return assertFree(Number(port)).then(
    () => port,
    () => '0',
  );
}

async function start(signal: AbortSignal): Promise<Service> {
  say(`Starting the embedded service in ${dataDir} …`);
  await buildConsole((line) => say(`  ${line}`));
  const [port, temporalPort, temporalUiPort] = await Promise.all(ports.map(portOrAny));
  // Servers that the environment names are not the demo's: it uses its own.
  return startService(
    {
      ...withoutSettings(process.env), // a build of Temporal needs the home folder and the proxies of this machine
      DATA_DIR: dataDir,
      PORT: port,
      TEMPORAL_PORT: temporalPort,
      TEMPORAL_UI_PORT: temporalUiPort,
      LOG_LEVEL: process.env.LOG_LEVEL || 'warn',
    },
    (line) => say(`  ${line}`),
    { signal },
  );
}

/** The key that the first start of this folder made. */
function keptApiKey(): string {
  const { api_key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')) as { api_key: string };
  return api_key;
}

async function ensureProject(client: ServiceClient): Promise<string> {
  const [found] = await client.send<{ id: string }[]>('/projects', { query: { project_name: PROJECT } });
  return (found ?? (await client.send<{ id: string }>('/projects', { body: { name: PROJECT } }))).id;
}

async function runBoth(service: Service): Promise<ExperimentRunResults[]> {
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.created?.apiKey ?? keptApiKey() });
  const model = await startStandInModel();
  try {
    const projectId = await ensureProject(client);
    await client.send(`/integrations/custom/${INTEGRATION}`, {
      method: 'PUT',
      body: {
        endpoint: model.url,
        authentication_type: 'api_key',
        api_key_header: 'X-API-Key',
        api_key_value: model.apiKey,
        models: [STAND_IN],
        default_model: STAND_IN,
      },
    });
    const dataset =
      (await getDataset({ client, name: DATASET })) ??
      (await createDataset({ client, projectId, name: DATASET, file: new Blob([readFileSync(problemsFile)]), format: 'jsonl' }));
    say(`${dataset.num_rows} word problems, two experiments, ${CONCURRENCY} rows at a time\n`);

    const common = { client, projectId, dataset: { id: dataset.id }, metrics: METRICS, concurrency: CONCURRENCY };
    const solve = solverWith(model);
    const byFunction = await watched('agent', (onProgress) =>
      runExperiment<string, string>({ ...common, experimentName: 'agent', function: solve, onProgress }),
    );
    const byPrompt = await watched('prompt', (onProgress) =>
      runExperiment({
        ...common,
        experimentName: 'prompt',
        promptTemplate: { name: 'word problem', template: 'Solve this in your head and say the answer: {{input}}' },
        promptSettings: { modelAlias: STAND_IN, temperature: 0 },
        onProgress,
      }),
    );
    const [baselineId, experimentIds] = [byFunction.experiment.id, [byPrompt.experiment.id]];
    const comparison = await compareExperiments({ client, projectId, baselineId, experimentIds, metrics: DECIDING });
    return [byFunction, { ...byPrompt, comparison }];
  } finally {
    await model.close();
  }
}

async function watched<T>(name: string, run: (onProgress: ProgressLine['show']) => Promise<T>): Promise<T> {
  const line = new ProgressLine(name, process.stdout);
  try {
    return await run((progress) => line.show(progress));
  } finally {
    line.end();
  }
}

function rowOf({ experiment, progress }: ExperimentRunResults): string[] {
  const cell = (name: string, shown: (figure: number) => string) => figureCell(experiment.aggregates[name], shown);
  const percent = (name: string) => cell(name, (figure) => `${(100 * figure).toFixed(1)} %`);
  const seconds = (Date.parse(progress.ended_at ?? '') - Date.parse(progress.started_at ?? '')) / 1_000;
  return [
    experiment.name,
    String(progress.rows_done),
    String(progress.rows_failed),
    percent('numeric_match'),
    percent('exact_match'),
    cell('latency', (figure) => `${figure.toFixed(0)} ms`),
    cell('total_tokens', String),
    `${seconds.toFixed(1)} s`,
  ];
}

/** The answer to what the two experiments were run for: a sentence, and a line for each metric. */
function sayComparison({ baseline, experiments, comparisons }: ExperimentComparison): void {
  const shown = DECIDING.flatMap((metric) => comparisons.find((one) => one.metric === metric) ?? []);
  say(`\n${shown[0]?.sentence}\n`);
  const text = (value: number | null): string => (value === null ? '' : String(Number(value.toPrecision(3))));
  const row = ({
    metric,
    baseline_mean,
    mean,
    interval,
    better,
    worse,
    p_adjusted,
    verdict,
  }: (typeof shown)[number]): string[] => [
    ...[metric, text(baseline_mean), text(mean), interval ? `${text(interval.low)} to ${text(interval.high)}` : ''],
    ...[
      text(better),
      text(worse),
      p_adjusted !== null && p_adjusted < 0.001 ? '< 0.001' : text(p_adjusted),
      verdict ?? 'differs',
    ],
  ];
  const header = [
    'metric',
    String(baseline.name),
    String(experiments[0]?.name),
    '95 % interval',
    'better',
    'worse',
    'p',
    'verdict',
  ];
  say(resultTable(header, shown.map(row)));
}

function sayLinks(service: Service, runs: readonly ExperimentRunResults[]): void {
  const ofRun = ({ experiment }: ExperimentRunResults): string => {
    const query = new URLSearchParams({ query: `AssayProject="${PROJECT}" AND AssayExperiment="${experiment.name}"` });
    return `${service.temporalUiUrl}/namespaces/default/workflows?${query}`;
  };
  say('\nTo look around, start the service again on the same data:\n');
  say(`  ${startCommand(service)}\n`);
  const pages = runs.map(({ link, experiment }) => `${link} (${experiment.name})`);
  for (const { comparison, experiment } of runs)
    if (comparison) say(`  comparison    ${comparisonLink(service, experiment.project_id, comparison)}`);
  say(`  experiments   ${pages.join('\n                ')}`);
  say(`  API docs      ${service.publicUrl}/docs`);
  say(`  Temporal UI   ${runs.map((run) => `${ofRun(run)} (${run.experiment.name})`).join('\n                ')}`);
  say(
    `  sign in       as ${service.email} with the password of ${join(dataDir, 'credentials.json')}, or in the console with its API key`,
  );
}

/** Where the console shows a comparison by the metrics that decide. */
function comparisonLink({ publicUrl }: Service, projectId: string, comparison: ExperimentComparison): string {
  const { baseline, experiments, comparisons } = comparison;
  const idOf = (metric: string) => comparisons.find((one) => one.metric === metric)?.metric_id ?? metric;
  const query = new URLSearchParams({
    base: baseline.id,
    with: JSON.stringify(experiments.map(({ id }) => id)),
    only: JSON.stringify(DECIDING.map(idOf)),
    metric: idOf('numeric_match'),
  });
  return `${publicUrl}/console/p/${projectId}/compare?${query}`;
}

/** Starts the service where it was: ports are named only where they are not the usual ones. */
function startCommand(service: Service): string {
  const port = new URL(service.url).port;
  const uiPort = new URL(service.temporalUiUrl ?? '').port;
  const settings = [`DATA_DIR=${dataDir}`];
  if (port !== String(usualPorts.api)) settings.push(`PORT=${port}`);
  if (uiPort !== String(usualPorts.temporalUi)) settings.push(`TEMPORAL_PORT=0 TEMPORAL_UI_PORT=${uiPort}`);
  return `${settings.join(' ')} npm start`;
}

/** Names to the left, figures to the right, as wide as they need. */
const resultTable = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  table(
    header.map((title, column) => ({ title, figure: column > 0 })),
    rows,
    Number.POSITIVE_INFINITY,
  );

async function mainJob(service: Service, began: number): Promise<void> {
  const results = await runBoth(service);
  const header = ['experiment', 'rows', 'errors', 'numeric match', 'exact match', 'latency', 'tokens', 'duration'];
  say(`\n${resultTable(header, results.map(rowOf))}`);
  for (const { comparison } of results) if (comparison) sayComparison(comparison);
  sayLinks(service, results);
  say(`\nDone in ${((performance.now() - began) / 1_000).toFixed(1)} s.`);
}

const began = performance.now();
if (!existsSync(dataDir)) say('The first start makes its stores and looks for a Temporal server; later ones take seconds.');
await runProcess(
  async (signal) => {
    const service = await start(signal);
    // The process ends with the job, or with what breaks first.
    return { stop: service.stop, broken: Promise.race([mainJob(service, began), service.broken]) };
  },
  { underNpm: process.env.npm_lifecycle_event !== undefined },
);
