import { queryOptions } from '@tanstack/react-query';
import type { RecordNode, RecordsQuestion, RunOf } from './records.ts';
import { send } from './service.ts';
import { runOf } from './trace.ts';

/** A session without its traces, and the run that has them. */
export const sessionQuery = (projectId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['session', projectId, sessionId],
    queryFn: async ({ signal }) => {
      const path = `/projects/${projectId}/sessions/${sessionId}`;
      const session = await send<RecordNode>(path, { signal, query: { include_children: false } });
      return { session, run: await runOf(projectId, String(session.run_id)) };
    },
  });

/** The traces of a session in their order, without what they hold. */
export const turnsOf = (run: RunOf, sessionId: string): RecordsQuestion => ({
  ...{ run, kind: 'traces', sort: { column: 'created_at', ascending: true } },
  filter: { filter: { type: 'id', column_id: 'session_id', operator: 'eq', value: sessionId } },
  columns: ['metrics/duration_ns', 'metrics/cost'],
});
