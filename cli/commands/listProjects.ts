import { listProjects as projectsOf } from '../../client/index.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { minuteOf, table } from '../output/table.ts';
import { remark, say, sayJson, type Terminal, widthOf } from '../terminal/terminal.ts';

export interface ListOptions extends ServiceOptions {
  json?: boolean;
}

/** The projects that the caller can read. */
export async function listProjects(terminal: Terminal, options: ListOptions): Promise<void> {
  const client = await connect(terminal, options);
  const found = await projectsOf({ client, signal: terminal.signal }).all();
  if (options.json) return sayJson(terminal, found);
  if (found.length === 0) return remark(terminal, 'There is no project yet: assay run FILE --create-project makes one.');
  const rows = found.map(({ name, id, created_at, description }) => [name, id, minuteOf(created_at), description ?? '']);
  const columns = ['name', 'id', 'created (UTC)', 'description'].map((title) => ({ title }));
  await say(terminal, table(columns, rows, widthOf(terminal.stdout, terminal.environment)));
}
