import { approveExperiment } from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { say, sayJson, type Terminal } from '../terminal/terminal.ts';
import { notEnded } from './gate.ts';
import type { WatchOptions } from './watch.ts';

export interface ApproveOptions extends WatchOptions {
  revoke?: boolean;
}

/** Makes an experiment one that later runs of its series may be held against, or takes that back. */
export async function approve(terminal: Terminal, words: string, options: ApproveOptions): Promise<void> {
  const client = await connect(terminal, options);
  const { id, name, project_id: projectId, series } = await findExperiment(client, words, options);
  const approved = options.revoke !== true;
  await approveExperiment({ client, projectId, experimentId: id, approved, signal: terminal.signal }).catch(notEnded);
  if (options.json) await sayJson(terminal, { id, name, series, approved });
  else
    await say(
      terminal,
      approved
        ? `${JSON.stringify(name)} is approved: gates with --baseline approved hold later runs of ${JSON.stringify(series)} against it`
        : `${JSON.stringify(name)} is not approved any more`,
    );
}
