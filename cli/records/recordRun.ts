import { readEnvironment } from '../../client/environment.ts';
import { listLogStreams, type ServiceClient } from '../../client/index.ts';
import { closestHint } from '../lookup/closest.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { findProject, type ProjectOptions } from '../lookup/findProject.ts';
import { notFound, usageError } from '../terminal/commandError.ts';

export const recordKinds = ['trace', 'span', 'session'] as const;
export type RecordKind = (typeof recordKinds)[number];

export interface RunOptions extends ProjectOptions {
  logStream?: string;
  logStreamId?: string;
  experiment?: string;
}

/** The log stream or experiment whose records a command reads. */
export interface RecordRun {
  /** The path of the project. */
  path: string;
  projectId: string;
  selector: { log_stream_id: string } | { experiment_id: string };
}

/**
 * The experiment or log stream that is named on the command line, else the stream of the environment, else the only one of the project.
 * @throws CommandError that names the streams there are
 */
export async function recordRun(client: ServiceClient, options: RunOptions): Promise<RecordRun> {
  if (options.experiment) {
    const { id, project_id } = await findExperiment(client, options.experiment, options);
    return { path: `/projects/${project_id}`, projectId: project_id, selector: { experiment_id: id } };
  }
  const projectId = await findProject(client, options);
  const of = (log_stream_id: string): RecordRun => ({ path: `/projects/${projectId}`, projectId, selector: { log_stream_id } });
  const environment = readEnvironment();
  const byOption = options.logStream ?? options.logStreamId;
  const name = (options.logStream ?? (byOption ? undefined : environment.logStream))?.trim();
  const id = options.logStreamId ?? (byOption ? undefined : environment.logStreamId);
  const streams = await listLogStreams({ client, projectId }).all();
  const names = streams.map((stream) => JSON.stringify(stream.name)).join(', ');
  if (name || id) {
    const found =
      streams.find((stream) => (id ? stream.id === id : stream.name === name)) ?? streams.find((stream) => stream.id === name);
    if (found) return of(found.id);
    throw notFound(
      `there is no log stream ${JSON.stringify(id ?? name)} in this project${closestHint(
        id ?? name ?? '',
        streams.map((stream) => stream.name),
      )}${names && `; it has ${names}`}`,
    );
  }
  const [only, ...others] = streams;
  if (!only) throw notFound('this project has no log stream yet: log to one, or name an experiment with --experiment');
  if (others.length > 0) throw usageError(`this project has several log streams: name one of ${names} with --log-stream`);
  return of(only.id);
}
