import type { LiveRecordsEvent } from '../shared/wire/liveRecords.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import type { ServiceClient } from './http.ts';
import { type RunChoice, runOf } from './recordChoice.ts';
import { type FollowOptions, followEvents } from './serverSentEvents.ts';

/** The records that came to a run since the event before, and those it holds. */
export interface LiveRecords extends LiveRecordsEvent {
  /** Where to go on later: `lastEventId` of another call. */
  id: string;
}

export interface LiveRecordsOptions extends OperationOptions, RunChoice {
  /** `id` of the last event that was seen; absent: from now on. */
  lastEventId?: string | undefined;
}

/**
 * Says again and again how many records came to a run: once at the start, then about a second after they came. A stream that breaks is opened again where
 * it stopped, until `signal` aborts (the iteration then ends) or the service refuses.
 * @throws ValueError unless exactly one run is given; HttpStatusError where the caller may not read the run, or not any more.
 */
export async function* liveRecords(options: LiveRecordsOptions): AsyncGenerator<LiveRecords, void> {
  const run = runOf(options);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  yield* followRun(client, { ...options, projectId, run });
}

export interface FollowRunOptions extends FollowOptions {
  projectId: string;
  run: Record<string, string | undefined>;
}

/** As {@link liveRecords}, of a project and run that are known by their ids. */
export const followRun = (
  client: ServiceClient,
  { projectId, run, ...options }: FollowRunOptions,
): AsyncGenerator<LiveRecords, void> =>
  followEvents<LiveRecordsEvent>(
    client,
    { path: `/projects/${encodeURIComponent(projectId)}/live_records`, query: run, event: 'records' },
    options,
  );
