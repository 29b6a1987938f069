import { z } from 'zod';
import { onAbort } from '../../shared/concurrency/onAbort.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { RunLookup } from '../../shared/projects/runs.ts';
import type { FollowedRun, LiveRuns, OfSorts, RunState } from '../../shared/records/liveRecords.ts';
import { type LiveRecordsEvent, LiveRecordsQuery } from '../../shared/wire/liveRecords.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, type Gate, Reply } from '../route.ts';

export interface LiveRecordDeps {
  findRun: RunLookup;
  live: Pick<LiveRuns, 'follow'>;
  gate: Gate;
  /** Aborts when the process is about to end. */
  stopping: AbortSignal;
}

/** Milliseconds between two looks at whether the caller may still read, which are also the most between two signs of life. */
const CHECK_MS = 5_000;
/** Milliseconds after which a client that lost its stream asks again. */
const RETRY_MS = 2_000;

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Neither this service nor a proxy holds parts back to compress or to gather them.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

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
      if (request.method === 'HEAD') return new Reply({ body: Buffer.alloc(0), headers });
      const mayGoOn = async () => {
        await deps.gate.authorize(
          await deps.gate.authenticate(request, params.project_id),
          { project: 'read' },
          params.project_id,
        );
        await deps.findRun(params.project_id, query);
      };
      const followed = await deps.live.follow(run, caller.userId);
      const seen = countsOfId(request.headers['last-event-id']);
      return new Reply({ stream: events(followed, seen, { mayGoOn, stopping: deps.stopping, signal }), headers });
    },
  }),
];

interface Until {
  /** @throws ServiceError that says why not */
  mayGoOn(): Promise<void>;
  stopping: AbortSignal;
  /** Aborts when the caller hangs up. */
  signal: AbortSignal;
}

async function* events(followed: FollowedRun, seen: OfSorts<number> | undefined, { mayGoOn, stopping, signal }: Until) {
  using run = followed;
  const ending = new AbortController();
  const unheard = [stopping, signal].map((one) => onAbort(one, () => ending.abort()));
  try {
    let state = run.first;
    yield `retry: ${RETRY_MS}\n\n${recordsEvent(state, seen ?? state.counts)}`;
    while (!signal.aborted) {
      const next = await run.changed(state, CHECK_MS, ending.signal);
      if (stopping.aborted) throw new ServiceError('Unavailable', 'the service is stopping: connect again');
      // Also before an event: what somebody may not read any more is not sent.
      await mayGoOn();
      yield next ? recordsEvent(next, state.counts) : ': nothing new\n\n';
      state = next ?? state;
    }
  } catch (err) {
    if (!(err instanceof ServiceError)) throw err;
    yield event('end', { status: err.status, detail: err.message });
  } finally {
    for (const unhear of unheard) unhear();
  }
}

function recordsEvent({ counts, newest }: RunState, before: OfSorts<number>): string {
  const risen = (of: keyof OfSorts<number>) => Math.max(0, counts[of] - before[of]);
  const data: LiveRecordsEvent = {
    num_new: { traces: risen('traces'), spans: risen('spans'), sessions: risen('sessions') },
    num_records: counts,
    newest,
  };
  return `id: ${counts.traces}-${counts.spans}-${counts.sessions}\n${event('records', data)}`;
}

const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** The numbers of records that an id of an event says; undefined for what is none of ours. */
function countsOfId(id: string | string[] | undefined): OfSorts<number> | undefined {
  const [, traces, spans, sessions] = /^(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(String(id)) ?? [];
  if (sessions === undefined) return undefined;
  return { traces: Number(traces), spans: Number(spans), sessions: Number(sessions) };
}
