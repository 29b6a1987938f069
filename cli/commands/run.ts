import { resolve } from 'node:path';
import {
  type ExperimentResponse,
  ExperimentRunError,
  type ExperimentRunResults,
  resolveProject,
  runExperiment,
  type ServiceClient,
} from '../../client/index.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { loadExperiment } from '../experimentFiles/experimentFile.ts';
import { findDataset } from '../lookup/findDataset.ts';
import { findProject, missingProject, type ProjectOptions } from '../lookup/findProject.ts';
import { gateFormatOf } from '../output/gateReport.ts';
import { nextSteps } from '../output/nextSteps.ts';
import { progressDisplay } from '../output/progressDisplay.ts';
import { untilPaused } from '../output/untilPaused.ts';
import { formatOf, readRows } from '../rows/rowFiles.ts';
import { rowSelection } from '../rows/rowsOption.ts';
import { usageError } from '../terminal/commandError.ts';
import type { ExitCode } from '../terminal/exitCodes.ts';
import { remark, say, type Terminal } from '../terminal/terminal.ts';
import { writeGate } from './gate.ts';
import { showResults } from './watch.ts';

export interface RunOptions extends ServiceOptions, ProjectOptions {
  json?: boolean;
  name?: string;
  dataset?: string;
  trials?: number;
  rows?: string[];
  concurrency?: number;
  createProject?: boolean;
  /** `--no-wait` */
  wait: boolean;
  gateReport?: string;
  /** `--fresh` */
  fresh?: boolean;
}

/** Runs the experiment of a file: its function in this process, anything else in the service. */
export async function run(terminal: Terminal, file: string, options: RunOptions): Promise<ExitCode> {
  omitPackageNotes(terminal);
  const client = await connect(terminal, options);
  const { project, projectName, ...definition } = await loadExperiment(terminal.folder, file);
  if (options.gateReport !== undefined) {
    gateFormatOf(options.gateReport);
    if (!definition.gate) throw usageError(`${file} has no gate that could be reported: add gate: { … } to it`);
  }
  const byOption = options.project ?? options.projectId;
  const ofFile = { project: projectName ?? project, projectId: definition.projectId };
  const projectId = await ensureProject(client, byOption ? options : ofFile, options.createProject === true);
  const display = await progressDisplay(terminal);
  const pause = untilPaused(terminal);
  let experiment: ExperimentResponse | undefined;
  let results: ExperimentRunResults;
  try {
    results = await runExperiment({
      ...definition,
      ...(options.dataset ? await chosenDataset(terminal, client, options.dataset) : {}),
      ...(options.name ? { experimentName: options.name } : {}),
      ...(options.rows ? { rows: await rowSelection(client, projectId, options.rows) } : {}),
      ...(options.trials ? { trials: options.trials } : {}),
      ...(options.concurrency ? { concurrency: options.concurrency } : {}),
      client,
      projectId,
      wait: options.wait,
      resume: !options.fresh,
      onExperiment: (made) => {
        experiment = made;
      },
      onProgress: (progress) => {
        display.show(progress);
        pause.note(progress);
      },
      signal: pause.signal,
    });
  } catch (err) {
    display.end();
    const paused = await pause.report(terminal, client, experiment, options.json === true);
    if (paused !== undefined) return paused;
    if (terminal.signal.aborted) await remark(terminal, lastWords(experiment, file, definition.function !== undefined));
    if (!(err instanceof ExperimentRunError)) throw err;
    results = err.results;
  }
  display.end();
  return showRun(terminal, client, results, options);
}

async function showRun(
  terminal: Terminal,
  client: ServiceClient,
  { experiment, progress, link, resumed, gate }: ExperimentRunResults,
  { json, wait, gateReport }: RunOptions,
): Promise<ExitCode> {
  if (resumed) await remark(terminal, 'Went on with the run that had not ended; --fresh makes a new one.');
  const exitCode = await showResults(terminal, client, experiment, progress, json, gate);
  if (gate && gateReport !== undefined) await writeGate(terminal, gateReport, gateFormatOf(gateReport), gate, link);
  if (!json) await say(terminal, `\n${wait ? link : nextSteps(experiment)}`);
  return exitCode;
}

function lastWords(experiment: ExperimentResponse | undefined, file: string, isFunction: boolean): string {
  if (!experiment) return 'Nothing was started.';
  return isFunction
    ? `What is recorded stays, and the run waits for its function. Go on: assay run ${file}   ${nextSteps(experiment)}`
    : `The run goes on in the service. ${nextSteps(experiment)}`;
}

/** Notes of Node.js about the package of the file are of no use to the person at the command. */
function omitPackageNotes({ stderr }: Terminal): void {
  process.removeAllListeners('warning').on('warning', (warning: Error & { code?: string }) => {
    if (warning.code !== 'MODULE_TYPELESS_PACKAGE_JSON') stderr.write(`${warning.name}: ${warning.message}\n`);
  });
}

/** The rows of a file where the words end as one does, else the dataset of that name; in place of what the experiment file says. */
async function chosenDataset({ folder }: Terminal, client: ServiceClient, words: string) {
  const none = { dataset: undefined, datasetId: undefined, datasetName: undefined };
  if (!formatOf(words)) return { ...none, datasetId: (await findDataset(client, words)).id };
  const rows = await readRows(resolve(folder, words));
  if (rows.length === 0) throw usageError(`${words} has no rows: there is nothing to run`);
  return { ...none, dataset: rows };
}

/** The id of the project. One that does not exist is made only where that is asked for: a slip of the pen is no project. */
async function ensureProject(client: ServiceClient, choice: ProjectOptions, create: boolean): Promise<string> {
  if (!create) return findProject(client, choice, ': check the name, or add --create-project to make it');
  try {
    return await resolveProject(client, { projectName: choice.project, projectId: choice.projectId });
  } catch (err) {
    const name = missingProject(err);
    return (await client.send<{ id: string }>('/projects', { body: { name } })).id;
  }
}
