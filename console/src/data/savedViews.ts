import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { SavedViewRequest, SavedViewResponse } from '../../../shared/wire/savedViews.ts';
import { queryClient, send } from './service.ts';

export type SavedView = z.output<typeof SavedViewResponse>;
export type SavedViewFields = z.input<typeof SavedViewRequest>;

/** The views that the account keeps in a project and those that are shared there, by name. */
export const viewsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['views', projectId],
    queryFn: async ({ signal }) => (await send<{ views: SavedView[] }>(`/projects/${projectId}/views`, { signal })).views,
  });

/** Saves a new view, or one that is there as `view` says. */
export async function saveView(projectId: string, view: SavedViewFields, viewId?: string): Promise<SavedView> {
  const path = `/projects/${projectId}/views`;
  const saved = await (viewId === undefined
    ? send<SavedView>(path, { body: view })
    : send<SavedView>(`${path}/${viewId}`, { method: 'PUT', body: view }));
  await queryClient.invalidateQueries({ queryKey: ['views', projectId] });
  return saved;
}
