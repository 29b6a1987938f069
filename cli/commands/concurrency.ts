import { connect } from '../credentials/connect.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { counted, say, sayJson, type Terminal } from '../terminal/terminal.ts';
import type { WatchOptions } from './watch.ts';

/** Changes how many rows of a run are in flight at a time. */
export async function concurrency(terminal: Terminal, words: string, rows: number, options: WatchOptions): Promise<void> {
  const client = await connect(terminal, options);
  const { id, name, project_id: projectId } = await findExperiment(client, words, options);
  const run = await client.send<{ concurrency: number; state: string }>(`/projects/${projectId}/experiments/${id}/concurrency`, {
    body: { concurrency: rows },
    signal: terminal.signal,
  });
  if (options.json) await sayJson(terminal, { id, name, state: run.state, concurrency: run.concurrency });
  else await say(terminal, `${JSON.stringify(name)} runs at most ${counted(run.concurrency, 'row')} at a time.`);
}
