import { compareExperiments } from '../../client/index.ts';
import { figureText } from '../../shared/figures/figureText.ts';
import { connect } from '../credentials/connect.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { unitOf } from '../output/resultsText.ts';
import { table } from '../output/table.ts';
import { usageError } from '../terminal/commandError.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { say, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';
import type { WatchOptions } from './watch.ts';

export interface CompareOptions extends WatchOptions {
  metric?: string[];
}

/** Says whether the second experiment is better than the first, by each metric: a sentence, then the figures. */
export async function compare(terminal: Terminal, baseline: string, other: string, options: CompareOptions): Promise<ExitCode> {
  const client = await connect(terminal, options);
  const [one, two] = [await findExperiment(client, baseline, options), await findExperiment(client, other, options)];
  if (one.id === two.id)
    throw usageError(`${JSON.stringify(baseline)} and ${JSON.stringify(other)} are one experiment: name two that differ`);
  const found = await compareExperiments({
    client,
    projectId: one.project_id,
    baselineId: one.id,
    experimentIds: [two.id],
    metrics: options.metric,
    signal: terminal.signal,
  });
  if (options.json) {
    await sayJson(terminal, found);
    return exitCodes.done;
  }
  for (const line of [...found.warnings, ...found.comparisons.map(({ sentence }) => sentence)]) await say(terminal, line);
  const columns = ['baseline', 'this', 'difference', 'from', 'to', 'p', 'pairs'].map((title) => ({ title, figure: true }));
  const rows = found.comparisons.map(
    ({ metric, baseline_mean, mean, difference, interval, p_adjusted, rows: pairs, verdict }) => [
      metric,
      ...[baseline_mean, mean, difference, interval?.low, interval?.high].map((value) => figureText(value, unitOf(metric))),
      ...[p_adjusted, pairs].map((value) => figureText(value, null)),
      verdict ?? 'differs',
    ],
  );
  const width = widthOf(terminal.stdout, terminal.environment);
  await say(terminal, `\n${table([{ title: 'metric' }, ...columns, { title: 'verdict' }], rows, width)}`);
  return exitCodes.done;
}
