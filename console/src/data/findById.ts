import { queryOptions } from '@tanstack/react-query';
import type { RecordKind } from './records.ts';
import { send } from './service.ts';

/** The record or thing that an id belongs to. */
export interface FoundThing {
  kind: RecordKind | 'project';
  id: string;
  name: string;
  /** Set for a span. */
  traceId: string | undefined;
}

const isId = (text: string): boolean => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);

/** The project, or the record of this project, that has the id; null for none. */
export const byIdQuery = (text: string, projectId: string | undefined) =>
  queryOptions({
    queryKey: ['by id', text, projectId ?? null],
    enabled: isId(text),
    retry: false,
    queryFn: async ({ signal }): Promise<FoundThing | null> => {
      const one = async (kind: FoundThing['kind'], path: string) => {
        const { id, name, trace_id } = await send<{ id: string; name?: string; trace_id?: string }>(path, { signal });
        return { kind, id, name: name || kind, traceId: trace_id };
      };
      const inProject = (['traces', 'spans', 'sessions'] as const).map((kind) =>
        one(kind, `/projects/${projectId}/${kind}/${text}`),
      );
      return Promise.any([one('project', `/projects/${text}`), ...(projectId === undefined ? [] : inProject)]).catch(() => null);
    },
  });
