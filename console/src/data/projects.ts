import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { User } from '../../../shared/wire/accounts.ts';
import type { LogStream, Project, ProjectCreateResponse } from '../../../shared/wire/projects.ts';
import { send } from './service.ts';

export type ProjectRow = z.output<typeof Project>;
export type LogStreamRow = z.output<typeof LogStream>;

/** Most that a picker or list shows; who has more finds them by name. */
const MOST = 1_000;

/** Projects whose name contains `name`, the last changed first. */
export const projectsQuery = (name: string) =>
  queryOptions({
    queryKey: ['projects', name],
    queryFn: async ({ signal }) => {
      const filters = name === '' ? [] : [{ name: 'name', operator: 'contains', value: name, case_sensitive: false }];
      const body = { filters, sort: { name: 'updated_at', sort_type: 'column', ascending: false } };
      const page = await send<{ projects: ProjectRow[]; paginated: boolean }>('/projects/paginated', {
        ...{ body, signal, repeatable: true },
        query: { limit: MOST, include_counts: true },
      });
      return { projects: page.projects, hasMore: page.paginated };
    },
  });

export const projectQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId],
    queryFn: ({ signal }) => send<ProjectRow>(`/projects/${projectId}`, { signal }),
  });

/** The log stream that the service records calls of the playground in. */
export const PLAYGROUND_STREAM = 'playground';

/** The newest first. That of the playground comes last: pages begin with the first one, and mean what an application logs. */
export const logStreamsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['log streams', projectId],
    queryFn: async ({ signal }) => {
      const page = await send<{ log_streams: LogStreamRow[] }>(`/projects/${projectId}/log_streams/paginated`, {
        ...{ signal, query: { limit: MOST } },
      });
      const isTried = ({ name }: LogStreamRow) => name === PLAYGROUND_STREAM;
      return page.log_streams.toSorted((one, other) => Number(isTried(one)) - Number(isTried(other)));
    },
  });

export const experimentsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['experiments', projectId],
    queryFn: async ({ signal }) => {
      const page = await send<{ experiments: { id: string; name: string; created_at: string }[] }>(
        `/projects/${projectId}/experiments/paginated`,
        { signal, query: { limit: 100 } },
      );
      return page.experiments;
    },
  });

/** When the newest record of each log stream and experiment came, by their ids: null without one. It counts them, so only runs in sight are asked for. */
export const newestRecordsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['newest records', projectId],
    queryFn: async ({ signal }) => {
      const query = { limit: 100, include_counts: true };
      const path = `/projects/${projectId}`;
      type Run = Pick<LogStreamRow, 'id' | 'newest_record_at'>;
      const [{ log_streams }, { experiments }] = await Promise.all([
        send<{ log_streams: Run[] }>(`${path}/log_streams/paginated`, { signal, query }),
        send<{ experiments: Run[] }>(`${path}/experiments/paginated`, { signal, query }),
      ]);
      return new Map([...log_streams, ...experiments].map((run) => [run.id, run.newest_record_at]));
    },
  });

export const createProject = (name: string) => send<z.output<typeof ProjectCreateResponse>>('/projects', { body: { name } });

export const currentUserQuery = queryOptions({
  queryKey: ['current user'],
  queryFn: ({ signal }) => send<z.output<typeof User>>('/current_user', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
