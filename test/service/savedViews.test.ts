import { afterAll, beforeAll, expect, test } from 'vitest';
import { changeView, deleteView, getView, listViews, saveView } from '../../client/savedViews.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { made, newAccount } from '../support/authorization/callers.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

const failures = {
  name: 'failures',
  kind: 'traces' as const,
  filter_tree: {
    or: [
      { filter: { type: 'number' as const, column_id: 'status_code', operator: 'gte' as const, value: 400 } },
      { not: { filter: { type: 'text' as const, column_id: 'name', operator: 'contains' as const, value: 'ok' } } },
    ],
  },
  ...{ start: '24h', end: '2026-03-01T10:00', columns: ['name', 'metrics/x', 'user_metadata/a b'] },
  sort: { column_id: 'created_at', ascending: true },
};

test('a view comes back as it was saved, is replaced, and goes', async () => {
  const { client, project } = service;
  const of = { client, projectId: (await project()).id };
  const saved = await saveView({ ...of, view: failures });
  expect(saved).toMatchObject({ ...failures, is_shared: false, project_id: of.projectId });
  expect(await getView({ ...of, viewId: saved.id })).toEqual(saved);
  const plain = await changeView({ ...of, viewId: saved.id, view: { name: 'all', kind: 'spans' } });
  expect(plain).toMatchObject({ id: saved.id, name: 'all', filter_tree: null, start: null, columns: null, sort: null });
  const another = await saveView({ ...of, view: failures });
  expect((await listViews(of)).map(({ name }) => name)).toEqual(['all', 'failures']);
  await expect(saveView({ ...of, view: failures })).rejects.toMatchObject({ status: 409 });
  await expect(changeView({ ...of, viewId: saved.id, view: failures })).rejects.toMatchObject({ status: 409 });
  await deleteView({ ...of, viewId: another.id });
  await expect(deleteView({ ...of, viewId: another.id })).rejects.toMatchObject({ status: 404 });
  expect(await listViews(of)).toHaveLength(1);
});

test("a private view is its maker's alone, a shared one everybody's who sees the project", async () => {
  const { client, project, request } = service;
  const { id } = await project();
  const of = { client, projectId: id };
  const [viewer, outsider] = [await newAccount(service, 'user'), await newAccount(service, 'user')];
  await made(service, `/projects/${id}/users`, [{ user_id: viewer.id, role: 'viewer' }]);
  const mine = await saveView({ ...of, view: failures });
  const ours = await saveView({ ...of, view: { ...failures, name: 'ours', is_shared: true } });
  const ask = async (account: typeof viewer, method: string, path: string, body?: object) =>
    request(method, `/projects/${id}/views${path}`, body, { 'Service-API-Key': '', ...account.headers });

  const own = await ask(viewer, 'POST', '', failures);
  expect(own.status, JSON.stringify(own.body)).toBe(200);
  const { views } = (await ask(viewer, 'GET', '')).body as { views: { name: string; permissions: { allowed: boolean }[] }[] };
  expect(views.map(({ name, permissions }) => [name, ...permissions.map(({ allowed }) => allowed)])).toEqual([
    ['failures', true, true],
    ['ours', false, false],
  ]);
  expect((await ask(viewer, 'GET', `/${mine.id}`)).status).toBe(404);
  expect((await ask(viewer, 'PUT', `/${ours.id}`, failures)).status).toBe(403);
  expect((await ask(viewer, 'DELETE', `/${ours.id}`)).status).toBe(403);
  expect((await ask(viewer, 'POST', '', { ...failures, name: 'x', is_shared: true })).status).toBe(403);
  expect((await ask(outsider, 'GET', '')).status).toBe(404);
  const elsewhere = await project();
  expect((await request('GET', `/projects/${elsewhere.id}/views/${ours.id}`)).status).toBe(404);
});

test('what no search would take is not saved', async () => {
  const { project, request } = service;
  const { id } = await project();
  const refused = async (change: object) => (await request('POST', `/projects/${id}/views`, { ...failures, ...change })).status;
  expect(await refused({ start: 'yesterday' })).toBe(422);
  expect(await refused({ filter_tree: { filter: { type: 'number', column_id: 'x', operator: 'near', value: 1 } } })).toBe(422);
  expect(await refused({ kind: 'rows' })).toBe(422);
  expect(await refused({ name: ' ' })).toBe(422);
  expect((await request('GET', `/projects/${id}/views/${newId()}`)).status).toBe(404);
});
