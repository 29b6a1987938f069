import { z } from 'zod';
import type { FollowedStates } from '../../shared/concurrency/followedStates.ts';
import type { RunLookup, RunRef } from '../../shared/projects/runs.ts';
import type { OfSorts, RunState } from '../../shared/records/liveRecords.ts';
import { type LiveRecordsEvent, LiveRecordsQuery } from '../../shared/wire/liveRecords.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';
import { eventsReply, headOfEvents, serverEvent } from '../http/serverSentEvents.ts';

export interface LiveRecordDeps {
  findRun: RunLookup;
  live: Pick<FollowedStates<RunRef, RunState>, 'follow'>;
  gate: Gate;
  /** Aborts when the process is about to end. */
  stopping: AbortSignal;
}

/** New records of a run, as they come. */
export const liveRecordRoutes = (deps: LiveRecordDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/live_records',
    summary: 'Follow the records that come to a run',
    description:
      'A stream of server-sent events. An event `records` says by `num_new`, `num_records` and `newest` what came and what the run holds: the first one at once, then one a second at most. Between them come comments. An event `end` says why the stream ends. `Last-Event-ID` goes on from an event.',
    tag: 'Records',
    access: { project: 'read' },
    params: ProjectParams,
    query: LiveRecordsQuery,
    waits: true,
    produces: ['text/event-stream'],
    response: z.string(),
    errors: ['TooManyRequests'],
    async handle({ params, query, caller, request, signal }) {
      const run = await deps.findRun(params.project_id, query);
      if (request.method === 'HEAD') return headOfEvents();
      const seen = countsOfId(request.headers['last-event-id']);
      return eventsReply(
        await deps.live.follow(run, caller.userId),
        (state, before) => recordsEvent(state, before?.counts ?? seen ?? state.counts),
        {
          async mayGoOn() {
            await deps.gate.authorize(
              await deps.gate.authenticate(request, params.project_id),
              { project: 'read' },
              params.project_id,
            );
            await deps.findRun(params.project_id, query);
          },
          ...{ stopping: deps.stopping, signal },
        },
      );
    },
  }),
];

function recordsEvent({ counts, newest }: RunState, before: OfSorts<number>): string {
  const risen = (of: keyof OfSorts<number>) => Math.max(0, counts[of] - before[of]);
  const data: LiveRecordsEvent = {
    num_new: { traces: risen('traces'), spans: risen('spans'), sessions: risen('sessions') },
    num_records: counts,
    newest,
  };
  return serverEvent('records', data, `${counts.traces}-${counts.spans}-${counts.sessions}`);
}

/** The numbers of records that an id of an event says; undefined for what is none of ours. */
function countsOfId(id: string | string[] | undefined): OfSorts<number> | undefined {
  const [, traces, spans, sessions] = /^(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(String(id)) ?? [];
  if (sessions === undefined) return undefined;
  return { traces: Number(traces), spans: Number(spans), sessions: Number(sessions) };
}
