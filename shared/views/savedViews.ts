import type { Caller } from '../accounts/permissions.ts';
import { ServiceError } from '../errors/errors.ts';
import type { SavedViewContent, SavedViewRequest } from '../wire/savedViews.ts';

export interface SavedView {
  id: string;
  projectId: string;
  createdBy: string;
  name: string;
  isShared: boolean;
  content: SavedViewContent;
  createdAt: Date;
  updatedAt: Date;
}

export type NewView = Omit<SavedView, 'createdAt' | 'updatedAt'>;

/** Writes throw ServiceError `Conflict` where another view of the same user in the project has the name. */
export interface SavedViewStore {
  /** Those of the user and the shared ones, by name. */
  list(projectId: string, userId: string): Promise<SavedView[]>;
  find(projectId: string, id: string): Promise<SavedView | undefined>;
  /** How many the user has made in the project. */
  count(projectId: string, userId: string): Promise<number>;
  insert(view: NewView): Promise<SavedView>;
  update(view: NewView): Promise<SavedView | undefined>;
  remove(projectId: string, id: string): Promise<boolean>;
}

export interface SavedViewDeps {
  views: SavedViewStore;
  newId: () => string;
  /** True where the caller may change the project, and so the shared views of others. */
  mayUpdate(caller: Caller, projectId: string): Promise<boolean>;
}

/** Views of one user in one project. */
const MAX_VIEWS = 500;

/** A view, and whether the caller may change and delete it. */
export interface ShownView {
  view: SavedView;
  mayChange: boolean;
}

export async function listViews(deps: SavedViewDeps, caller: Caller, projectId: string): Promise<ShownView[]> {
  const [views, mayUpdate] = await Promise.all([deps.views.list(projectId, caller.userId), deps.mayUpdate(caller, projectId)]);
  return views.map((view) => ({ view, mayChange: mayChange(view, caller, mayUpdate) }));
}

/** @throws ServiceError `NotFound` for one that is not there, or that another user keeps to themself. */
export async function findView(deps: SavedViewDeps, caller: Caller, projectId: string, id: string): Promise<ShownView> {
  const view = await deps.views.find(projectId, id);
  if (!view || !(view.isShared || view.createdBy === caller.userId)) throw noView(id);
  return { view, mayChange: mayChange(view, caller, await deps.mayUpdate(caller, projectId)) };
}

/** @throws ServiceError `Forbidden` for a shared one of a caller who may not change the project, `Conflict` for a name of another or beyond 500. */
export async function makeView(
  deps: SavedViewDeps,
  caller: Caller,
  projectId: string,
  asked: SavedViewRequest,
): Promise<ShownView> {
  if (asked.is_shared && !(await deps.mayUpdate(caller, projectId))) throw mayNotShare();
  if ((await deps.views.count(projectId, caller.userId)) >= MAX_VIEWS)
    throw new ServiceError('Conflict', `one user may keep ${MAX_VIEWS} views in a project: delete some first`);
  const view = await deps.views.insert({ id: deps.newId(), projectId, createdBy: caller.userId, ...fieldsOf(asked) });
  return { view, mayChange: true };
}

/** Throws as {@link findView} and {@link makeView}; `Forbidden` for what the caller may see and not change. */
export async function changeView(
  deps: SavedViewDeps,
  caller: Caller,
  projectId: string,
  id: string,
  asked: SavedViewRequest,
): Promise<ShownView> {
  const { view } = await changeable(deps, caller, projectId, id);
  if (asked.is_shared && !(await deps.mayUpdate(caller, projectId))) throw mayNotShare();
  // One that is no longer shared would be lost to all but its maker.
  if (!asked.is_shared && view.createdBy !== caller.userId)
    throw new ServiceError('Forbidden', 'only its maker may keep a view to themself');
  const changed = await deps.views.update({ id, projectId, createdBy: view.createdBy, ...fieldsOf(asked) });
  if (!changed) throw noView(id);
  return { view: changed, mayChange: true };
}

/** Throws as {@link findView}; `Forbidden` for what the caller may see and not change. */
export async function removeView(deps: SavedViewDeps, caller: Caller, projectId: string, id: string): Promise<void> {
  await changeable(deps, caller, projectId, id);
  if (!(await deps.views.remove(projectId, id))) throw noView(id);
}

async function changeable(deps: SavedViewDeps, caller: Caller, projectId: string, id: string): Promise<ShownView> {
  const found = await findView(deps, caller, projectId, id);
  if (!found.mayChange)
    throw new ServiceError('Forbidden', 'a shared view is changed by its maker, and by who may change the project');
  return found;
}

/** A shared view stays within the project's rights also for its maker. */
const mayChange = (view: SavedView, caller: Caller, mayUpdate: boolean): boolean =>
  mayUpdate ? view.isShared || view.createdBy === caller.userId : view.createdBy === caller.userId && !view.isShared;

const fieldsOf = ({ name, is_shared, ...content }: SavedViewRequest) => ({ name, isShared: is_shared, content });
const noView = (id: string): ServiceError => new ServiceError('NotFound', `there is no view ${id} in this project`);
const mayNotShare = (): ServiceError => new ServiceError('Forbidden', 'views are shared by who may change the project');
