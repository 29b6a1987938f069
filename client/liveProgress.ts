import type { z } from 'zod';
import type { LiveProgressEvent, RunSettingsReply } from '../shared/wire/experimentRuns.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import type { ServiceClient } from './http.ts';
import { type FollowOptions, followEvents } from './serverSentEvents.ts';

/** How far a run is, what its rows fail of, and at which rate it goes on. */
export interface LiveProgress extends LiveProgressEvent {
  /** Where to go on later: `lastEventId` of another call. */
  id: string;
}

export interface LiveProgressOptions extends OperationOptions {
  experimentId: string;
  /** `id` of the last event that was seen: only another one is given. */
  lastEventId?: string | undefined;
}

/**
 * Says again and again how far the run of an experiment is: once at the start, then within about a second after something changed, also when it has ended
 * and is started again. A stream that breaks is opened again, until `signal` aborts (the iteration then ends) or the service refuses.
 * @throws HttpStatusError where the caller may not read the experiment, or not any more; 404 when it is deleted
 */
export async function* liveProgress(options: LiveProgressOptions): AsyncGenerator<LiveProgress, void> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  yield* followProgress(client, { ...options, projectId });
}

export interface FollowProgressOptions extends FollowOptions {
  projectId: string;
  experimentId: string;
}

/** As {@link liveProgress}, of a project that is known by its id. */
export const followProgress = (
  client: ServiceClient,
  { projectId, experimentId, ...options }: FollowProgressOptions,
): AsyncGenerator<LiveProgress, void> =>
  followEvents<LiveProgressEvent>(
    client,
    { path: `${pathOf(projectId, experimentId)}/live_progress`, event: 'progress' },
    options,
  );

/** The runner and settings of a run, with the service's keys in snake_case. */
export type RunSettings = z.output<typeof RunSettingsReply>;

/** Returns what runs the rows of an experiment, at which concurrency and limits, and where Temporal's pages show it. */
export async function getRunSettings(options: OperationOptions & { experimentId: string }): Promise<RunSettings> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  return client.send(`${pathOf(projectId, options.experimentId)}/run`);
}

const pathOf = (projectId: string, experimentId: string): string =>
  `/projects/${encodeURIComponent(projectId)}/experiments/${encodeURIComponent(experimentId)}`;
