import { newId } from '../../../shared/identifiers/ids.ts';
import type { TestService } from '../testService.ts';
import { type Account, type Members, made, newAccount } from './callers.ts';

/** One of everything that a path or a body can name, in one project. Ids, but for names and `mark`. */
export interface Workspace {
  /** A word in every name and text of the project: who may not see the project may not see it. */
  mark: string;
  project: string;
  stream: string;
  experiment: string;
  /** An experiment of which a row waits for its caller. */
  running: string;
  job: string;
  /** The process that asks for rows of `running`. */
  process: string;
  tag: string;
  /** A view of records that its maker shares. */
  view: string;
  trace: string;
  span: string;
  session: string;
  metricsTesting: string;
  dataset: string;
  row: string;
  template: string;
  templateName: string;
  scorer: string;
  scorerVersion: string;
  queue: string;
  queueTemplate: string;
  /** A path: what a link to an export leads to. */
  exportLink: string;
  /** A collaborator of the project and of the queue by name. */
  collaborator: string;
  /** A group that is a collaborator of the project. */
  group: string;
  /** A user who has to do with nothing else. */
  user: string;
  apiKey: string;
  /** The name of a custom integration. */
  integration: string;
  integrationId: string;
}

/** Makes a project with one of everything, and its members. All of it is made by its owner, who is none of the administrators. */
export async function makeWorkspace(service: TestService, mark: string): Promise<{ workspace: Workspace; members: Members }> {
  const people = ['user', 'user', 'user', 'user', 'read_only', 'user', 'user', 'user'];
  const accounts = await Promise.all(people.map((role) => newAccount(service, role)));
  const [owner, editor, annotator, viewer, readOnlyEditor, grouped, collaborator, bystander] = accounts as [
    ...[Account, Account, Account, Account, Account, Account, Account, Account],
  ];
  const members: Members = { owner, editor, annotator, viewer, readOnlyEditor, grouped };
  const post = <T = { id: string }>(path: string, body: unknown): Promise<T> => made(service, path, body, owner.headers);
  const asAdmin = <T = { id: string }>(path: string, body: unknown): Promise<T> => made(service, path, body);

  const { id: project } = await post('/projects', { name: `${mark} project` });
  const at = `/projects/${project}`;
  const roles = [
    { user_id: editor.id, role: 'editor' },
    { user_id: annotator.id, role: 'annotator' },
    { user_id: viewer.id, role: 'viewer' },
    { user_id: readOnlyEditor.id, role: 'editor' },
    { user_id: collaborator.id, role: 'viewer' },
  ];
  await post(`${at}/users`, roles);
  const { id: group } = await asAdmin('/groups', { name: `${mark} group`, visibility: 'hidden' });
  await asAdmin(`/groups/${group}/members`, [{ user_id: grouped.id }]);
  await asAdmin(`${at}/groups`, [{ group_id: group, role: 'editor' }]);

  const stream = (await post(`${at}/log_streams`, { name: `${mark} stream` })).id;
  const experiment = (await post(`${at}/experiments`, { name: `${mark} experiment` })).id;
  const tag = (await post(`${at}/experiments/${experiment}/tags`, { key: 'k', value: mark, tag_type: 'generic' })).id;
  const view = (await post(`${at}/views`, { name: mark, is_shared: true, kind: 'traces' })).id;
  const [trace, span, metricsTesting] = [newId(), newId(), newId()];
  const spans = [{ type: 'workflow', id: span, name: mark, input: mark, output: mark, spans: [] }];
  const traces = [{ id: trace, name: mark, input: mark, output: mark, spans }];
  await post(`${at}/traces`, { log_stream_id: stream, traces });
  await post(`${at}/traces`, { metrics_testing_id: metricsTesting, traces: [{ input: mark, output: mark }] });
  const session = (await post(`${at}/sessions`, { log_stream_id: stream, name: `${mark} session` })).id;

  const dataset = await makeDataset(service, owner.headers, `${mark} rows`, project);
  const content = (await service.request('GET', `/datasets/${dataset}/content`)).body as { rows: { row_id: string }[] };
  const templateName = `${mark} prompt`;
  const template = (await post(`${at}/templates`, { name: templateName, template: `${mark} {{input}}` })).id;
  const scorer = (await post('/scorers', { name: `${mark} scorer`, scorer_type: 'llm', project_ids: [project] })).id;
  const scorerVersion = (await post(`/scorers/${scorer}/version/llm`, { user_prompt: `Is it ${mark}?` })).id;

  const queue = (await post('/annotation_queues', { name: `${mark} queue` })).id;
  await post(`/annotation_queues/${queue}/users`, [...roles, { user_id: grouped.id, role: 'editor' }]);
  const questions = await post<{ id: string }[]>(`/annotation_queues/${queue}/templates`, {
    template: { name: `${mark} question`, constraints: { annotation_type: 'score', min: 0, max: 10 } },
  });
  const record_selector = { record_ids: [trace] };
  await post(`/annotation_queues/${queue}/records`, { project_id: project, run_id: stream, record_selector });
  const link = await post<{ url: string }>(`/annotation_queues/${queue}/records/export/url`, { record_selector });

  const process = newId();
  const running = (await post(`${at}/experiments`, { name: `${mark} run` })).id;
  const records = Array.from({ length: 3 }, () => ({ input: mark }));
  await post(`${at}/experiments/${running}/run`, { records, runner: { kind: 'caller_function' }, process });
  const job = await post<{ job_id: string }>('/jobs', { job_name: 'playground_run', project_id: project, run_id: running });

  const integration = `integration-of-${owner.id}`;
  const saved = await service.request('PUT', `/integrations/custom/${integration}`, {
    ...{ endpoint: 'https://example.com', authentication_type: 'none', models: ['a-model'] },
  });
  return {
    members,
    workspace: {
      ...{ mark, project, stream, experiment, tag, view, trace, span, metricsTesting, session, dataset, template, templateName },
      ...{ scorer, scorerVersion, queue, running, process, group, integration },
      row: content.rows[0]?.row_id ?? '',
      queueTemplate: questions[0]?.id ?? '',
      job: job.job_id,
      exportLink: new URL(link.url).pathname,
      collaborator: collaborator.id,
      user: bystander.id,
      apiKey: (await made<{ id: string }>(service, '/users/api_keys', { description: mark }, bystander.headers)).id,
      integrationId: (saved.body as { id: string }).id,
    },
  };
}

/** A dataset of two rows; of a project when one is given. @returns its id */
export async function makeDataset(
  service: TestService,
  headers: Record<string, string>,
  name: string,
  project?: string,
): Promise<string> {
  const response = await fetch(`${service.url}/datasets`, { method: 'POST', headers, body: datasetForm(name, project) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`POST /datasets answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}

export function datasetForm(name: string, project?: string): FormData {
  const form = new FormData();
  form.append('name', name);
  if (project) form.append('project_id', project);
  form.append('file', new File([`input,output\n${name},2\n3,${name}\n`], 'rows.csv'));
  return form;
}
