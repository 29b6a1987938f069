import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDataset } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { made, newOwner } from '../support/authorization/callers.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

interface Scorer {
  id: string;
  name: string;
  is_global: boolean;
  scope_projects: { id: string; name: string }[];
}
interface Projects {
  projects: { id: string; name: string; num_logstreams: number; num_experiments: number; created_by_user: { email: string } }[];
  total_count: number;
  next_starting_token: number | null;
}

const judge = (headers: Record<string, string>, projects: string | string[], name = newId()) =>
  made<Scorer>(service, '/scorers', { name, scorer_type: 'llm', project_ids: [projects].flat() }, headers);
const stream = async (project: string) =>
  (await made<{ id: string }>(service, `/projects/${project}/log_streams`, { name: newId() })).id;
const experiment = async (project: string) =>
  (await made<{ id: string }>(service, `/projects/${project}/experiments`, { name: newId() })).id;
const enable = (project: string, run: string, scorer: object) =>
  made(service, `/projects/${project}/runs/${run}/scorer-settings`, {
    run_id: run,
    scorers: [{ scorer_type: 'llm', ...scorer }],
  });

test('a scorer moves to other projects, and those who see only the former ones do not see it any more', async () => {
  const [ada, ben] = [await newOwner(service), await newOwner(service)];
  await ada.ask('POST', `/projects/${ada.project}/users`, [{ user_email: ben.email, role: 'viewer' }]);
  const scorer = await judge(ada.headers, ada.project);
  expect((await ben.ask('GET', `/scorers/${scorer.id}`)).status).toBe(200);
  const other = (await made<{ id: string; name: string }>(service, '/projects', { name: newId() }, ada.headers)) as {
    id: string;
    name: string;
  };
  const moved = await ada.ask('PUT', `/scorers/${scorer.id}/scope`, { is_global: false, project_ids: [other.id, other.id] });
  expect(moved.body).toMatchObject({ is_global: false, scope_projects: [{ id: other.id, name: other.name }] });
  expect((await ben.ask('GET', `/scorers/${scorer.id}`)).status).toBe(404);
  // Only editors of a project move a scorer into it or out of it.
  const theirs = await ada.ask('PUT', `/scorers/${scorer.id}/scope`, { is_global: false, project_ids: [ben.project] });
  expect(theirs.status).toBe(404);
});

test('only administrators make a scorer global, and its name must be free there', async () => {
  const ada = await newOwner(service);
  const name = newId();
  const scorer = await judge(ada.headers, ada.project, name);
  const global = { is_global: true };
  expect((await ada.ask('PUT', `/scorers/${scorer.id}/scope`, global)).status).toBe(403);
  const widened = await service.request('PUT', `/scorers/${scorer.id}/scope`, { ...global, project_ids: null });
  expect(widened.body).toMatchObject({ is_global: true, scope_projects: [] });
  expect((await (await newOwner(service)).ask('GET', `/scorers/${scorer.id}`)).status).toBe(200);

  const ben = await newOwner(service);
  await service.request('PUT', `/scorers/${scorer.id}/scope`, { is_global: false, project_ids: [ada.project] });
  const second = await judge(ben.headers, ben.project, name);
  expect((await service.request('PUT', `/scorers/${scorer.id}/scope`, global)).status).toBe(200);
  expect((await service.request('PUT', `/scorers/${second.id}/scope`, global)).status).toBe(409);
});

test('a scope that makes no sense is refused, and a built-in metric has no other', async () => {
  const ada = await newOwner(service);
  const scorer = await judge(ada.headers, ada.project);
  const set = async (body: object) => (await ada.ask('PUT', `/scorers/${scorer.id}/scope`, body)).status;
  expect(await set({ is_global: true, project_ids: [ada.project] })).toBe(422);
  expect(await set({ is_global: false })).toBe(422);
  expect(await set({ project_ids: [ada.project] })).toBe(422);
  const filters = [{ name: 'name', operator: 'eq', value: 'correctness' }];
  const { scorers } = (await service.request('POST', '/scorers/list', { filters })).body as { scorers: Scorer[] };
  const builtIn = { is_global: false, project_ids: [ada.project] };
  expect((await service.request('PUT', `/scorers/${scorers[0]?.id}/scope`, builtIn)).status).toBe(403);
});

test('a run of another project takes no scorer that is limited, and keeps one that it has', async () => {
  const [ada, ben] = [await newOwner(service), await newOwner(service)];
  const other = ben.project;
  const prompt = { user_prompt: 'Is it good? {{output}}' };
  const scorer = await judge(ada.headers, ada.project);
  await made(service, `/scorers/${scorer.id}/version/llm`, prompt);
  const run = await stream(other);
  const dataset = await createDataset({
    client: service.client,
    projectId: other,
    name: newId(),
    content: [{ input: 'a', generated_output: 'b' }],
  });
  const uses = { scorers: [{ id: scorer.id, name: scorer.name, scorer_type: 'llm' }] };
  const { id: measured } = await made<{ id: string }>(service, `/projects/${other}/experiments`, {
    ...{ name: newId(), dataset: { dataset_id: dataset.id, version_index: 1 } },
  });
  const job = { project_id: other, run_id: measured, job_name: 'playground_run' };
  const ways: [method: string, path: string, body: object][] = [
    ['POST', `/projects/${other}/runs/${run}/scorer-settings`, { run_id: run, ...uses }],
    ['PATCH', `/projects/${other}/log_streams/${run}/metric_settings`, uses],
    ['POST', '/jobs', { ...job, scorers: [{ name: scorer.name }] }],
    ['POST', `/projects/${other}/experiments`, { name: newId(), ...uses }],
    ['POST', '/jobs', { ...job, ...uses }],
    ['POST', `/projects/${other}/experiments/estimate`, { dataset: { dataset_id: dataset.id }, ...uses }],
    ['POST', `/projects/${other}/recompute_metrics`, { log_stream_id: run, scorer_ids: [scorer.id] }],
  ];
  for (const [method, path, body] of ways) {
    const answer = await service.request(method, path, body);
    expect([path, answer.status, JSON.stringify(answer.body)]).toEqual([
      ...[path, 422, expect.stringContaining('is limited to other projects; PUT /v2/scorers/')],
    ]);
  }

  // The other project's own scorer of the same name is not mistaken for it.
  const own = await judge(ben.headers, other, scorer.name);
  await made(service, `/scorers/${own.id}/version/llm`, prompt);
  await made(service, '/jobs', { ...job, scorers: [{ name: scorer.name }] });
  const settings = await service.request('GET', `/projects/${other}/experiments/${measured}/metric_settings`);
  expect(settings.body).toMatchObject({ scorers: [{ id: own.id }] });

  // The same name in a job that scores what is stored, and in what another scorer requires.
  await made(service, '/jobs', { project_id: other, run_id: run, prompt_scorer_settings: { scorer_name: scorer.name } });
  const requiring = await made<{ required_metric_ids: string[] }>(service, '/scorers', {
    ...{ name: newId(), scorer_type: 'llm', project_ids: [other], required_scorers: [scorer.name] },
  });
  expect(requiring.required_metric_ids).toEqual([own.id]);

  const third = (await made<{ id: string }>(service, '/projects', { name: newId() }, ben.headers)).id;
  expect((await ben.ask('PUT', `/scorers/${own.id}/scope`, { is_global: false, project_ids: [third] })).status).toBe(200);
  const kept = { scorers: [{ id: own.id, scorer_type: 'llm' }] };
  const again = await service.request('PATCH', `/projects/${other}/experiments/${measured}/metric_settings`, kept);
  expect(again.body).toMatchObject({ scorers: [{ id: own.id }] });
  const elsewhere = await service.request('PATCH', `/projects/${other}/log_streams/${await stream(other)}/metric_settings`, kept);
  expect(elsewhere.status).toBe(422);
});

test('nor does it take one that requires a scorer which is limited to other projects', async () => {
  const ada = await newOwner(service);
  const other = (await made<{ id: string }>(service, '/projects', { name: newId() }, ada.headers)).id;
  const limited = await judge(ada.headers, ada.project);
  const prompt = { user_prompt: 'Is it good? {{output}}' };
  await made(service, `/scorers/${limited.id}/version/llm`, prompt);
  const needs = { name: newId(), scorer_type: 'llm', required_scorers: [limited.name] };
  const inOther = await ada.ask('POST', '/scorers', { ...needs, project_ids: [other] });
  expect([inOther.status, JSON.stringify(inOther.body)]).toEqual([422, expect.stringContaining('is limited to other projects')]);

  const both = await made<Scorer>(service, '/scorers', { ...needs, project_ids: [ada.project] }, ada.headers);
  await made(service, `/scorers/${both.id}/version/llm`, prompt);
  await enable(ada.project, await stream(ada.project), { id: both.id });
  expect(
    (await ada.ask('PUT', `/scorers/${both.id}/scope`, { is_global: false, project_ids: [ada.project, other] })).status,
  ).toBe(200);
  const run = await stream(other);
  const uses = { run_id: run, scorers: [{ id: both.id, scorer_type: 'llm' }] };
  const refused = await ada.ask('POST', `/projects/${other}/runs/${run}/scorer-settings`, uses);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    ...[422, expect.stringMatching(/requires .* is limited to other projects/)],
  ]);
  await ada.ask('PUT', `/scorers/${limited.id}/scope`, { is_global: false, project_ids: [ada.project, other] });
  expect((await ada.ask('POST', `/projects/${other}/runs/${run}/scorer-settings`, uses)).status).toBe(200);
});

test('the projects of a scorer are those with runs that have it switched on, of a version those that compute with it', async () => {
  const ada = await newOwner(service);
  const second = (await made<{ id: string }>(service, '/projects', { name: newId() }, ada.headers)).id;
  const scorer = await judge(ada.headers, [ada.project, second]);
  const prompt = { user_prompt: 'Is it good? {{output}}' };
  const first = await made<{ id: string; version: number }>(service, `/scorers/${scorer.id}/version/llm`, prompt);
  const newest = await made<{ id: string }>(service, `/scorers/${scorer.id}/version/llm`, prompt);
  await enable(ada.project, await stream(ada.project), { id: scorer.id });
  await enable(ada.project, await experiment(ada.project), { id: scorer.id });
  const pinned = await stream(second);
  await enable(second, pinned, { id: scorer.id, scorer_version: { id: first.id, version: 1, scorer_id: scorer.id } });

  const at = async (path: string) => (await ada.ask('GET', path)).body as Projects;
  const all = await at(`/scorers/${scorer.id}/projects`);
  expect(all).toMatchObject({ total_count: 2, next_starting_token: null });
  expect(all.projects).toMatchObject([
    { id: second, num_logstreams: 1, num_experiments: 0, created_by_user: { email: ada.email } },
    { id: ada.project, num_logstreams: 1, num_experiments: 1 },
  ]);
  expect(await at(`/scorers/${scorer.id}/projects?limit=1`)).toMatchObject({
    ...{ projects: [{ id: second }], total_count: 2, next_starting_token: 1 },
  });
  expect(await at(`/scorers/versions/${first.id}/projects`)).toMatchObject({ total_count: 1, projects: [{ id: second }] });
  expect(await at(`/scorers/versions/${newest.id}/projects`)).toMatchObject({ total_count: 1, projects: [{ id: ada.project }] });
  expect((await ada.ask('GET', `/scorers/versions/${newId()}/projects`)).status).toBe(404);

  // A project that the caller does not see is not counted.
  const ben = await newOwner(service);
  await ada.ask('POST', `/projects/${ada.project}/users`, [{ user_email: ben.email, role: 'viewer' }]);
  expect((await ben.ask('GET', `/scorers/${scorer.id}/projects`)).body).toMatchObject({
    ...{ total_count: 1, projects: [{ id: ada.project }] },
  });
});
