import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { exampleTemplates } from '../../shared/prompts/exampleTemplates.ts';
import { made, newAccount, only } from '../support/authorization/callers.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

interface Project {
  id: string;
  created_by: string;
  created_by_user: { email: string };
  permissions: { action: string; allowed: boolean }[];
}

test('an administrator makes a project for somebody else, who owns it', async () => {
  const ada = await newAccount(service, 'user');
  const project = await made<Project>(service, '/projects', { name: newId(), created_by: ada.id });
  expect(project.created_by).toBe(ada.id);
  const seen = (await service.request('GET', `/projects/${project.id}`, undefined, only(ada.headers))).body as Project;
  expect(seen.created_by_user.email).toBe(ada.email);
  expect(seen.permissions.find(({ action }) => action === 'share')?.allowed).toBe(true);
});

test('nobody else makes a project for another user, and nobody one for a user who may own none', async () => {
  const [ada, ben, reader] = [
    await newAccount(service, 'user'),
    await newAccount(service, 'user'),
    await newAccount(service, 'read_only'),
  ];
  const ask = (created_by: string, headers?: Record<string, string>) =>
    service.request('POST', '/projects', { name: newId(), created_by }, headers && only(headers));
  expect((await ask(ben.id, ada.headers)).status).toBe(403);
  expect((await ask(ada.id, ada.headers)).status).toBe(200);
  const unknown = await ask(newId());
  expect([unknown.status, JSON.stringify(unknown.body)]).toEqual([422, expect.stringContaining('no user has this id')]);
  const refused = await ask(reader.id);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('the role read_only')]);
  expect((await service.request('DELETE', `/users/${ben.id}`)).status).toBe(204);
  expect((await ask(ben.id)).status).toBe(422);
});

test('a project begins with example templates where they are asked for, which are its owner’s and can be rendered', async () => {
  const ada = await newAccount(service, 'user');
  const templatesOf = async (project: Project) =>
    (await service.request('GET', `/projects/${project.id}/templates`, undefined, only(ada.headers))).body as {
      name: string;
      template: string;
      created_by_user: { email: string };
    }[];
  const first = { name: newId(), create_example_templates: true };
  const project = await made<Project>(service, '/projects', first, ada.headers);
  const templates = await templatesOf(project);
  expect(templates.map(({ name }) => name).sort()).toEqual(exampleTemplates.map(({ name }) => name).sort());
  for (const { template, created_by_user } of templates) {
    expect(created_by_user.email).toBe(ada.email);
    const data = { input_strings: [JSON.stringify({ input: 'the question', context: 'the text' })] };
    const rendered = await made<{ rendered_templates: { result: string; warning: string | null }[] }>(
      service,
      '/render_template',
      {
        ...{ template, data },
      },
    );
    expect(rendered.rendered_templates[0]).toMatchObject({ result: expect.stringContaining('the question'), warning: null });
  }
  // Their names are taken now for this user, so those of the next project have a suffix.
  const second = await made<Project>(service, '/projects', { ...first, name: newId() }, ada.headers);
  const names = (await templatesOf(second)).map(({ name }) => name);
  expect(names).toHaveLength(exampleTemplates.length);
  expect(names.filter((name) => exampleTemplates.some((one) => one.name === name))).toEqual([]);
  expect(await templatesOf(await made<Project>(service, '/projects', { name: newId() }, ada.headers))).toEqual([]);
});
