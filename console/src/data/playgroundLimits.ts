import { queryOptions } from '@tanstack/react-query';
import type { PlaygroundLimitsResponse } from '../../../shared/wire/playgroundLimits.ts';
import { queryClient, send } from './service.ts';

const REFRESH_MS = 10_000;

export const hasLimit = (limits: PlaygroundLimitsResponse): boolean =>
  limits.most_calls !== null || limits.most_cost_per_day !== null;

/** The limits of a project's playground with what is used. Others use them up, too: they are asked for again while a page shows them. */
export const playgroundLimitsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['playground limits', projectId],
    queryFn: ({ signal }) => send<PlaygroundLimitsResponse>(`/projects/${projectId}/playground_limits`, { signal }),
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data && hasLimit(state.data) ? REFRESH_MS : false),
  });

export const refreshPlaygroundLimits = (projectId: string) =>
  queryClient.invalidateQueries({ queryKey: playgroundLimitsQuery(projectId).queryKey });

/** @param limits a text that is no number goes as it is, and is refused */
export async function setPlaygroundLimits(
  projectId: string,
  limits: Record<'most_calls' | 'most_cost_per_day', number | string | null>,
): Promise<void> {
  const changed = await send<PlaygroundLimitsResponse>(`/projects/${projectId}/playground_limits`, {
    method: 'PUT',
    body: limits,
  });
  queryClient.setQueryData(playgroundLimitsQuery(projectId).queryKey, changed);
}
