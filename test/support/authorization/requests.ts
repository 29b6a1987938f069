import { newId } from '../../../shared/identifiers/ids.ts';
import { awsToken } from '../awsEndpoint.ts';
import { otlpSpan } from '../otlpSpan.ts';
import { serviceAccount } from '../serviceAccountKey.ts';
import type { TestService } from '../testService.ts';
import { made, newAccount, newKey, newUser, only, type TestCaller } from './callers.ts';
import { datasetForm, makeDataset, type Workspace } from './workspace.ts';

/** The service, place and caller of a request. */
export interface Target {
  service: TestService;
  at: Workspace;
  caller: TestCaller;
  /** Headers of an account that may make things in the project. */
  maker: Record<string, string>;
  /** The project that datasets, prompts and scorers are made in; undefined for those of the whole organization. */
  ofProject: string | undefined;
}

interface Plan {
  /** Values of the path by the name of the parameter, where `pathValues` has none or another. */
  path?(target: Target): Record<string, string>;
  query?(target: Target): Record<string, string>;
  /** Sent as JSON; `{}` where the operation takes a body and none is said. */
  body?(target: Target): unknown;
  form?(target: Target): FormData | URLSearchParams;
  headers?: Record<string, string>;
  /** Makes what the request uses up. Called for those who are allowed: for the others what there is must stay. */
  fresh?(target: Target): Promise<Partial<Workspace> & { headers?: Record<string, string> }>;
}

let names = 0;
/** A name that nothing has. */
const name = (): string => `name ${++names}`;
const nothing = (): object => ({ filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: newId() }] });
const inStream = ({ at }: Target) => ({ log_stream_id: at.stream });
const range = ({ at }: Target) => ({
  log_stream_id: at.stream,
  start_time: '2026-01-01T00:00:00Z',
  end_time: '2026-01-02T00:00:00Z',
});
const aTrace = ({ at }: Target) => ({ log_stream_id: at.stream, traces: [{ input: at.mark, output: at.mark }] });
const aSpan = ({ at }: Target) => ({
  ...{ log_stream_id: at.stream, trace_id: at.trace, parent_id: at.trace },
  spans: [{ type: 'workflow', input: at.mark, output: at.mark, spans: [] }],
});
const selected = ({ at }: Target) => ({ record_selector: { record_ids: [at.trace] } });
const prompt = ({ at }: Target) => ({ name: `${at.mark} ${name()}`, template: `${at.mark} {{input}}` });
const tag = ({ at }: Target) => ({ key: name(), value: at.mark, tag_type: 'generic' });
/** Asks no model: what is tried has no reference. */
const unsavedJudge = () => ({
  ...{ query: 'q', response: 'r', user_prompt: 'Is it {{expected}}?', chain_poll_template: { template: '' } },
  scorer_configuration: { num_judges: 1 },
});
const integration = { endpoint: 'https://example.com', authentication_type: 'none', models: ['a-model'] };
const otlp = { headers: { 'content-type': 'application/json' }, body: () => ({ resourceSpans: [] }) };

const freshUser = async ({ service }: Target) => ({ user: (await newUser(service, 'user')).id });
/** One that all see: a hidden one is shared only by those who see it. */
const freshGroup = async ({ service }: Target) => ({
  group: (await made<{ id: string }>(service, '/groups', { name: name(), visibility: 'public' })).id,
});
const freshDataset = async ({ service, maker, ofProject }: Target) => ({
  dataset: await makeDataset(service, maker, name(), ofProject),
});
const freshTemplate = async ({ service, maker, ofProject }: Target) => {
  const path = ofProject ? `/projects/${ofProject}/templates` : '/templates';
  return { template: (await made<{ id: string }>(service, path, { name: name(), template: 'x' }, maker)).id };
};
const freshScorer = async ({ service, maker, ofProject }: Target) => {
  const project_ids = ofProject ? [ofProject] : [];
  return {
    scorer: (await made<{ id: string }>(service, '/scorers', { name: name(), scorer_type: 'llm', project_ids }, maker)).id,
  };
};
const freshJudge = async (target: Target) => {
  const { scorer } = await freshScorer(target);
  await made(target.service, `/scorers/${scorer}/version/llm`, { user_prompt: 'Is it polite?' }, target.maker);
  return { scorer };
};
const codeForm = (parts: Record<string, string>): FormData => {
  const form = new FormData();
  form.set('file', new File(['def scorer_fn(**kwargs) -> bool:\n    return True\n'], 'scorer.py'));
  for (const [part, text] of Object.entries(parts)) form.set(part, text);
  return form;
};
const freshCodeScorer = async ({ service, maker, ofProject }: Target) => {
  const project_ids = ofProject ? [ofProject] : [];
  const { id } = await made<{ id: string }>(service, '/scorers', { name: name(), scorer_type: 'code', project_ids }, maker);
  const result = { result_type: 'valid', score_type: 'bool', scoreable_node_types: ['trace'] };
  const validation_result = JSON.stringify({ result: { ...result, include_llm_credentials: false, test_scores: [] } });
  const response = await fetch(`${service.url}/scorers/${id}/version/code`, {
    method: 'POST',
    headers: maker,
    body: codeForm({ validation_result }),
  });
  if (!response.ok) throw new Error(`the code of a scorer could not be stored: ${await response.text()}`);
  return { scorer: id };
};
const freshExperiment = async ({ service, at, maker }: Target) => ({
  experiment: (await made<{ id: string }>(service, `/projects/${at.project}/experiments`, { name: name() }, maker)).id,
});
const freshQueue = async ({ service, maker }: Target) => ({
  queue: (await made<{ id: string }>(service, '/annotation_queues', { name: name() }, maker)).id,
});
const freshQuestion = async ({ service, at, maker }: Target) => {
  const template = { name: name(), constraints: { annotation_type: 'score', min: 0, max: 10 } };
  const path = `/annotation_queues/${at.queue}/templates`;
  return { queueTemplate: (await made<{ id: string }[]>(service, path, { template }, maker))[0]?.id ?? '' };
};
const freshCollaborator = (path: (at: Workspace) => string) => async (target: Target) => {
  const { user } = await freshUser(target);
  await made(target.service, path(target.at), [{ user_id: user, role: 'viewer' }], target.maker);
  return { collaborator: user };
};
const freshIntegration = async ({ service }: Target) => {
  const fresh = `integration-${++names}`;
  await service.request('PUT', `/integrations/custom/${fresh}`, integration);
  return { integration: fresh };
};
const freshProvider = async ({ service }: Target) => {
  await service.request('PUT', '/integrations/openai', { token: 'sk-x' });
  return {};
};
/** A provider's name in place of a custom integration's. */
const openai = { path: () => ({ name: 'openai' }) };
const question = { path: ({ at }: Target) => ({ template_id: at.queueTemplate }) };
const rating = { query: ({ at }: Target) => ({ annotation_template_id: at.queueTemplate }) };
const steered = { path: ({ at }: Target) => ({ experiment_id: at.running }) };
const asOneself = { path: ({ caller }: Target) => ({ user_id: caller.userId ?? newId() }) };

/** The request of each operation that needs more than the values of its path. */
export const plans: Record<string, Plan> = {
  'POST /login': { form: () => new URLSearchParams({ username: `${name()}@example.com`, password: 'wrong' }) },
  'POST /login/api_key': { body: () => ({ api_key: 'wrong' }) },
  'POST /login/social': { body: () => ({ id_token: 'x', provider: 'google' }) },
  'POST /users': { body: () => ({ email: `new-${++names}@example.com`, password: 'Some-Password-1' }) },
  'POST /signup_link': { query: () => ({ user_email: `new-${++names}@example.com` }) },
  'POST /invite_users': { body: () => ({ emails: [`new-${++names}@example.com`] }) },
  'POST /signup': { body: () => ({ signup_token: 'wrong', password: 'Some-Password-1' }) },
  'PUT /users/{user_id}': { path: ({ at }) => ({ user_id: at.user }), body: () => ({ role: 'user' }) },
  'DELETE /users/{user_id}': { path: ({ at }) => ({ user_id: at.user }), fresh: freshUser },
  'POST /users/api_keys': { body: () => ({ description: 'x' }) },
  'POST /users/api_keys for the project': { body: ({ at }) => ({ description: 'x', project_id: at.project }) },
  'GET /users/{user_id}/api_keys': { path: ({ at }) => ({ user_id: at.user }) },
  'GET /users/{user_id}/api_keys of oneself': asOneself,
  'DELETE /users/api_keys/{api_key_id}': {
    fresh: async ({ service }) => {
      const { headers } = await newAccount(service, 'user');
      return { apiKey: (await made<{ id: string }>(service, '/users/api_keys', { description: 'x' }, headers)).id };
    },
  },
  'POST /groups': { body: () => ({ name: name() }) },
  'POST /groups/{group_id}/members': { body: ({ at }) => [{ user_id: at.user }] },
  // A user in no group.
  'DELETE /groups/{group_id}/members/{user_id}': { path: () => ({ user_id: newId() }) },

  'DELETE /users/{user_id}/sessions': { path: ({ at }) => ({ user_id: at.user }), fresh: freshUser },
  'POST /users/{user_id}/password_reset': { path: ({ at }) => ({ user_id: at.user }), fresh: freshUser },
  'POST /password_reset': { body: () => ({ reset_token: 'wrong', new_password: 'Other-Password-1' }) },
  'PUT /current_user/password': { body: () => ({ old_password: 'wrong', new_password: 'x' }) },
  'DELETE /current_user/sessions/{session_id}': { path: () => ({ session_id: newId() }) },
  ...Object.fromEntries(
    (
      [
        ['/datasets/{dataset_id}', (at) => `/datasets/${at.dataset}`],
        ['/templates/{template_id}', (at) => `/templates/${at.template}`],
        ['/integrations/{integration_id}', (at) => `/integrations/${at.integrationId}`],
      ] satisfies [string, (at: Workspace) => string][]
    ).flatMap(([path, of]): [string, Plan][] => {
      const user = {
        async fresh({ service, at }: Target) {
          const { id } = await newUser(service, 'user');
          await made(service, `${of(at)}/users`, [{ user_id: id, role: 'viewer' }]);
          return { collaborator: id };
        },
      };
      const group = {
        async fresh({ service, at }: Target) {
          const { id } = await made<{ id: string }>(service, '/groups', { name: name() });
          await made(service, `${of(at)}/groups`, [{ group_id: id, role: 'viewer' }]);
          return { group: id };
        },
      };
      return [
        [`POST ${path}/users`, { body: ({ at }) => [{ user_id: at.collaborator, role: 'viewer' }] }],
        [`PATCH ${path}/users/{user_id}`, { ...user, body: () => ({ role: 'viewer' }) }],
        [`DELETE ${path}/users/{user_id}`, user],
        [`POST ${path}/groups`, { fresh: freshGroup, body: ({ at }) => [{ group_id: at.group, role: 'viewer' }] }],
        [`PATCH ${path}/groups/{group_id}`, { ...group, body: () => ({ role: 'viewer' }) }],
        [`DELETE ${path}/groups/{group_id}`, group],
      ];
    }),
  ),

  'POST /annotation_queues': { body: () => ({ name: name() }) },
  'PATCH /annotation_queues/{queue_id}': { body: ({ at }) => ({ description: at.mark }) },
  'DELETE /annotation_queues/{queue_id}': { fresh: freshQueue },
  'POST /annotation_queues/{queue_id}/users': { body: ({ at }) => [{ user_id: at.collaborator, role: 'viewer' }] },
  'PATCH /annotation_queues/{queue_id}/users/{user_id}': { body: () => ({ role: 'viewer' }) },
  'DELETE /annotation_queues/{queue_id}/users/{user_id}': {
    fresh: freshCollaborator((at) => `/annotation_queues/${at.queue}/users`),
  },
  'POST /annotation_queues/{queue_id}/records': {
    body: (target) => ({ project_id: target.at.project, run_id: target.at.stream, ...selected(target) }),
  },
  'POST /annotation_queues/{queue_id}/records/remove': { body: () => ({ record_selector: { record_ids: [newId()] } }) },
  'POST /annotation_queues/{queue_id}/partial_search': { body: () => ({ select_columns: { include_all_metrics: true } }) },
  'POST /annotation_queues/{queue_id}/records/export': { body: selected },
  'POST /annotation_queues/{queue_id}/records/export/url': { body: selected },
  'PUT /annotation_queues/{queue_id}/records/{record_id}/rating': {
    ...rating,
    body: () => ({ rating: { annotation_type: 'score', value: 5 } }),
  },
  'DELETE /annotation_queues/{queue_id}/records/{record_id}/rating': {
    ...rating,
    async fresh({ service, at, caller }) {
      const path = `/annotation_queues/${at.queue}/records/${at.trace}/rating?annotation_template_id=${at.queueTemplate}`;
      await service.request('PUT', path, { rating: { annotation_type: 'score', value: 5 } }, only(caller.headers));
      return {};
    },
  },
  'POST /annotation_queues/{queue_id}/templates': {
    body: () => ({ template: { name: name(), constraints: { annotation_type: 'score', min: 0, max: 10 } } }),
  },
  'POST /annotation_queues/{queue_id}/templates/reorder': { body: ({ at }) => ({ ordering: [at.queueTemplate] }) },
  'PATCH /annotation_queues/{queue_id}/templates/{template_id}': {
    ...question,
    body: ({ at }) => ({ name: at.mark, criteria: null }),
  },
  'DELETE /annotation_queues/{queue_id}/templates/{template_id}': { ...question, fresh: freshQuestion },

  'POST /projects/{project_id}/users': { body: ({ at }) => [{ user_id: at.collaborator, role: 'viewer' }] },
  'PATCH /projects/{project_id}/users/{user_id}': { body: () => ({ role: 'viewer' }) },
  'DELETE /projects/{project_id}/users/{user_id}': { fresh: freshCollaborator((at) => `/projects/${at.project}/users`) },
  'POST /projects/{project_id}/groups': { fresh: freshGroup, body: ({ at }) => [{ group_id: at.group, role: 'editor' }] },
  'PATCH /projects/{project_id}/groups/{group_id}': { body: () => ({ role: 'editor' }) },
  'DELETE /projects/{project_id}/groups/{group_id}': {
    async fresh({ service, at }) {
      const { id } = await made<{ id: string }>(service, '/groups', { name: name() });
      await made(service, `/projects/${at.project}/groups`, [{ group_id: id }]);
      return { group: id };
    },
  },

  'POST /datasets': { form: () => datasetForm(name()) },
  'POST /datasets in the project': { form: ({ at }) => datasetForm(name(), at.project) },
  'DELETE /datasets/bulk_delete': { body: ({ at }) => ({ dataset_ids: [at.dataset] }), fresh: freshDataset },
  'POST /datasets/extend': { body: () => ({ prompt_settings: { model_alias: 'a-model' }, prompt: 'a prompt', count: 1 }) },
  'PATCH /datasets/{dataset_id}': { body: () => ({ name: name() }), fresh: freshDataset },
  'DELETE /datasets/{dataset_id}': { fresh: freshDataset },
  'PATCH /datasets/{dataset_id}/content': {
    body: ({ at }) => ({ edits: [{ edit_type: 'append_row', values: { input: at.mark, output: at.mark } }] }),
    fresh: freshDataset,
  },
  'PUT /datasets/{dataset_id}/content': { body: () => ({ rollback_version: 1 }), fresh: freshDataset },
  'PATCH /datasets/{dataset_id}/versions/{version_index}': { body: ({ at }) => ({ name: `${at.mark} ${name()}` }) },

  'POST /projects/{project_id}/experiments/compare': {
    body: ({ at }) => ({ baseline_id: at.experiment, experiment_ids: [at.running] }),
  },
  'POST /projects/{project_id}/experiments/compare/rows': {
    body: ({ at }) => ({ baseline_id: at.experiment, experiment_id: at.running }),
  },
  'POST /projects/{project_id}/experiments/estimate': {
    body: ({ at }) => ({ dataset: { dataset_id: at.dataset }, runner: { kind: 'caller_function' } }),
  },
  'POST /projects/{project_id}/experiments/gate': { body: ({ at }) => ({ experiment_id: at.experiment, max_failed: 1 }) },
  'POST /projects/{project_id}/experiments/{experiment_id}/run': {
    body: () => ({ records: [{ input: 'x' }], runner: { kind: 'caller_function' } }),
    fresh: freshExperiment,
  },
  'GET /projects/{project_id}/experiments/{experiment_id}/run': steered,
  'GET /projects/{project_id}/experiments/{experiment_id}/live_progress': steered,
  'GET /projects/{project_id}/experiments/{experiment_id}/progress': steered,
  'POST /projects/{project_id}/experiments/{experiment_id}/pause': steered,
  'POST /projects/{project_id}/experiments/{experiment_id}/resume': steered,
  'POST /projects/{project_id}/experiments/{experiment_id}/cancel': {
    ...steered,
    async fresh(target) {
      const { service, at, maker } = target;
      const { experiment } = await freshExperiment(target);
      const body = { records: [{ input: 'x' }], runner: { kind: 'caller_function' } };
      await made(service, `/projects/${at.project}/experiments/${experiment}/run`, body, maker);
      return { running: experiment };
    },
  },
  'POST /projects/{project_id}/experiments/{experiment_id}/concurrency': { ...steered, body: () => ({ concurrency: 2 }) },
  'POST /projects/{project_id}/experiments/{experiment_id}/rows/lease': {
    ...steered,
    body: ({ at }) => ({ process: at.process, limit: 1, wait_ms: 0 }),
  },
  'POST /projects/{project_id}/experiments/{experiment_id}/rows/results': {
    ...steered,
    body: ({ at }) => ({
      process: at.process,
      results: [{ ordinal: 1_000, output: 'x', started_at: '2026-01-01T00:00:00Z', duration_ns: 1 }],
    }),
  },
  'POST /projects/{project_id}/experiments/{experiment_id}/rows/heartbeat': {
    ...steered,
    body: ({ at }) => ({ process: at.process }),
  },
  'POST /projects/{project_id}/experiments/{experiment_id}/tags': { body: tag },
  'PUT /projects/{project_id}/experiments/{experiment_id}/tags/{tag_id}': { body: tag },
  'DELETE /projects/{project_id}/experiments/{experiment_id}/tags/{tag_id}': {
    async fresh(target) {
      const { service, at, maker } = target;
      const path = `/projects/${at.project}/experiments/${at.experiment}/tags`;
      return { tag: (await made<{ id: string }>(service, path, tag(target), maker)).id };
    },
  },
  'POST /projects/{project_id}/experiments': { body: ({ at }) => ({ name: `${at.mark} ${name()}` }) },
  'PUT /projects/{project_id}/experiments/{experiment_id}': { body: ({ at }) => ({ name: `${at.mark} ${name()}` }) },
  'DELETE /projects/{project_id}/experiments/{experiment_id}': { fresh: freshExperiment },
  'POST /projects/{project_id}/export_records': { body: ({ at }) => ({ log_stream_id: at.stream, root_type: 'trace' }) },

  'PUT /integrations/openai': { body: () => ({ token: 'sk-x' }) },
  'PUT /integrations/anthropic': { body: () => ({ token: 'x' }) },
  'PUT /integrations/azure': { body: () => ({ token: 'x', endpoint: 'https://93.184.215.14' }) },
  'PUT /integrations/aws_bedrock': { body: () => ({ token: awsToken }) },
  'PUT /integrations/mistral': { body: () => ({ token: 'x' }) },
  'PUT /integrations/vertex_ai': {
    body: () => ({ token: JSON.stringify({ ...serviceAccount, token_uri: 'https://93.184.215.14/token' }) }),
  },
  'PUT /integrations/databricks/unity-catalog/sql': { body: () => ({ token: 'x', hostname: 'https://93.184.215.14' }) },
  'PUT /integrations/databricks': { body: () => ({ token: 'x', hostname: 'https://93.184.215.14' }) },
  'PUT /integrations/nvidia': { body: () => ({ token: 'x', hostname: 'https://93.184.215.14' }) },
  'PUT /integrations/writer': { body: () => ({ token: 'x', organization_id: 'o' }) },
  'PUT /integrations/aws_sagemaker': { body: () => ({ token: awsToken }) },
  'GET /integrations/costs/summary': {
    query: () => ({ start_time: '2026-01-01T00:00:00Z', end_time: '2026-02-01T00:00:00Z', interval: 'daily' }),
  },
  'POST /integrations/select': { body: ({ at }) => ({ integration_name: 'custom', integration_id: at.integrationId }) },
  'POST /integrations/disable': { body: () => ({ integration_name: 'mistral' }) },
  'PUT /integrations/vegas_gateway': { body: () => ({ token: 'x', endpoint: 'https://93.184.215.14', use_case: 'u' }) },
  'PUT /integrations/custom': { body: () => integration },
  'PUT /integrations/custom/{name}': { body: () => integration },
  'DELETE /integrations/custom/{name}': { fresh: freshIntegration },
  'GET /integrations/{name}': openai,
  'DELETE /integrations/{name}': { ...openai, fresh: freshProvider },
  'GET /integrations/{name}/status': openai,

  'POST /projects/{project_id}/upload_file': {
    form: ({ at }) => {
      const form = new FormData();
      form.set('file', new File([at.mark], 'note.txt'));
      return form;
    },
  },
  'GET /projects/{project_id}/files/{file_id}': { path: () => ({ file_id: newId() }) },
  'GET /projects/{project_id}/files/{file_id}/content': { path: () => ({ file_id: newId() }) },
  'DELETE /projects/{project_id}/files/{file_id}': { path: () => ({ file_id: newId() }) },
  'POST /jobs to score': {
    body: ({ at }) => ({ project_id: at.project, run_id: at.stream, scorers: [{ name: 'exact_match' }] }),
  },
  'POST /jobs': { body: ({ at }) => ({ job_name: 'playground_run', project_id: at.project, run_id: at.experiment }) },
  'POST /projects/{project_id}/log_streams': { body: ({ at }) => ({ name: `${at.mark} ${name()}` }) },
  'PUT /projects/{project_id}/log_streams/{log_stream_id}': { body: ({ at }) => ({ name: `${at.mark} ${name()}` }) },
  'DELETE /projects/{project_id}/log_streams/{log_stream_id}': {
    async fresh({ service, at, maker }) {
      return { stream: (await made<{ id: string }>(service, `/projects/${at.project}/log_streams`, { name: name() }, maker)).id };
    },
  },
  'POST /projects/{project_id}/metrics/search': { body: range },
  'POST /projects/{project_id}/metrics/search/v2': { body: range },
  'POST /projects/{project_id}/metrics/custom_search': {
    body: (target) => ({
      ...range(target),
      interval_minutes: 60,
      metric_details: [{ id: 'a', metric_name: 'duration_ns', aggregation: 'Count' }],
    }),
  },
  'POST /projects/{project_id}/runs/{run_id}/scorer-settings': { body: ({ at }) => ({ run_id: at.experiment, scorers: [] }) },
  'PATCH /projects/{project_id}/runs/{run_id}/scorer-settings': { body: ({ at }) => ({ run_id: at.experiment, scorers: [] }) },
  'PATCH /projects/{project_id}/log_streams/{log_stream_id}/metric_settings': { body: () => ({ scorers: [] }) },
  'PATCH /projects/{project_id}/experiments/{experiment_id}/metric_settings': { body: () => ({ scorers: [] }) },
  'POST /projects/{project_id}/judge_agreement': { body: ({ at }) => ({ log_stream_id: at.stream, metric: 'correctness' }) },
  'POST /projects/{project_id}/metrics-testing/available_columns': { body: () => ({ name: 'x' }) },
  'POST /projects/{project_id}/metrics-testing/{run_id}/health-score': {
    path: ({ at }) => ({ run_id: at.metricsTesting }),
    body: ({ at }) => ({ scorer_id: at.scorer, output_type: 'boolean' }),
  },
  'POST /v1/traces': otlp,
  'POST /v1/traces to a project that is not there': {
    ...otlp,
    body: () => otlpSpan({ 'assay.project': name(), 'assay.log_stream': 'new' }),
  },
  'POST /otel/traces': otlp,
  'POST /otel/v1/traces': otlp,
  'GET /projects': { query: () => ({ project_name: 'no project of this name' }) },
  'POST /projects': { body: () => ({ name: name() }) },
  'PUT /projects/{project_id}': { body: ({ at }) => ({ description: at.mark }) },
  'DELETE /projects/{project_id}': {
    async fresh({ service, caller, maker }) {
      const { id } = await made<{ id: string }>(service, '/projects', { name: name() }, maker);
      // A key of the project in the table has no part in this one.
      const isKey = caller.column === 'ownerKey';
      const key = isKey && (await newKey(service, { 'Service-API-Key': service.apiKey }, id));
      return { project: id, ...(key ? { headers: { 'Service-API-Key': key } } : {}) };
    },
  },

  'POST /templates': { body: () => ({ name: name(), template: 'x' }) },
  'POST /templates in the project': { query: ({ at }) => ({ project_id: at.project }), body: prompt },
  'DELETE /templates/bulk_delete': { body: ({ at }) => ({ template_ids: [at.template] }), fresh: freshTemplate },
  'PATCH /templates/{template_id}': { body: () => ({ name: name() }), fresh: freshTemplate },
  'DELETE /templates/{template_id}': { fresh: freshTemplate },
  'POST /templates/{template_id}/versions': { body: () => ({ template: 'x' }), fresh: freshTemplate },
  'POST /render_template': { body: () => ({ template: '{{x}}', data: { input_strings: ['x'] } }) },
  'POST /render_template for rows': { body: ({ at }) => ({ template: '{{input}}', data: { dataset_id: at.dataset } }) },
  'POST /input_stub': { body: () => ({ templates: ['{{x}}'] }) },
  'POST /projects/{project_id}/templates': { body: prompt },
  'GET /projects/{project_id}/templates/versions': { query: ({ at }) => ({ template_name: at.templateName }) },
  'DELETE /projects/{project_id}/templates/{template_id}': { fresh: freshTemplate },
  'POST /projects/{project_id}/templates/{template_id}/versions': { body: () => ({ template: 'x' }), fresh: freshTemplate },

  'POST /scorers/{scorer_id}/version/luna': {
    body: () => ({ lora_task_id: 1, prompt: 'Is it good?' }),
    async fresh({ service, maker, ofProject, at }) {
      const project_ids = [ofProject ?? at.project];
      const { id } = await made<{ id: string }>(service, '/scorers', { name: name(), scorer_type: 'luna', project_ids }, maker);
      return { scorer: id };
    },
  },
  'PUT /scorers/{scorer_id}/scope': { body: ({ at }) => ({ is_global: false, project_ids: [at.project] }) },

  'POST /projects/{project_id}/recompute-metrics': { body: ({ at }) => ({ log_stream_id: at.stream, scorer_ids: [at.scorer] }) },
  'POST /projects/{project_id}/recompute_metrics': { body: ({ at }) => ({ log_stream_id: at.stream, scorer_ids: [at.scorer] }) },
  ...Object.fromEntries(
    ['traces', 'spans', 'sessions'].flatMap((kind): [string, Plan][] => [
      ...['available_columns', 'search', 'partial_search', 'ids', 'count', 'histogram', 'column_values', 'metadata_keys'].map(
        (what): [string, Plan] => [
          `POST /projects/{project_id}/${kind}/${what}`,
          { body: (target) => ({ ...inStream(target), select_columns: {}, column_id: 'name' }) },
        ],
      ),
      [`POST /projects/{project_id}/${kind}/delete`, { body: (target) => ({ ...inStream(target), ...nothing() }) }],
    ]),
  ),
  'POST /projects/{project_id}/playground_calls': {
    body: () => ({ template: 'x', settings: { model_alias: 'no such model' } }),
  },
  'GET /projects/{project_id}/retention/effect': { query: () => ({ retention_days: '30' }) },
  'GET /projects/{project_id}/live_records': { query: inStream },
  'POST /projects/{project_id}/views': { body: () => ({ name: name(), kind: 'traces' }) },
  'POST /projects/{project_id}/views shared': { body: () => ({ name: name(), kind: 'traces', is_shared: true }) },
  'PUT /projects/{project_id}/views/{view_id}': { body: ({ at }) => ({ name: at.mark, kind: 'spans', is_shared: true }) },
  'DELETE /projects/{project_id}/views/{view_id}': {
    fresh: async ({ service, at, maker }) => ({
      view: (
        await made<{ id: string }>(
          service,
          `/projects/${at.project}/views`,
          { name: name(), kind: 'traces', is_shared: true },
          maker,
        )
      ).id,
    }),
  },
  'PUT /projects/{project_id}/default_judge': { body: () => ({ model: null }) },
  'PUT /projects/{project_id}/playground_limits': { body: () => ({ most_calls: null, most_cost_per_day: null }) },
  'PUT /projects/{project_id}/retention': { body: () => ({ retention_days: null }) },
  'POST /scorers': { body: () => ({ name: name(), scorer_type: 'llm' }) },
  'POST /scorers for the project': { body: ({ at }) => ({ name: name(), scorer_type: 'llm', project_ids: [at.project] }) },
  'PATCH /scorers/{scorer_id}': { body: () => ({ description: name() }) },
  'DELETE /scorers/{scorer_id}': { fresh: freshScorer },
  'POST /scorers/llm/validate': { body: (target) => ({ ...unsavedJudge(), project_id: target.at.project }) },
  'POST /scorers/llm/validate/multipart': {
    form: ({ at }) => {
      const form = new FormData();
      form.set('body', JSON.stringify({ ...unsavedJudge(), project_id: at.project }));
      return form;
    },
  },
  'POST /scorers/llm/validate/log_record': { body: ({ at }) => ({ ...unsavedJudge(), log_stream_id: at.stream, ...nothing() }) },
  'POST /scorers/llm/validate/dataset': {
    body: ({ at }) => ({ ...unsavedJudge(), dataset_id: at.dataset, project_id: at.project, starting_token: 1_000 }),
  },
  // A model that there is not is found missing before anything is paid.
  'POST /scorers/llm/autogen': {
    body: () => ({
      ...{ instructions: 'polite?', model_name: name(), output_type: 'boolean', cot_enabled: true, scoreable_node_types: [] },
    }),
  },
  'GET /scorers/llm/autogen/{task_result_id}': { path: () => ({ task_result_id: newId() }) },
  // Need no interpreter: code for a kind of records that there is not is refused before it is loaded.
  'POST /scorers/code/validate': { form: () => codeForm({ scoreable_node_types: 'nothing' }) },
  'POST /scorers/code/validate/log_record': {
    form: ({ at }) => codeForm({ scoreable_node_types: 'nothing', log_stream_id: at.stream }),
  },
  'POST /scorers/code/validate/dataset': {
    form: ({ at }) => codeForm({ scoreable_node_types: 'nothing', dataset_id: at.dataset, project_id: at.project }),
  },
  'GET /scorers/code/validate/{task_id}': { path: () => ({ task_id: newId() }) },
  'POST /code-metric-generations': { body: () => ({ user_message: 'Is it short?', model_name: name() }) },
  'GET /code-metric-generations/{generation_id}/status': { path: () => ({ generation_id: newId() }) },
  'POST /scorers/{scorer_id}/version/code': {
    form: () => codeForm({ validation_result: '{"result_type": "invalid", "error_message": "it is"}' }),
  },
  'GET /scorers/{scorer_id}/version/code': { fresh: freshCodeScorer },
  'POST /scorers/{scorer_id}/versions/{version_number}/restore': {
    fresh: freshJudge,
    path: () => ({ version_number: '1' }),
  },
  'GET /scorers/{scorer_id}/health-scores': { query: ({ at }) => ({ dataset_id: at.dataset }) },
  'POST /scorers/{scorer_id}/versions/{version_number}/health-scores': {
    fresh: freshJudge,
    path: () => ({ version_number: '1' }),
    body: ({ at }) => ({ dataset_id: at.dataset, health_score_type: 'macro_f1', score: 0.5 }),
  },
  'POST /scorers/{scorer_id}/version/llm': { body: () => ({ user_prompt: 'Is it polite?' }), fresh: freshScorer },
  'POST /projects/{project_id}/sessions': { body: inStream },
  'POST /projects/{project_id}/spans': { body: aSpan },
  'POST /ingest/spans/{project_id}': { body: aSpan },
  'PATCH /projects/{project_id}/spans/{span_id}': {
    body: (target) => ({ ...inStream(target), span_id: target.at.span, output: target.at.mark }),
  },
  'POST /projects/{project_id}/traces/aggregated': { body: inStream },
  'POST /projects/{project_id}/traces': { body: aTrace },
  'POST /ingest/traces/{project_id}': { body: aTrace },
  'PATCH /projects/{project_id}/traces/{trace_id}': {
    body: (target) => ({ ...inStream(target), trace_id: target.at.trace, output: target.at.mark }),
  },
};

const pathValues = (at: Workspace): Record<string, string> => ({
  project_id: at.project,
  log_stream_id: at.stream,
  experiment_id: at.experiment,
  run_id: at.experiment,
  tag_id: at.tag,
  view_id: at.view,
  trace_id: at.trace,
  span_id: at.span,
  session_id: at.session,
  dataset_id: at.dataset,
  version_index: '1',
  template_id: at.template,
  version: '1',
  scorer_id: at.scorer,
  scorer_version_id: at.scorerVersion,
  queue_id: at.queue,
  record_id: at.trace,
  user_id: at.collaborator,
  group_id: at.group,
  job_id: at.job,
  api_key_id: at.apiKey,
  name: at.integration,
  integration_id: at.integrationId,
  llm_integration: 'openai',
});

/** `METHOD /path` of an operation, without the words that distinguish its rows. */
export const operationOf = (row: string): string => row.split(' ').slice(0, 2).join(' ');

export async function send(
  row: string,
  target: Target,
  takesBody: boolean,
  isAllowed: boolean,
): Promise<{ status: number; text: string }> {
  const plan = plans[row] ?? plans[operationOf(row)] ?? {};
  const { headers = target.caller.headers, ...made } = isAllowed && plan.fresh ? await plan.fresh(target) : {};
  const at = { ...target.at, ...made };
  const here = { ...target, at };
  const [method = '', template = ''] = row.split(' ');
  const values = { ...pathValues(at), ...plan.path?.(here) };
  const path =
    operationOf(row) === 'GET /annotation_queues/{queue_id}/records/export/{export_id}'
      ? at.exportLink
      : template.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
          const value = values[parameter];
          if (value === undefined) throw new Error(`no value for {${parameter}} of ${row}: add one to pathValues, or a plan`);
          return encodeURIComponent(value);
        });
  const query = plan.query ? `?${new URLSearchParams(plan.query(here))}` : '';
  const form = plan.form?.(here);
  const body = form ?? (takesBody ? JSON.stringify(plan.body?.(here) ?? {}) : undefined);
  const response = await fetch(`${target.service.url}${path}${query}`, {
    method,
    headers: {
      ...(form || body === undefined ? {} : { 'content-type': 'application/json' }),
      ...plan.headers,
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, text: await textOf(response) };
}

/** Reads the body; of an event stream, which may not end, the first part only. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new TextDecoder().decode(value);
}
