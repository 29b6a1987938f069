import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type ExperimentService, startExperimentService } from '../support/experimentService.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from '../support/postgresServer.ts';

let service: ExperimentService;
beforeAll(async () => {
  service = await startExperimentService();
});
afterAll(() => service[Symbol.asyncDispose]());

const create = (projectId: string, body: Record<string, unknown>) =>
  service.call('POST', `/projects/${projectId}/experiments`, body);
const groupsOf = async (projectId: string, page: Record<string, unknown> = {}) => {
  const { status, body } = await service.call('POST', `/projects/${projectId}/experiment-groups/query`, page);
  expect(status).toBe(200);
  return body;
};

test('a name that the project lacks makes the group, once, however many ask at the same time', async () => {
  const project = await service.project();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => create(project, { name: `e${n}`, experiment_group_name: 'together' })),
  );
  expect(new Set(answers.map((answer) => answer.body.experiment_group_id)).size).toBe(1);
  const { experiment_groups } = await groupsOf(project);
  expect(experiment_groups).toMatchObject([
    {
      id: answers[0]?.body.experiment_group_id,
      name: 'together',
      project_id: project,
      is_system: false,
      experiment_count: 20,
      created_by: service.caller.userId,
      created_by_user: { email: service.caller.email },
      datasets: [],
    },
  ]);
  expect(answers.map((answer) => answer.body.created_at)).toContain(experiment_groups[0].latest_run_date);
});

test('a group belongs to its project', async () => {
  const [here, there] = [await service.project(), await service.project()];
  const one = await create(here, { name: 'a', experiment_group_name: 'shared name' });
  const other = await create(there, { name: 'a', experiment_group_name: 'shared name' });
  expect(other.body.experiment_group_id).not.toBe(one.body.experiment_group_id);
  const foreign = await create(there, { name: 'b', experiment_group_id: one.body.experiment_group_id });
  expect([foreign.status, foreign.body.error_code]).toEqual([404, 3520]);
});

test('the id wins over the name', async () => {
  const project = await service.project();
  const first = await create(project, { name: 'a', experiment_group_name: 'first' });
  const both = await create(project, {
    name: 'b',
    experiment_group_id: first.body.experiment_group_id.toUpperCase(),
    experiment_group_name: 'ignored',
  });
  expect(both.body.experiment_group_name).toBe('first');
  expect((await groupsOf(project)).experiment_groups).toHaveLength(1);
});

test('an unknown id is 404 with error_code 3520, and nothing is created', async () => {
  const project = await service.project();
  const { id, versionIndex } = await service.dataset(`d ${newId()}`, ['input', 'generated_output']);
  for (const trigger of [false, true]) {
    const answer = await create(project, {
      name: 'nowhere',
      trigger,
      dataset: { dataset_id: id, version_index: versionIndex },
      experiment_group_id: newId(),
      experiment_group_name: 'not made either',
    });
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ error_code: 3520, standard_error: { error_code: 3520 } });
  }
  expect((await service.call('GET', `/projects/${project}/experiments`)).body).toEqual([]);
  expect((await groupsOf(project)).experiment_groups).toEqual([]);
});

test('without a group: the group of the dataset, else the one system group', async () => {
  const project = await service.project();
  const { id, versionIndex } = await service.dataset('capitals');
  const dataset = { dataset_id: id, version_index: versionIndex };
  const withDataset = await create(project, { name: 'a', dataset });
  expect(withDataset.body).toMatchObject({
    experiment_group_name: 'capitals Experiment Group',
    experiment_group_is_system: false,
  });
  const without = await create(project, { name: 'b' });
  expect(without.body).toMatchObject({ experiment_group_name: 'Ungrouped', experiment_group_is_system: true });
  const named = await create(project, { name: 'c', experiment_group_name: 'Ungrouped' });
  expect(named.body.experiment_group_id).toBe(without.body.experiment_group_id);
  await create(project, { name: 'd', dataset });
  const { experiment_groups } = await groupsOf(project);
  expect(experiment_groups).toMatchObject([
    { name: 'Ungrouped', is_system: true, experiment_count: 2, created_by: null, created_by_user: null, datasets: [] },
    { name: 'capitals Experiment Group', experiment_count: 2, datasets: [{ id, name: 'capitals' }] },
  ]);
});

test('a long dataset name is cut so that its group name fits', async () => {
  const project = await service.project();
  const name = '𝔘'.repeat(150);
  const { id, versionIndex } = await service.dataset(name);
  const answer = await create(project, { name: 'a', dataset: { dataset_id: id, version_index: versionIndex } });
  const groupName: string = answer.body.experiment_group_name;
  expect(groupName.length).toBeLessThanOrEqual(255);
  expect(groupName.endsWith(' Experiment Group')).toBe(true);
  expect(groupName.isWellFormed()).toBe(true);
});

test.each(['', 'n'.repeat(256)])('a name of %j is refused', async (name) => {
  expect((await create(await service.project(), { name: 'a', experiment_group_name: name })).status).toBe(422);
});

test('the query pages to the end and an empty project has no group', async () => {
  const project = await service.project();
  expect(await groupsOf(project, { starting_token: 0, limit: 100 })).toEqual({
    experiment_groups: [],
    starting_token: 0,
    limit: 100,
    paginated: false,
    next_starting_token: null,
  });
  for (let n = 0; n < 5; n++) await create(project, { name: 'a', experiment_group_name: `g${n}` });
  const names: string[] = [];
  for (let token: number | null = 0; token !== null; ) {
    const page: { experiment_groups: { name: string }[]; next_starting_token: number | null } = await groupsOf(project, {
      starting_token: token,
      limit: 2,
    });
    names.push(...page.experiment_groups.map((group) => group.name));
    token = page.next_starting_token;
  }
  expect(names.sort()).toEqual(['g0', 'g1', 'g2', 'g3', 'g4']);
});

// The embedded store runs one transaction at a time; only a server shows what happens when they meet.
describeWithServer('experiment groups on a Postgres server', postgresProgram, (program) => {
  let server: PostgresServer;
  let onServer: ExperimentService;
  beforeAll(async () => {
    server = await startPostgresServer(program);
    onServer = await startExperimentService(server.url);
  });
  afterAll(async () => {
    await onServer[Symbol.asyncDispose]();
    await server.remove();
  });

  test('creations that meet make one group, and refused ones take none away from them', async () => {
    const project = await onServer.project();
    const { id, versionIndex } = await onServer.dataset('no outputs', ['input']);
    const dataset = { dataset_id: id, version_index: versionIndex };
    const key = { 'Idempotency-Key': newId() };
    const path = `/projects/${project}/experiments`;
    for (let round = 0; round < 10; round++) {
      const experiment_group_name = `round ${round}`;
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          onServer.call('POST', path, { name: 'met', experiment_group_name, ...(n % 2 ? { dataset, trigger: true } : {}) }),
        ),
      );
      expect(answers.map((answer) => answer.status)).toEqual(answers.map((_, n) => (n % 2 ? 422 : 200)));
      const made = answers.filter((answer) => answer.status === 200);
      expect(new Set(made.map((answer) => answer.body.experiment_group_id)).size).toBe(1);
    }
    const repeated = await Promise.all(Array.from({ length: 8 }, () => onServer.call('POST', path, { name: 'once' }, key)));
    expect(new Set(repeated.map((answer) => answer.body.id)).size).toBe(1);
    const all = await onServer.call('GET', path);
    expect(all.body).toHaveLength(61);
    const groups = await onServer.call('POST', `/projects/${project}/experiment-groups/query`, {});
    expect(groups.body.experiment_groups).toHaveLength(11);
  });
});
