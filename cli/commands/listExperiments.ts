import type { ExperimentResponse } from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { experimentPages } from '../lookup/experimentPages.ts';
import { findProject, type ProjectOptions } from '../lookup/findProject.ts';
import { minuteOf, table } from '../output/table.ts';
import { counted, remark, say, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';
import type { ListOptions } from './listProjects.ts';

export interface ListExperimentsOptions extends ListOptions, ProjectOptions {
  limit: number;
}

/** The newest experiments of a project. */
export async function listExperiments(terminal: Terminal, options: ListExperimentsOptions): Promise<void> {
  const client = await connect(terminal, options);
  const projectId = await findProject(client, options);
  const found: ExperimentResponse[] = [];
  for await (const experiment of experimentPages(client, projectId, options.limit + 1, true)) found.push(experiment);
  const shown = found.slice(0, options.limit);
  if (options.json) await sayJson(terminal, shown);
  else if (shown.length === 0) return remark(terminal, 'This project has no experiment yet: make one with assay run FILE');
  else {
    const titles = ['name', 'state', 'rows', 'gate', 'approved', 'created (UTC)', 'id'];
    const columns = titles.map((title) => ({ title, figure: title === 'rows' }));
    await say(terminal, table(columns, shown.map(cellsOf), widthOf(terminal.stdout, terminal.environment)));
  }
  if (found.length > shown.length)
    await remark(terminal, `${counted(shown.length, 'experiment')} shown, the newest; --limit shows more.`);
}

const cellsOf = ({ name, state, num_traces, gate, approved_at, created_at, id }: ExperimentResponse): string[] => [
  ...[name, state, String(num_traces ?? '–'), gate?.status ?? '', approved_at ? 'yes' : ''],
  ...[minuteOf(created_at), id],
];
