import { experimentLink } from '../../client/experimentLink.ts';
import {
  baselinePicks,
  type GateResult,
  gateExperiment,
  HttpStatusError,
  isBaselinePick,
  runsOfName,
  type ServiceClient,
} from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { type GateFormat, gateExitCodes, gateFormatOf, gateReport } from '../output/gateReport.ts';
import { writeResult } from '../output/resultFile.ts';
import { CommandError, usageError } from '../terminal/commandError.ts';
import { commandErrorOf } from '../terminal/commandErrorOf.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { say, sayJson, type Terminal } from '../terminal/terminal.ts';
import type { WatchOptions } from './watch.ts';

export interface GateOptions extends WatchOptions {
  baseline?: string;
  baselineTag?: { key: string; value: string };
  maxDrop?: Record<string, number>;
  min?: Record<string, number>;
  max?: Record<string, number>;
  maxFailed?: number;
  failedRows?: 'omit' | 'worst';
  level?: number;
  format?: GateFormat;
  output?: string;
}

/** Ends with a status of its own where quality has dropped, and with another where the rows do not decide. */
export async function gate(terminal: Terminal, words: string, options: GateOptions): Promise<ExitCode> {
  const format = options.format ?? (options.output === undefined ? 'text' : gateFormatOf(options.output));
  const { pick, tag, name } = baselineOf(options);
  const metrics = limitsByMetric(options);
  if (Object.keys(metrics).length === 0 && options.maxFailed === undefined)
    throw usageError('there is nothing to check: add --max-drop, --min, --max or --max-failed');
  const client = await connect(terminal, options);
  const experiment = await findExperiment(client, words, options);
  const result = await gateExperiment({
    client,
    projectId: experiment.project_id,
    experimentId: experiment.id,
    ...(name === undefined ? {} : await baselineNamed(client, name, experiment.project_id)),
    baselineTag: tag,
    baselinePick: pick,
    metrics,
    maxFailed: options.maxFailed,
    failedRows: options.failedRows,
    level: options.level,
    signal: terminal.signal,
  }).catch(notEnded);
  const link = experimentLink(client.apiUrl, experiment.project_id, experiment.id);
  if (options.output !== undefined) await writeGate(terminal, options.output, format, result, link);
  if (options.json) await sayJson(terminal, result);
  else await say(terminal, gateReport(options.output === undefined ? format : 'text', result, link));
  return gateExitCodes[result.status];
}

/** Reads `--baseline`: a word for one of the earlier runs, a tag, or an experiment. */
function baselineOf({ baseline, baselineTag }: GateOptions) {
  if (baseline === undefined || isBaselinePick(baseline)) return { pick: baseline, tag: baselineTag };
  const [, key, value] = /^tag:([^=]+)=(.*)$/s.exec(baseline) ?? [];
  if (baseline.startsWith('tag:') && key === undefined)
    throw usageError(`--baseline ${JSON.stringify(baseline)} names no tag: write it as tag:key=value`);
  if (baselineTag) throw usageError('--baseline names an experiment, and --baseline-tag another one: leave one out');
  return key !== undefined && value !== undefined ? { tag: { key, value } } : { name: baseline };
}

/** Leaves the name of a series to the service, which takes its run; anything else is one experiment. */
async function baselineNamed(client: ServiceClient, name: string, projectId: string) {
  const [newest] = await runsOfName(client, projectId, name, 1);
  return newest?.series === name
    ? { baselineName: name }
    : { baselineId: (newest ?? (await findExperiment(client, name, { projectId }, baselinePicks))).id };
}

/** Writes a report beside what the output shows. */
export async function writeGate(
  terminal: Terminal,
  path: string,
  format: GateFormat,
  result: GateResult,
  link: string,
): Promise<void> {
  const lines = async function* () {
    yield `${gateReport(format, result, link)}\n`;
  };
  await writeResult(terminal, path, lines());
}

function limitsByMetric({ maxDrop = {}, min = {}, max = {} }: GateOptions) {
  const names = [...new Set([maxDrop, min, max].flatMap(Object.keys))];
  return Object.fromEntries(names.map((name) => [name, { maxDrop: maxDrop[name], min: min[name], max: max[name] }]));
}

/** An experiment that has not run to its end is no wrong command line. */
export function notEnded(err: unknown): never {
  if (!(err instanceof HttpStatusError) || err.status !== 409) throw err;
  throw new CommandError(exitCodes.runFailed, commandErrorOf(err).message, { cause: err });
}
