import {
  changeView,
  findView,
  listViews,
  makeView,
  removeView,
  type SavedViewDeps,
  type ShownView,
} from '../../shared/views/savedViews.ts';
import { Message, NoQuery } from '../../shared/wire/common.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { SavedViewParams, SavedViewRequest, SavedViewResponse, SavedViewsResponse } from '../../shared/wire/savedViews.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

const route = { tag: 'Saved views', access: { project: 'read' } } as const;
const path = '/projects/{project_id}/views';
const one = `${path}/{view_id}`;

/** How users show the records of a project. Who sees a project keeps views of their own; sharing one takes the right to change the project. */
export const savedViewRoutes = (deps: SavedViewDeps): Endpoint[] => [
  endpoint({
    ...route,
    method: 'get',
    path,
    summary: 'The views of records that the caller keeps, and those shared in the project',
    params: ProjectParams,
    query: NoQuery,
    response: SavedViewsResponse,
    handle: async ({ project, caller }) => ({ views: (await listViews(deps, caller, project.id)).map(toWire) }),
  }),
  endpoint({
    ...route,
    method: 'post',
    path,
    errors: ['Conflict', 'Forbidden'],
    summary: 'Save a view of records',
    params: ProjectParams,
    body: SavedViewRequest,
    response: SavedViewResponse,
    handle: async ({ project, caller, body }) => toWire(await makeView(deps, caller, project.id, body)),
  }),
  endpoint({
    ...route,
    method: 'get',
    path: one,
    summary: 'A saved view',
    params: SavedViewParams,
    query: NoQuery,
    response: SavedViewResponse,
    handle: async ({ project, caller, params }) => toWire(await findView(deps, caller, project.id, params.view_id)),
  }),
  endpoint({
    ...route,
    method: 'put',
    path: one,
    errors: ['Conflict', 'Forbidden'],
    summary: 'Change a saved view',
    description: 'It is as the body says: what the body leaves out is taken away.',
    params: SavedViewParams,
    body: SavedViewRequest,
    response: SavedViewResponse,
    handle: async ({ project, caller, params, body }) => toWire(await changeView(deps, caller, project.id, params.view_id, body)),
  }),
  endpoint({
    ...route,
    method: 'delete',
    path: one,
    errors: ['Forbidden'],
    summary: 'Delete a saved view',
    params: SavedViewParams,
    response: Message,
    async handle({ project, caller, params }) {
      await removeView(deps, caller, project.id, params.view_id);
      return { message: 'The view was deleted.' };
    },
  }),
];

const toWire = ({ view, mayChange }: ShownView) => ({
  id: view.id,
  project_id: view.projectId,
  name: view.name,
  is_shared: view.isShared,
  created_by: view.createdBy,
  created_at: view.createdAt.toISOString(),
  updated_at: view.updatedAt.toISOString(),
  ...view.content,
  permissions: (['update', 'delete'] as const).map((action) => ({ action, allowed: mayChange })),
});
