import { z } from 'zod';
import { SessionCreateRequest, SessionCreateResponse } from '../../shared/recordSchemas/ingest.ts';
import { StoredSession } from '../../shared/recordSchemas/storedRecords.ts';
import { readSession, readSessionAlone } from '../../shared/records/read.ts';
import { openSession } from '../../shared/records/sessions.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { deleteRoute } from '../records/deleteRoute.ts';
import { ReadSessionQuery, type RecordDeps } from '../records/loggedRecords.ts';

const tag = 'Records';

/** Sessions, and the probe by which a client finds the fast ingest routes. */
export const sessionRoutes = (deps: RecordDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/sessions',
    summary: 'Open a session',
    description: 'The same `external_id` in the same run is the same session; it is answered as it was first opened.',
    tag,
    access: { project: 'log_data' },
    bodyKind: 'records',
    params: ProjectParams,
    body: SessionCreateRequest,
    response: SessionCreateResponse,
    async handle({ project, body, caller }) {
      const run = await deps.ingestRun(project.id, body, caller.userId);
      const session = await openSession(deps.writer, deps.reading.reader.record, run, {
        name: body.name,
        previousSessionId: body.previous_session_id,
        externalId: body.external_id,
        metadata: { ...body.kept, ...body.user_metadata },
      });
      return {
        id: session.id,
        name: session.name ?? null,
        project_id: project.id,
        project_name: project.name,
        previous_session_id: session.previous_session_id ?? null,
        external_id: session.external_id ?? null,
      };
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/sessions/{session_id}',
    summary: 'A session with its traces, each with its spans',
    tag,
    access: { project: 'read' },
    params: ProjectParams.extend({ session_id: Uuid }),
    query: ReadSessionQuery,
    response: StoredSession,
    async handle({ params, project, query }) {
      const read = query.include_children ? readSession : readSessionAlone;
      return new Reply({ body: await read(deps.reading, project.id, params.session_id) });
    },
  }),
  deleteRoute(deps, 'sessions', ['session'], 'A session goes with its traces and their spans.'),
  endpoint({
    method: 'get',
    path: '/ingest/healthz',
    summary: 'Whether the fast ingest routes are served',
    tag: 'Health',
    access: 'public',
    response: z.object({ status: z.literal('ok') }),
    handle: async () => ({ status: 'ok' as const }),
  }),
];
