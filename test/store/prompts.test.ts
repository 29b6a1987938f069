import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { checkPaths } from '../../shared/prompts/checkPaths.ts';
import { findPromptVersion, findPromptVersionByName } from '../../shared/prompts/prompts.ts';
import { checkPrompt, promptVariables, renderPrompt } from '../../shared/prompts/render.ts';
import { type AssetService, startAssetService } from '../support/assetService.ts';

let service: AssetService;
beforeAll(async () => {
  service = await startAssetService();
});
afterAll(() => service.close());

const call = (method: string, path: string, json?: unknown) => service.request(method, path, json === undefined ? {} : { json });
const create = async (body: Record<string, unknown> = {}, query = '') => {
  const reply = await call('POST', `/templates${query}`, { name: newId(), template: 'Answer: {{input}}', ...body });
  expect(reply.status).toBe(200);
  return reply.body;
};

describe('templates', () => {
  test('a new template has one version, selected, with every setting filled in', async () => {
    const messages = [
      { role: 'system', content: 'You are {{role}}.', cache: true },
      { role: 'user', content: [{ type: 'text', text: '{{input}}' }] },
    ];
    const made = await create({ template: messages, settings: { model_alias: 'GPT-4o', temperature: 0.8 } });
    expect(made).toMatchObject({
      selected_version: { version: 1, template: messages, raw: false, model_changed: false, content_changed: false },
      all_available_versions: [1],
      total_versions: 1,
      max_version: 1,
      created_by_user: { email: 'ada@example.com' },
    });
    expect(JSON.parse(made.template)).toEqual(messages);
    expect(made.selected_version.settings).toMatchObject({
      model_alias: 'GPT-4o',
      temperature: 0.8,
      max_tokens: 4096,
      top_k: 40,
      tools: null,
    });
    expect(made.selected_version_id).toBe(made.selected_version.id);
    expect(made.all_versions).toEqual([made.selected_version]);
    expect((await call('GET', `/v2/templates/${made.id}`)).body).toEqual(made);
    expect((await create()).selected_version.settings).toMatchObject({
      model_alias: 'gpt-5.1',
      temperature: null,
      logprobs: true,
    });
  });

  test('a version is added, then selected by its number', async () => {
    const made = await create();
    const added = await call('POST', `/templates/${made.id}/versions`, {
      template: 'Say {{input}}',
      settings: { model_alias: 'other', top_k: null },
    });
    expect(added.body).toMatchObject({ version: 2, content_changed: true, model_changed: true, settings_changed: false });
    expect((await call('GET', `/templates/${made.id}`)).body).toMatchObject({
      selected_version_id: made.selected_version_id,
      max_version: 2,
    });
    const selected = await call('PUT', `/templates/${made.id}/versions/2`);
    expect(selected.body).toMatchObject({
      selected_version_id: added.body.id,
      template: 'Say {{input}}',
      all_available_versions: [1, 2],
    });
    expect((await call('PUT', `/templates/${made.id}/versions/3`)).status).toBe(404);
    expect((await call('GET', `/templates/${made.id}/versions/1`)).body).toEqual(made.selected_version);
    const listed = await call('POST', `/templates/${made.id}/versions/query`);
    expect(listed.body.versions.map((one: { version: number }) => one.version)).toEqual([2, 1]);
    const oldest = await call('POST', `/templates/${made.id}/versions/query`, { sort: { name: 'created_at' } });
    expect(oldest.body.versions).toHaveLength(2);
  });

  test('versions added at the same time get numbers of their own', async () => {
    const made = await create();
    const replies = await Promise.all(
      [1, 2, 3, 4].map((n) => call('POST', `/templates/${made.id}/versions`, { template: `v${n}` })),
    );
    expect(replies.map(({ body }) => body.version).sort()).toEqual([2, 3, 4, 5]);
  });

  test('names: taken is 409, a suffix on request, filters and sorts of both clients', async () => {
    const project = await service.project();
    const name = `p ${newId()}`;
    const first = await create({ name }, `?project_id=${project}`);
    expect((await call('POST', '/templates', { name, template: 'x' })).status).toBe(409);
    const second = await create({ name: { value: name, append_suffix_if_duplicate: true } });
    expect(second.name).toBe(`${name} (1)`);
    await create({ name: `${name} hidden`, hidden: true });
    const find = async (filters: unknown[], query = '') =>
      (
        await call('POST', `/templates/query${query}`, {
          filters,
          sort: { name: 'created_at', ascending: false, sort_type: 'column' },
        })
      ).body.templates.map((one: { id: string }) => one.id);
    expect(await find([{ name: 'name', operator: 'contains', value: name }], '?limit=1000')).toEqual([second.id, first.id]);
    expect(await find([{ name: 'name', operator: 'eq', value: name }], '?limit=1')).toEqual([first.id]);
    const named = { name: 'name', operator: 'contains', value: name.toUpperCase(), case_sensitive: false };
    expect(await find([named, { name: 'used_in_project', value: project }])).toEqual([first.id]);
    expect(await find([named, { name: 'not_in_project', value: project }])).toEqual([second.id]);
    expect(await find([named, { name: 'creator', value: service.caller.userId }])).toHaveLength(2);
    expect((await call('PATCH', `/templates/${second.id}`, { name: `${name} renamed` })).body.name).toBe(`${name} renamed`);
    expect((await call('PATCH', `/templates/${second.id}`, { name })).status).toBe(409);
    expect((await call('POST', '/templates/query')).status).toBe(200);
  });

  test('the older routes see the templates of their project only', async () => {
    const [project, other] = [await service.project(), await service.project()];
    const name = newId();
    const made = (await call('POST', `/projects/${project}/templates`, { name, template: 'x' })).body;
    expect((await call('GET', `/projects/${project}/templates`)).body).toEqual([made]);
    expect((await call('GET', `/projects/${other}/templates`)).body).toEqual([]);
    expect((await call('GET', `/projects/${project}/templates/versions?template_name=${name}`)).body).toEqual(
      made.selected_version,
    );
    expect((await call('GET', `/projects/${other}/templates/versions?template_name=${name}`)).status).toBe(404);
    expect((await call('GET', `/projects/${project}/templates/${made.id}`)).body).toEqual(made);
    expect((await call('GET', `/projects/${other}/templates/${made.id}`)).status).toBe(404);
    expect((await call('POST', `/projects/${project}/templates/${made.id}/versions`, { template: 'y' })).body.version).toBe(2);
    expect((await call('PUT', `/projects/${project}/templates/${made.id}/versions/2`)).body.template).toBe('y');
    expect((await call('GET', `/projects/${project}/templates/${made.id}/versions/2`)).body.template).toBe('y');
    expect((await call('DELETE', `/projects/${other}/templates/${made.id}`)).status).toBe(404);
    expect((await call('DELETE', `/projects/${project}/templates/${made.id}`)).body.message).toContain('deleted');
  });

  test('a deleted template is 404; a run that names its version still finds it', async () => {
    const made = await create({ name: 'gone soon' });
    expect((await call('DELETE', `/templates/${made.id}`)).body.message).toContain(made.id);
    expect((await call('GET', `/templates/${made.id}`)).status).toBe(404);
    expect((await call('POST', `/templates/${made.id}/versions`, { template: 'x' })).status).toBe(404);
    expect(await findPromptVersion(service.prompts, made.selected_version_id)).toMatchObject({
      name: 'gone soon',
      template: 'Answer: {{input}}',
    });
    await expect(findPromptVersion(service.prompts, newId())).rejects.toMatchObject({ code: 'NotFound' });
    const again = await create({ name: 'gone soon' });
    expect(await findPromptVersionByName(service.prompts, { name: 'gone soon' })).toMatchObject({
      id: again.selected_version_id,
    });
    const { body } = await call('DELETE', '/templates/bulk_delete', { template_ids: [again.id, made.id] });
    expect(body).toMatchObject({ deleted_count: 1, failed_deletions: [{ template_id: made.id }] });
  });

  test.each([
    [{ template: '' }, 'template'],
    [{ template: [] }, 'template'],
    [{ template: [{ role: 'user' }] }, 'template'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(129) }, 'name'],
    [{ settings: { max_tokens: 'many' } }, 'settings'],
  ])('%j is 422 and names the field', async (wrong, field) => {
    const reply = await call('POST', '/templates', { name: newId(), template: 'x', ...wrong });
    expect(reply.status).toBe(422);
    expect(reply.body.detail[0].loc.slice(0, 2)).toEqual(['body', field]);
  });
});

test('a text in a cell reaches a prompt byte for byte', async () => {
  const cells = [
    '1.50',
    ' 5 ',
    '007',
    '12345678901234567890',
    '{"a": 1.50,  "b":2}',
    '[1.0, 2]',
    'true',
    'two\nlines',
    '\u00e9\u0301',
  ];
  const made = await service.upload('jsonl', cells.map((input) => JSON.stringify({ input })).join('\n'));
  const { body } = await call('POST', '/render_template', {
    template: '{{input}}|{{{input}}}',
    data: { dataset_id: made.body.id },
  });
  expect(body.rendered_templates.map(({ result }: { result: string }) => result)).toEqual(cells.map((cell) => `${cell}|${cell}`));
});

describe('rendering', () => {
  const text = (template: string, variables: Record<string, unknown>) => renderPrompt(template, variables)[0]?.content;

  test.each([
    ['{{input}} and {{ input }}', { input: 'x' }, 'x and x'],
    ['{{topic}}', { topic: 3 }, '3'],
    ['{{input.question}}', { input: { question: 'q' } }, 'q'],
    ['{{input.question}}', { input: '{"question":"q"}' }, 'q'],
    ['{{question}}', { input: { question: 'q' } }, 'q'],
    ['{{question}}', { input: { question: 'of input' }, question: 'column' }, 'column'],
    ['{{a.b}} {{a.b.c}}', { 'a.b': { c: 1 } }, '{"c":1} 1'],
    ['{{list.1.x}}', { list: [0, { x: 'second' }] }, 'second'],
    ['{{my column}}', { 'my column': 'x' }, 'x'],
    ['{{input}}', { input: { k: [1, 'é'] } }, '{"k":[1,"é"]}'],
    ['[{{gone}}{{empty}}]', { empty: null }, '[]'],
    ['{{input}}', { input: '{{other}}$&', other: 'no' }, '{{other}}$&'],
    ['{"a": {"b": {{n}}}} {{"x": 1}} {{}} {{ }}', { n: 1 }, '{"a": {"b": 1}} {{"x": 1}} {{}} {{ }}'],
    ['{{constructor}}{{__proto__}}{{input.constructor.name}}{{input.length}}', { input: 'abc' }, ''],
    ['{{#each input}}{{this}}{{/each}}', { input: [1] }, ''],
    ['{{{input}}} {{{ input }}}', { input: '<b>' }, '<b> <b>'],
    ['\\{{input}} is \\{{{input}}}, {{input}}', { input: 'x' }, '{{input}} is {{{input}}}, x'],
    ['{{input}}', { input: '{"a": 1.50,  "id": 12345678901234567890}' }, '{"a": 1.50,  "id": 12345678901234567890}'],
    [
      '{{input.a}} {{input.id}} {{input.in}}',
      { input: '{"a": 1.50, "id": 12345678901234567890, "in": {"n": 2.0}}' },
      '1.50 12345678901234567890 {"n":2.0}',
    ],
  ])('%s', (template, variables, expected) => {
    expect(text(template, variables)).toBe(expected);
  });

  test('messages keep their roles, files and other keys', () => {
    const file = { type: 'file' as const, file_id: newId() };
    const template = [
      { role: 'system', content: 'Be {{how}}.', cache: true },
      { role: 'user', content: [{ type: 'text' as const, text: '{{input}}' }, file] },
    ];
    expect(renderPrompt(template, { how: 'kind', input: 'hi' })).toEqual([
      { role: 'system', content: 'Be kind.', cache: true },
      { role: 'user', content: [{ type: 'text', text: 'hi' }, file] },
    ]);
    expect(promptVariables(template)).toEqual(['how', 'input']);
    expect(renderPrompt('hi', {})).toEqual([{ role: 'user', content: 'hi' }]);
  });

  test('a variable that no row can fill is refused, with its name and the columns there are', () => {
    const data = { columnNames: ['input', 'output'], inputFields: ['question'] };
    checkPrompt('{{input}} {{ question }} {{input.question.deep}} {{input.0}} {{output.any}} \\{{literal}} {{{output}}}', data);
    expect(() => checkPrompt('{{input.qestion}}', data)).toThrow('the closest is {{input.question}}');
    expect(() => checkPrompt('{{input.any}}', { columnNames: ['input'], inputFields: [] })).toThrow('{{input.any}}');
    expect(() => checkPrompt('{{{outptu}}}', data)).toThrow('the closest is {{output}}');
    const check = () => checkPrompt([{ role: 'user', content: '{{qestion}} {{input}}' }], data);
    expect(check).toThrow('{{qestion}}');
    expect(check).toThrow('columns of the data: input, output; fields of its input: question');
  });

  test('a path that no row has is refused with the closest one, however deep and in whatever column', async () => {
    const rows: Record<string, unknown>[] = [
      { input: '{"user": {"first.name": "Ada", "name": "Ada"}, "list": [{"id": 1}]}', person: { name: 'x' }, plain: 'text' },
      { input: 'no JSON', person: null, plain: 'text', late: '{"seen": 1}' },
    ];
    const data = (count = rows.length) => ({
      rowCount: count,
      columnNames: ['input', 'person', 'plain', 'late', 'a.b'],
      values: async (from: number) => (from < 1_000 ? rows.slice(from, from + 1) : []),
    });
    const all =
      '{{input.user.name}}{{user.first.name}}{{input.list.0.id}}{{person.name}}{{late.seen}}{{a.b}}{{plain}}\\{{plain.x}}';
    await checkPaths(all, data());
    for (const [path, closest] of [
      ['input.user.nme', ', the closest is {{input.user.name}}'],
      ['user.nme', ', the closest is {{user.name}}'],
      ['person.nam', ', the closest is {{person.name}}'],
      ['input.list.0.ID', ', the closest is {{input.list.0.id}}'],
      ['input.list.7', ', the closest is {{input.list.0}}'],
      ['late.saen', ', the closest is {{late.seen}}'],
      ['plain.any', ''],
    ])
      await expect(checkPaths(`{{${path}}}${all}`, data()), path).rejects.toThrow(
        `the prompt uses {{${path}}}, which no row of the data has${closest}`,
      );
    await checkPaths('{{input.user.nme}}', data(10_001));
  });

  test('a hostile template costs no time', () => {
    const started = performance.now();
    text('{{'.repeat(200_000), {});
    text(`{{${' '.repeat(400_000)}`, {});
    text(`{{${'a.'.repeat(100_000)}}}`, { input: '{"a":{"a":{"a":1}}}' });
    expect(performance.now() - started).toBeLessThan(20_000); // where each brace is read again from its begin, it takes minutes
  });

  test('what would be too large is refused before it is built, as a text, a prompt and an answer', async () => {
    const value = 'v'.repeat(1024 * 1024);
    const many = '{{x}}'.repeat(450);
    expect(() => text(many, { x: value })).toThrow('the rendered text would be larger than 8 MiB');
    const messages = Array.from({ length: 3 }, () => ({ role: 'user', content: '{{x}}'.repeat(7) }));
    expect(() => renderPrompt(messages, { x: value })).toThrow('the rendered prompt would be larger than 16 MiB');

    const render = (template: string, inputs: string[], query = '') =>
      call('POST', `/render_template${query}`, { template, data: { input_strings: inputs } });
    const refused = (msg: string) => ({
      status: 422,
      body: { detail: [{ loc: ['body', 'template'], type: 'rendering_too_large', msg: expect.stringContaining(msg) }] },
    });
    const fourteen = Array.from({ length: 14 }, () => JSON.stringify({ x: value }));
    expect(await render(many, fourteen)).toMatchObject(refused('the rendered text would be larger than 8 MiB'));
    expect(await render('{{x}}{{x}}{{x}}', fourteen)).toMatchObject(refused('ask for fewer at a time with `limit`'));
    expect((await render('{{x}}{{x}}{{x}}', fourteen, '?limit=10')).body.rendered_templates).toHaveLength(10);
    // Variables that render as nothing take time, too.
    expect(await render('{{x}}'.repeat(200_000), new Array(1_000).fill('{"x":""}'), '?limit=1000')).toMatchObject(
      refused('all that is rendered would be larger than 32 MiB'),
    );
    const rows = await service.upload('jsonl', Array.from({ length: 9 }, () => JSON.stringify({ x: value })).join('\n'));
    const forRows = (template: string) => call('POST', '/render_template', { template, data: { dataset_id: rows.body.id } });
    expect(await forRows(many)).toMatchObject(refused('the rendered text would be larger than 8 MiB'));
    expect(await forRows('{{x}}{{x}}{{x}}{{x}}')).toMatchObject(refused('all that is rendered would be larger than 32 MiB'));
    expect((await forRows('{{x}}')).body.rendered_templates).toHaveLength(9);
  });

  test('names that wander through nested values are bounded, and an error does not list thousands of them', () => {
    let nested: Record<string, unknown> = { end: 1 };
    for (let level = 0; level < 300; level++) nested = { a: nested, 'a.a': nested };
    expect(() => text(`{{${'a.'.repeat(40)}x}}`, nested)).toThrow('look-ups');
    const names = Array.from({ length: 5_000 }, (_, n) => `c${n}`);
    const template = names.map((name) => `{{no_${name}}}`).join('');
    const items = (() => {
      try {
        checkPrompt(template, { columnNames: names });
      } catch (err) {
        return (err as { items?: { msg: string }[] }).items;
      }
    })();
    expect(items).toHaveLength(100);
    expect(items?.[0]?.msg).toContain('c99 and 4900 more');
  });

  test('for texts: a JSON object binds its keys, anything else is input; what is unknown is empty with a warning', async () => {
    const { body } = await call('POST', '/render_template?limit=2', {
      template: '{{input}}/{{topic}}',
      data: { input_strings: ['plain', '{"topic": "t"}', 'third'] },
    });
    expect(body).toMatchObject({ paginated: true, next_starting_token: 2 });
    expect(body.rendered_templates).toEqual([
      { result: 'plain/', warning: expect.stringContaining('{{topic}}') },
      { result: '{"topic": "t"}/t', warning: null },
    ]);
  });

  test('for rows of a dataset, in order', async () => {
    const { body: dataset } = await service.upload('jsonl', '{"input":"{\\"q\\":\\"a\\"}","n":1}\n{"input":"b","n":2}');
    const render = (data: unknown) => call('POST', '/render_template', { template: '{{n}}: {{q}}', data });
    expect((await render({ dataset_id: dataset.id })).body.rendered_templates).toEqual([
      { result: '1: a', warning: null },
      { result: '2: ', warning: expect.stringContaining('{{q}}') },
    ]);
    expect((await render({ dataset_id: dataset.id, dataset_version_index: 9 })).status).toBe(404);
    expect((await render({})).status).toBe(422);
    expect((await call('POST', '/input_stub', { templates: ['{{a}} {{b.c}}', '{{a}}'] })).body).toEqual({ a: '', 'b.c': '' });
  });
});
