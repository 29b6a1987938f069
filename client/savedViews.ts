import type { z } from 'zod';
import type { SavedViewRequest, SavedViewResponse } from '../shared/wire/savedViews.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';

export type SavedView = z.output<typeof SavedViewResponse>;
/** A view as it is saved: `name` and `kind`, and what else it says. */
export type SavedViewFields = z.input<typeof SavedViewRequest>;

type OfView = OperationOptions & { viewId: string };

async function pathOf(options: OperationOptions, viewId?: string) {
  const client = clientOf(options);
  const path = `/projects/${await resolveProject(client, options)}/views`;
  return { client, path: viewId === undefined ? path : `${path}/${encodeURIComponent(viewId)}` };
}

/** The views of records that one keeps in a project, and those shared there, by name. */
export async function listViews(options: OperationOptions = {}): Promise<SavedView[]> {
  const { client, path } = await pathOf(options);
  return (await client.send<{ views: SavedView[] }>(path)).views;
}

/** @throws NotFoundError for one that is not there, or that another user keeps to themself. */
export async function getView(options: OfView): Promise<SavedView> {
  const { client, path } = await pathOf(options, options.viewId);
  return client.send(path);
}

/** @throws HttpStatusError 409 where another view of one's own has the name, 403 for a shared one of who may not change the project. */
export async function saveView(options: OperationOptions & { view: SavedViewFields }): Promise<SavedView> {
  const { client, path } = await pathOf(options);
  return client.send(path, { body: options.view });
}

/** Makes a view as `view` says, whatever it was before. Throws as {@link saveView} and {@link getView}. */
export async function changeView(options: OfView & { view: SavedViewFields }): Promise<SavedView> {
  const { client, path } = await pathOf(options, options.viewId);
  return client.send(path, { method: 'PUT', body: options.view });
}

/** Throws as {@link getView}; HttpStatusError 403 for one that one may not change. */
export async function deleteView(options: OfView): Promise<void> {
  const { client, path } = await pathOf(options, options.viewId);
  await client.send(path, { method: 'DELETE' });
}
