import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import type { Gate } from '../../api/http/route.ts';
import { metricSettingsRoutes } from '../../api/routes/metricSettings.ts';
import { scorerRoutes } from '../../api/routes/scorers.ts';
import { mayInOrganization, type UserRole } from '../../shared/accounts/permissions.ts';
import { createAssetAccess } from '../../shared/assets/assetAccess.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinMetrics } from '../../shared/metrics/index.ts';
import type { JudgeRequest } from '../../shared/metrics/metric.ts';
import { scoreRecord } from '../../shared/metrics/scoreRecord.ts';
import { toDescriptor } from '../../shared/records/columnCatalog.ts';
import { freezeMetric, thawMetric } from '../../shared/scorers/frozenMetric.ts';
import { isScored } from '../../shared/scorers/isScored.ts';
import { noJudge } from '../../shared/scorers/judge.ts';
import { presetById, presets } from '../../shared/scorers/presets.ts';
import { type EnabledMetric, resolveMetrics } from '../../shared/scorers/resolveMetrics.ts';
import { enabledMetricColumns, projectMetricColumns, runScorers } from '../../shared/scorers/runSettings.ts';
import type { ScorerStore } from '../../shared/scorers/scorer.ts';
import { postgresAssets } from '../../shared/stores/postgres/assetAccess.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { postgresPresetVersions } from '../../shared/stores/postgres/presetVersions.ts';
import { scorerStore } from '../../shared/stores/postgres/scorers.ts';
import { labelledMetrics, olderNames, otherWireNames, wireNames } from '../support/interfaceMetrics.ts';
import { scoredRecord } from '../support/scoredRecord.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

type Json = Record<string, unknown>;
interface ScorerJson extends Json {
  id: string;
  name: string;
  label: string;
  scorer_type: string;
}

const emptyRecord = scoredRecord();

const userId = newId();
let directory: string;
let database: Database;
let store: ScorerStore;
let base: string;
let close: () => Promise<void>;
let projectId: string;
let runId: string;
let experimentId: string;

/** A header names the caller here: accounts have stories of their own. */
const gate: Gate = {
  authenticate: async (request) => ({
    userId,
    email: 'ada@example.com',
    role: (request.headers['x-role'] as UserRole | undefined) ?? 'admin',
  }),
  async authorize(caller, access, project) {
    if (typeof access === 'object' && 'organization' in access && !mayInOrganization(caller, access.organization))
      throw new ServiceError('Forbidden', 'your role may not do this');
    if (typeof access !== 'object' || !('project' in access)) return undefined;
    const row = await database.maybeOne('SELECT id, name FROM projects WHERE id = $1', [project]);
    if (!row) throw new ServiceError('NotFound', 'no such project');
    return { ...(row as { id: string; name: string }), role: 'owner' };
  },
};

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(base + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Json };
}

const listed = async (filters: Json[], query = ''): Promise<ScorerJson[]> => {
  const { status, body } = await call('POST', `/scorers/list${query}`, { filters });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.scorers as ScorerJson[];
};

const judgeScorer = async (name: string, more: Json = {}): Promise<ScorerJson> => {
  const { status, body } = await call('POST', '/v2/scorers', {
    name,
    scorer_type: 'llm',
    description: 'Is it polite?',
    tags: ['style'],
    defaults: { model_name: 'gpt-4.1-mini', num_judges: 3, cot_enabled: true },
    scoreable_node_types: ['trace'],
    output_type: 'boolean',
    ground_truth: false,
    ...more,
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return body as ScorerJson;
};

const versioned = async (name: string, more: Json = {}, prompt = 'Is the {{output}} polite?'): Promise<ScorerJson> => {
  const scorer = await judgeScorer(name, more);
  const { status, body } = await call('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt: prompt });
  expect(status, JSON.stringify(body)).toBe(200);
  return scorer;
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'scorers-'));
  database = await openSeededDatabase(join(directory, 'postgres'));
  store = scorerStore(database);
  await database.query(`INSERT INTO users (id, email, role) VALUES ($1, 'ada@example.com', 'admin')`, [userId]);
  const assets = createAssetAccess(postgresAssets(database), (id) => presetById(id) !== undefined);
  const endpoints = [
    ...scorerRoutes({ scorers: store, gate, assets, presetVersions: postgresPresetVersions(database) }),
    ...metricSettingsRoutes({ scorers: store, assets }),
  ];
  const app = createApp({
    endpoints,
    gate,
    log: pino({ level: 'silent' }),
    apiKeyHeaders: ['Service-API-Key'],
    checkReplies: true,
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => new Promise((resolve) => server.close(() => resolve()));
});

afterAll(async () => {
  await close();
  await database.close();
  await rm(directory, { recursive: true, force: true });
});

beforeEach(async () => {
  [projectId, runId, experimentId] = [newId(), newId(), newId()];
  await database.query(`INSERT INTO projects (id, name, type, created_by) VALUES ($1, $2, 'gen_ai', $3)`, [
    projectId,
    projectId,
    userId,
  ]);
  await database.query(`INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'log_stream', 'default', $3)`, [
    runId,
    projectId,
    userId,
  ]);
  await database.query(`INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'experiment', 'E', $3)`, [
    experimentId,
    projectId,
    userId,
  ]);
});

describe('finding metrics', () => {
  test('a built-in is found as the clients look for it: by label, by label that is its name, by name', async () => {
    const byLabel = await listed([{ name: 'label', operator: 'eq', value: 'Toxicity', case_sensitive: false, strict: false }]);
    expect(byLabel).toMatchObject([
      {
        name: 'toxicity',
        label: 'Toxicity',
        scorer_type: 'preset',
        model_type: 'llm',
        output_type: 'percentage',
        tags: ['Safety Metrics'],
      },
    ]);
    expect(
      await listed([
        { name: 'label', operator: 'one_of', value: ['numeric_match', 'Exact Match'], case_sensitive: false, strict: false },
      ]),
    ).toMatchObject([{ name: 'exact_match' }, { name: 'numeric_match' }]);
    expect(await listed([{ name: 'name', operator: 'eq', value: 'toxicity' }])).toEqual(byLabel);
    expect(await listed([{ name: 'label', operator: 'eq', value: 'numeric_match' }])).toEqual([]);
    expect(await listed([{ name: 'id', operator: 'one_of', value: [byLabel[0]?.id] }])).toEqual(byLabel);
    const { body } = await call('GET', `/scorers/${byLabel[0]?.id}`);
    expect(body).toEqual(byLabel[0]);
  });

  test('a metric says what it needs: a built-in of itself, a judge of yours by what its prompt asks for', async () => {
    const needsOf = async (name: string) => (await listed([{ name: 'name', operator: 'eq', value: name }]))[0]?.needs;
    expect(await needsOf('exact_match')).toEqual(['reference_output']);
    expect(await needsOf('context_precision')).toEqual(['judge_model', 'context']);
    expect(await needsOf('tool_selection_quality')).toEqual(['judge_model', 'tool_calls']);
    expect(await needsOf('latency')).toEqual([]);
    const name = `judge ${newId()}`;
    const { body } = await call('POST', '/scorers', { name, scorer_type: 'llm' });
    expect(await needsOf(name)).toEqual(['judge_model']);
    const prompt = 'Does {{output}} follow from {{context}}, {{expected}} and {{metadata.plan}}?';
    await call('POST', `/scorers/${body.id}/version/llm`, { user_prompt: prompt });
    expect(await needsOf(name)).toEqual(['judge_model', 'reference_output', 'context', 'metadata']);
    const requiring = async (scorer_type: string, ...required_scorers: string[]) => {
      const scorer = { name: `requiring ${newId()}`, scorer_type, required_scorers };
      const { status, body } = await call('POST', '/scorers', scorer);
      expect(status, JSON.stringify(body)).toBe(200);
      return body as ScorerJson;
    };
    const code = await requiring('code', name);
    const ofCode = { code: '', scoreType: 'float', outputType: 'discrete' } as const;
    const definition = { ...ofCode, nodeTypes: ['llm'], aggregates: false, chainAggregation: null };
    await store.addVersion({ id: newId(), scorerId: code.id as string, createdBy: userId, definition });
    const above = await requiring('code', 'exact_match', code.name as string);
    for (const one of [code, above, await requiring('code', 'correctness')]) {
      expect(one).toMatchObject({ needs: ['judge_model'], included_fields: [] });
      expect(await needsOf(one.name as string)).toEqual(['judge_model']);
    }
    expect((await requiring('code', 'exact_match')).needs).toEqual([]);
    const judge = await requiring('llm', code.name as string);
    expect(judge).toMatchObject({ needs: ['judge_model'], included_fields: ['model_name', 'num_judges'] });
  });

  test('every built-in is listed once over all pages, and the last page ends the loop', async () => {
    const names: string[] = [];
    for (let token: number | null = 0; token !== null; ) {
      const { body } = await call('POST', `/scorers/list?limit=7&starting_token=${token}`, {
        filters: [{ name: 'scorer_type', operator: 'eq', value: 'preset' }],
      });
      names.push(...(body.scorers as ScorerJson[]).map((scorer) => scorer.name));
      expect(body.paginated).toBe(body.next_starting_token !== null);
      token = body.next_starting_token as number | null;
    }
    expect(names.sort()).toEqual(builtinMetrics.map((metric) => metric.name).sort());
  });

  test('every label, wire name and key of the clients leads to its metric, and so does each older name', async () => {
    const labels = labelledMetrics.map(([label]) => label);
    const found = await listed([{ name: 'label', operator: 'one_of', value: labels, case_sensitive: false, strict: false }]);
    expect(new Map(found.map(({ label, name }) => [label, name]))).toEqual(
      new Map(labelledMetrics.map(([label, , name]) => [label, name])),
    );
    const names = [...new Set([...labelledMetrics.map(([, , name]) => name), ...wireNames, ...otherWireNames])];
    expect(names).toHaveLength(73);
    const byName = await listed([{ name: 'name', operator: 'one_of', value: names }]);
    expect(byName.map(({ name }) => name).sort()).toEqual(names.toSorted());
    const resolved = async (name: string) => (await resolveMetrics(store, [name]))[0]?.name;
    for (const [label, key, name] of labelledMetrics) {
      expect(await resolved(label), label).toBe(name);
      expect(await resolved(name), name).toBe(name);
      if (key !== null) expect(await resolved(key), key).toBe(name);
    }
    for (const name of names) expect(await resolved(name), name).toBe(name);
    for (const [older, name] of Object.entries(olderNames)) {
      expect(await resolved(older), older).toBe(name);
      expect((await listed([{ name: 'name', operator: 'eq', value: older }])).map((one) => one.name)).toEqual([name]);
    }
    const keys = ['action_completion', 'inputPii', 'input_sexism_luna', 'output_tone_luna', 'input_pii'];
    expect(await Promise.all(keys.map(resolved))).toEqual([
      ...['agentic_session_success', 'input_pii_gpt', 'input_sexist_luna', 'output_tone', 'input_pii'],
    ]);
  });

  test('a scorer of a user comes before the built-in that clients knew by its name', async () => {
    const own = await versioned('Groundedness');
    const label = { name: 'label', operator: 'eq', value: 'groundedness', case_sensitive: false, strict: false };
    expect((await listed([label])).map(({ id }) => id)).toEqual([own.id]);
    expect((await resolveMetrics(store, ['groundedness']))[0]?.scorerId).toBe(own.id);
    await call('DELETE', `/scorers/${own.id}`);
    expect((await listed([label])).map(({ name }) => name)).toEqual(['context_adherence']);
    expect(await listed([{ ...label, strict: true }])).toEqual([]);
    expect((await listed([{ name: 'name', operator: 'ne', value: 'groundedness' }])).length).toBeGreaterThan(50);
  });

  test('a small tuned form says that it is one, also in the settings of a run', async () => {
    const [form] = await listed([{ name: 'name', operator: 'eq', value: 'completeness_luna' }]);
    expect(form).toMatchObject({
      ...{ label: 'Completeness (SLM)', scorer_type: 'preset', model_type: 'slm', output_type: 'percentage' },
      ...{ needs: ['judge_model'], included_fields: ['model_name', 'num_judges'] },
      description: expect.stringContaining('Computed by the judge of `completeness`'),
    });
    expect(await listed([{ name: 'id', operator: 'eq', value: form?.id }, { name: 'exclude_slm_scorers' }])).toEqual([]);
    const multimodal = { name: 'multimodal_capabilities', operator: 'contains', value: 'audio' };
    expect((await listed([multimodal])).map(({ name }) => name)).toContain('interruption_detection');
    const scorers = [{ id: form?.id, scorer_type: 'luna', name: 'completeness_luna' }];
    const { body } = await call('POST', `/projects/${projectId}/runs/${runId}/scorer-settings`, { run_id: runId, scorers });
    expect(body.scorers).toMatchObject([{ name: 'completeness_luna', scorer_type: 'preset', model_type: 'slm' }]);
  });

  test('no body lists everything; an unknown filter, operator or value is refused', async () => {
    expect((await call('POST', '/scorers/list')).status).toBe(200);
    expect((await call('POST', '/scorers/list', null)).status).toBe(200);
    for (const filter of [
      { name: 'color', operator: 'eq', value: 'x' },
      { name: 'name', operator: 'like', value: 'x' },
      { name: 'name', operator: 'eq', value: 7 },
    ])
      expect((await call('POST', '/scorers/list', { filters: [filter] })).status).toBe(422);
  });

  test('filters on tags, type, times, scope and creator narrow the users’ own scorers', async () => {
    const scorer = await judgeScorer('Filtered One', { project_ids: [projectId], model_type: 'slm' });
    const mine = async (...filters: Json[]) =>
      (await listed([{ name: 'id', operator: 'eq', value: scorer.id }, ...filters])).length;
    const created = scorer.created_at as string;
    expect(scorer).toMatchObject({ scope_projects: [{ id: projectId }], is_global: false, created_by: userId });
    expect(await mine({ name: 'tags', operator: 'contains', value: 'STYLE', case_sensitive: false })).toBe(1);
    expect(await mine({ name: 'tags', operator: 'not_in', value: ['style'] })).toBe(0);
    expect(await mine({ name: 'scoreable_node_types', operator: 'one_of', value: ['llm', 'trace'] })).toBe(1);
    expect(await mine({ name: 'scorer_type', operator: 'ne', value: 'llm' })).toBe(0);
    expect(await mine({ name: 'creator', value: userId })).toBe(1);
    expect(await mine({ name: 'created_at', operator: 'eq', value: created })).toBe(1);
    expect(await mine({ name: 'updated_at', operator: 'gt', value: '2999-01-01T00:00:00' })).toBe(0);
    expect(await mine({ name: 'is_global', value: false })).toBe(1);
    expect(await mine({ name: 'scope_projects', project_ids: [projectId] })).toBe(1);
    expect(await mine({ name: 'scope_projects', project_ids: [newId()], include_global: true })).toBe(0);
    expect(await mine({ name: 'exclude_slm_scorers' })).toBe(0);
    expect(await mine({ name: 'exclude_multimodal_scorers' })).toBe(1);
    expect(await listed([{ name: 'label', operator: 'contains', value: 'filtered', case_sensitive: false }])).toHaveLength(1);
  });

  test('a sort by run puts the metrics of the run first; actions keep those the caller may use so', async () => {
    const rouge = await listed([{ name: 'name', operator: 'eq', value: 'rouge' }]);
    await call('POST', `/projects/${projectId}/runs/${runId}/scorer-settings`, {
      run_id: runId,
      scorers: [{ id: rouge[0]?.id, scorer_type: 'preset' }],
    });
    const { body } = await call('POST', '/scorers/list', { filters: [], sort: { name: 'enabled_in_run', value: runId } });
    expect((body.scorers as ScorerJson[])[0]).toMatchObject({ name: 'rouge' });
    expect((await listed([], '?actions=update&actions=delete')).every((scorer) => scorer.scorer_type !== 'preset')).toBe(true);
  });
});

describe('scorers of users', () => {
  test('a judged scorer is made, versioned, changed, found and deleted', async () => {
    const scorer = await judgeScorer('Politeness');
    expect(scorer).toMatchObject({ label: 'Politeness', latest_version: null, default_version_id: null });
    const first = (await call('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt: 'Is it polite?' })).body;
    expect(first).toMatchObject({
      version: 1,
      scorer_id: scorer.id,
      num_judges: 3,
      model_name: 'gpt-4.1-mini',
      generated_scorer: {
        chain_poll_template: { template: 'Is it polite?' },
        scorer_configuration: { num_judges: 3, output_type: 'boolean', cot_enabled: true },
      },
    });
    const second = (
      await call('POST', `/scorers/${scorer.id}/version/llm`, {
        user_prompt: 'Is it very polite?',
        num_judges: 1,
        cot_enabled: false,
      })
    ).body;
    expect(second).toMatchObject({ version: 2, num_judges: 1, cot_enabled: false });
    expect((await call('GET', `/scorers/${scorer.id}/version`)).body).toEqual(second);
    expect((await call('GET', `/scorers/${scorer.id}/version?version=1`)).body).toEqual(first);
    expect((await call('GET', `/scorers/${scorer.id}/version?version=9`)).status).toBe(404);
    expect((await call('GET', `/scorers/${scorer.id}/versions?limit=1`)).body).toMatchObject({
      versions: [{ version: 2 }],
      paginated: true,
      next_starting_token: 1,
    });
    const restored = await call('POST', `/scorers/${scorer.id}/versions/1/restore`);
    const { id, version: _number, created_at, updated_at, generated_scorer, ...content } = restored.body as Json & { id: string };
    expect(restored.body).toMatchObject({ version: 3, num_judges: 3, chain_poll_template: { template: 'Is it polite?' } });
    expect(first).toMatchObject(content);
    expect((await call('GET', `/scorers/${scorer.id}`)).body).toMatchObject({
      default_version_id: id,
      latest_version: { version: 3 },
    });
    expect((await call('GET', `/scorers/${scorer.id}/version?version=1`)).body).toEqual(first);
    expect((await call('POST', `/scorers/${scorer.id}/versions/9/restore`)).status).toBe(404);
    expect((await call('POST', `/scorers/${scorer.id}/versions/x/restore`)).status).toBe(422);
    const tags = (await call('GET', '/scorers/tags')).body as unknown as string[];
    expect(tags.filter((tag) => tag === 'style')).toHaveLength(1);
    expect(tags).toEqual(tags.toSorted());
    const changed = (await call('PATCH', `/scorers/${scorer.id}`, { name: 'Courtesy', tags: null, default_version_id: first.id }))
      .body;
    expect(changed).toMatchObject({
      name: 'Courtesy',
      tags: ['style'],
      default_version: { version: 1 },
      latest_version: { version: 3 },
    });
    const deleted = await call('DELETE', `/scorers/${scorer.id}`);
    expect(deleted).toMatchObject({ status: 200, body: { message: expect.stringContaining('Courtesy') } });
    expect((await call('GET', `/scorers/${scorer.id}`)).status).toBe(404);
    expect((await call('DELETE', `/scorers/${scorer.id}`)).status).toBe(404);
    expect(await listed([{ name: 'id', operator: 'eq', value: scorer.id }])).toEqual([]);
    await judgeScorer('Courtesy'); // the name is free again
  });

  test('a scorer of code with a check computes at once, and what a run froze of it stays', async () => {
    const check = { type: 'regex', pattern: '^AB-[0-9]+$' };
    const made = await call('POST', '/scorers', { name: 'Ticket', scorer_type: 'code', check, project_ids: [projectId] });
    expect([made.status, made.body]).toMatchObject([
      200,
      { check, output_type: 'boolean', model_type: 'code', direction: 'higher', needs: [], warnings: [], default_version: null },
    ]);
    const { id } = made.body as ScorerJson;
    const settings = { run_id: runId, scorers: [{ id, scorer_type: 'code', name: 'Ticket' }] };
    const { body } = await call('POST', `/projects/${projectId}/runs/${runId}/scorer-settings`, settings);
    expect(body.scorers).toMatchObject([{ id, name: 'Ticket', scorer_type: 'code', model_type: 'code', output_type: 'boolean' }]);
    const valueBy = async (metric: EnabledMetric | undefined, output: string) => {
      const context = { signal: new AbortController().signal, complete: () => Promise.reject(new Error('not asked')) };
      return scoreRecord(metric as EnabledMetric, { ...emptyRecord, output }, context);
    };
    const [metric] = await runScorers(store, projectId, runId);
    const frozen = freezeMetric(metric as EnabledMetric, noJudge);
    expect(await valueBy(metric, 'AB-1')).toEqual({ value: true });
    const other = { type: 'contains_any', texts: ['x'] };
    expect((await call('PATCH', `/scorers/${id}`, { check: other })).body).toMatchObject({ check: other, direction: 'higher' });
    const [changed] = await runScorers(store, projectId, runId);
    expect(await valueBy(changed, 'AB-1')).toMatchObject({ value: false });
    expect(await valueBy(thawMetric(frozen), 'AB-1')).toEqual({ value: true });
    expect(freezeMetric(changed as EnabledMetric, noJudge).version).not.toBe(frozen.version);
    expect((await enabledMetricColumns(store, projectId, runId)).map(toDescriptor)).toMatchObject([
      { id: `metrics/${id}`, label: 'Ticket', data_type: 'boolean', direction: 'higher' },
    ]);
  });

  test.each([
    [{ scorer_type: 'llm' }, ['body', 'check'], /type llm has no check/],
    [{ output_type: 'percentage' }, ['body', 'output_type'], /boolean, not percentage/],
    [{ check: { type: 'regex', pattern: '(' } }, ['body', 'check', 'pattern'], /cannot be used: .*missing/],
    [{ check: { type: 'json_schema', schema: { type: 'thing' } } }, ['body', 'check', 'schema'], /cannot be used/],
    [{ check: { type: 'regexp', pattern: 'a' } }, ['body', 'check', 'type'], /./],
    [{ check: { type: 'contains_all', texts: [] } }, ['body', 'check', 'texts'], /./],
  ])('a check that cannot be, %j, is refused', async (more, loc, msg) => {
    const check = { type: 'latency', max_ms: 100 };
    const { status, body } = await call('POST', '/scorers', { name: `no ${newId()}`, scorer_type: 'code', check, ...more });
    expect([status, body]).toMatchObject([422, { detail: [{ loc, msg: expect.stringMatching(msg) }] }]);
  });

  test('says which values are better and between which they lie', async () => {
    const rated = await judgeScorer('Rated', { output_type: 'discrete', direction: 'lower', range: { min: 1, max: 5 } });
    const scale = { direction: 'lower', range: { min: 1, max: 5 } };
    expect(rated).toMatchObject(scale);
    expect((await call('POST', `/scorers/${rated.id}/version/llm`, { user_prompt: 'Rate {{output}}' })).status).toBe(200);
    const words =
      'Is {{ouput}} right for {{metadta.plan}} in JSON {"a": {"b": 1}} and {set}, \\{{literally}}, {{ input.question }}?';
    const typo = await call('POST', `/scorers/${rated.id}/version/llm`, { user_prompt: words });
    expect(typo.status).toBe(422);
    expect((typo.body as unknown as { detail: object[] }).detail).toMatchObject([
      { loc: ['body', 'user_prompt'], msg: expect.stringMatching(/knows no "\{\{ouput\}\}"; the closest are \{\{output\}\}/) },
      { loc: ['body', 'user_prompt'], msg: expect.stringMatching(/closest are \{\{metadata\.plan\}\}/) },
    ]);
    const inInstructions = await call('POST', `/scorers/${rated.id}/version/llm`, { instructions: 'Rate {{answer}}' });
    expect([inInstructions.status, inInstructions.body]).toMatchObject([422, { detail: [{ loc: ['body', 'instructions'] }] }]);
    await call('PATCH', `/projects/${projectId}/log_streams/${runId}/metric_settings`, {
      scorers: [{ id: rated.id, scorer_type: 'llm' }],
    });
    const columns = await enabledMetricColumns(store, projectId, runId);
    expect(columns.map(toDescriptor)).toMatchObject([{ id: `metrics/${rated.id}`, ...scale }]);
    expect((await call('PATCH', `/scorers/${rated.id}`, { tags: ['new'] })).body).toMatchObject(scale);
    expect((await call('PATCH', `/scorers/${rated.id}`, { direction: 'higher' })).body).toMatchObject({
      ...scale,
      direction: 'higher',
    });
    expect((await call('PATCH', `/scorers/${rated.id}`, { direction: null, range: null })).body).toMatchObject({
      direction: null,
      range: null,
    });
    // A field that follows from the type of the values may be left out.
    expect(await judgeScorer('Polite')).toMatchObject({ direction: null, range: { min: 0, max: 1 } });
    expect(await judgeScorer('Tones', { output_type: 'categorical' })).toMatchObject({ direction: null, range: null });
    expect((await listed([{ name: 'name', operator: 'eq', value: 'latency' }]))[0]).toMatchObject({
      direction: 'lower',
      range: null,
    });
  });

  test('shows the colours of a number under both of their names', async () => {
    const colors = { type: 'numeric', constraints: [{ color: 'red', operator: 'lt', value: 0.5 }] };
    const made = await call('POST', '/scorers', { name: 'Coloured', scorer_type: 'llm', metric_color_picker_config: colors });
    expect(made.body).toMatchObject({ metric_color_picker_config: colors, color_threshold_config: colors });
    const labels = { type: 'boolean', constraints: [{ color: 'green', operator: 'eq', value: true }] };
    const changed = await call('PATCH', `/scorers/${made.body.id}`, { metric_color_picker_config: labels });
    expect(changed.body).toMatchObject({ metric_color_picker_config: labels, color_threshold_config: null });
  });

  test('is refused a direction or a range that its values cannot have', async () => {
    const refused = async (body: Json, key: string) => {
      const answer = await call('POST', '/scorers', { name: `Odd ${newId()}`, scorer_type: 'llm', ...body });
      expect(answer, JSON.stringify(answer.body)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', ...key.split('.')] }] },
      });
    };
    await refused({ direction: 'up' }, 'direction');
    await refused({ output_type: 'discrete', range: { min: 5, max: 1 } }, 'range.max');
    await refused({ output_type: 'discrete', range: { min: 1 } }, 'range.max');
    await refused({ output_type: 'boolean', range: { min: 1, max: 5 } }, 'range');
    await refused({ output_type: 'categorical', direction: 'higher' }, 'direction');
    await refused({ output_type: 'freeform', range: { min: 0, max: 1 } }, 'range');
    await refused({ output_type: 'boolean', categories: ['a'] }, 'categories');
    await refused({ output_type: 'categorical', categories: ['a', 'A'] }, 'categories');
    await refused({ output_type: 'categorical', categories: [] }, 'categories');
    const labels = { output_type: 'categorical', categories: ['good', 'bad'] };
    const labelled = await call('POST', '/scorers', { name: 'Labelled', scorer_type: 'llm', ...labels });
    expect(labelled.body).toMatchObject(labels);
    expect((await call('GET', `/scorers/${labelled.body.id}`)).body).toMatchObject(labels);
    // The type may come with the first version: it is the one that is checked then.
    const open = await call('POST', '/scorers', { name: 'Open', scorer_type: 'llm', range: { min: 1, max: 5 } });
    expect(open.body).toMatchObject({ range: { min: 1, max: 5 } });
    const version = (output_type: string) =>
      call('POST', `/scorers/${open.body.id}/version/llm`, { user_prompt: 'Rate it', output_type });
    expect((await version('boolean')).status).toBe(422);
    expect((await version('count')).status).toBe(200);
    expect(
      (await call('PATCH', `/scorers/${open.body.id}`, { output_type: 'percentage', range: { min: 0, max: 2 } })).status,
    ).toBe(422);
  });

  test('a prompt with an unknown placeholder is refused with the closest one when the scorer is made or changed', async () => {
    const refusal = {
      status: 422,
      body: {
        detail: [
          { loc: ['body', 'user_prompt'], type: 'placeholder_unknown', msg: expect.stringMatching(/closest are \{\{output\}\}/) },
        ],
      },
    };
    const typo = { user_prompt: 'Is {{ouput}} right?' };
    expect(await call('POST', '/scorers', { name: 'Typing', scorer_type: 'llm', ...typo })).toMatchObject(refusal);
    const scorer = await judgeScorer('Typing', { user_prompt: 'Is {{output}} right?' });
    expect(await call('PATCH', `/scorers/${scorer.id}`, typo)).toMatchObject(refusal);
    for (const user_prompt of ['Is {{}} right?', 'Is {{ }} right?'])
      expect(await call('PATCH', `/scorers/${scorer.id}`, { user_prompt })).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'placeholder_unknown', msg: expect.stringMatching(/"\{\{\}\}" has no name/) }] },
      });
    expect((await call('PATCH', `/scorers/${scorer.id}`, { user_prompt: 'Is {{output}} \\{{}}?' })).status).toBe(200);
  });

  test('versions made at once are numbered one after the other', async () => {
    const scorer = await judgeScorer('Busy');
    const made = await Promise.all(
      Array.from({ length: 5 }, (_, n) => call('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt: `Prompt ${n}` })),
    );
    expect(made.map(({ body }) => body.version).sort()).toEqual([1, 2, 3, 4, 5]);
  });

  test('a name that is taken, also by a built-in, is refused', async () => {
    await judgeScorer('Taken');
    const other = await judgeScorer('Other');
    for (const name of ['taken', 'Toxicity', 'numeric_match']) {
      expect((await call('POST', '/scorers', { name, scorer_type: 'llm' })).status, name).toBe(409);
      expect((await call('PATCH', `/scorers/${other.id}`, { name })).status, name).toBe(409);
    }
    expect((await call('PATCH', `/scorers/${other.id}`, { name: 'OTHER' })).status).toBe(200);
  });

  test('what cannot be is refused with a sentence', async () => {
    const scorer = await judgeScorer('Refusals');
    const refused = async (status: number, method: string, path: string, body?: Json) => {
      const answer = await call(method, path, body);
      expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBe(status);
    };
    const preset = (await listed([{ name: 'name', operator: 'eq', value: 'bleu' }]))[0]?.id;
    await refused(403, 'DELETE', `/scorers/${preset}`);
    await refused(403, 'PATCH', `/scorers/${preset}`, { name: 'x' });
    await refused(403, 'POST', `/scorers/${preset}/version/llm`, { user_prompt: 'x' });
    await refused(404, 'GET', `/scorers/${newId()}`);
    await refused(404, 'GET', `/scorers/${scorer.id}/version`);
    await refused(422, 'GET', '/scorers/not-an-id');
    await refused(422, 'POST', '/scorers', { name: ' ', scorer_type: 'llm' });
    await refused(422, 'POST', '/scorers', { name: 'P', scorer_type: 'preset' });
    await refused(422, 'POST', '/scorers', { name: 'P', scorer_type: 'magic' });
    await refused(422, 'POST', '/scorers', { name: 'P', scorer_type: 'llm', defaults: { num_judges: 11 } });
    await refused(422, 'POST', '/scorers', { name: 'P\u0000', scorer_type: 'llm' });
    await refused(422, 'POST', `/scorers/${scorer.id}/version/llm`, {});
    await refused(422, 'PATCH', `/scorers/${scorer.id}`, { default_version_id: newId() });
    const code = (await call('POST', '/scorers', { name: 'My code', scorer_type: 'code' })).body;
    await refused(422, 'POST', `/scorers/${code.id}/version/llm`, { user_prompt: 'x' });
  });

  test('who may only read finds scorers and makes none', async () => {
    const readOnly = { 'x-role': 'read_only' };
    expect((await call('POST', '/scorers', { name: 'Nope', scorer_type: 'llm' }, readOnly)).status).toBe(403);
    const { status, body } = await call('POST', '/scorers/list', { filters: [] }, readOnly);
    expect(status).toBe(200);
    expect((body.scorers as { permissions: Json[] }[])[0]?.permissions).toContainEqual({
      action: 'update',
      allowed: false,
      message: null,
    });
  });
});

describe('metrics of a run', () => {
  const settingsPath = () => `/projects/${projectId}/runs/${runId}/scorer-settings`;

  test('a run without settings has none; both forms of the setting show the same state', async () => {
    expect(await call('GET', settingsPath())).toEqual({
      status: 200,
      body: { run_id: runId, scorers: [], segment_filters: null },
    });
    const [toxicity] = await listed([{ name: 'name', operator: 'eq', value: 'toxicity' }]);
    // The whole scorer travels, as one client sends it.
    const set = await call('POST', `/v2${settingsPath()}`, { run_id: runId, scorers: [toxicity] });
    expect(set).toMatchObject({
      status: 200,
      body: {
        run_id: runId,
        scorers: [{ id: toxicity?.id, name: 'toxicity', scorer_type: 'preset', output_type: 'percentage' }],
      },
    });
    expect((await call('GET', settingsPath())).body).toEqual(set.body);
    const other = `/projects/${projectId}/log_streams/${runId}/metric_settings`;
    expect((await call('GET', other)).body.scorers).toEqual(set.body.scorers);
    const segments = [{ sample_rate: 0.5, filter: { name: 'node_name', operator: 'eq', value: 'chat' } }];
    const patched = await call('PATCH', other, { segment_filters: segments });
    expect(patched.body).toMatchObject({ scorers: set.body.scorers, segment_filters: segments });
    expect((await call('PATCH', settingsPath(), { run_id: runId, scorers: [], segment_filters: null })).body).toMatchObject({
      scorers: [],
      segment_filters: segments,
    });
  });

  test('settings are per run and kind of run, and unknown runs, projects and scorers are refused', async () => {
    expect((await call('GET', `/projects/${projectId}/experiments/${runId}/metric_settings`)).status).toBe(404);
    expect((await call('GET', `/projects/${projectId}/experiments/${experimentId}/metric_settings`)).status).toBe(200);
    expect((await call('GET', `/projects/${newId()}/runs/${runId}/scorer-settings`)).status).toBe(404);
    expect(
      (await call('POST', `/projects/${projectId}/runs/${newId()}/scorer-settings`, { run_id: newId(), scorers: [] })).status,
    ).toBe(404);
    const unknown = await call('POST', settingsPath(), {
      run_id: runId,
      scorers: [{ id: newId(), name: 'ghost', scorer_type: 'llm' }],
    });
    expect(unknown.status).toBe(422);
    expect(JSON.stringify(unknown.body)).toContain('ghost');
    expect((await call('GET', settingsPath())).body.scorers).toEqual([]);
    const unversioned = await judgeScorer('No version yet');
    expect(
      (await call('POST', settingsPath(), { run_id: runId, scorers: [{ id: unversioned.id, scorer_type: 'llm' }] })).status,
    ).toBe(422);
  });

  test('a scorer that cannot be computed is not set, and the answer says why; the others are set', async () => {
    const ids = ['exact_match', 'bleu', 'rouge'].map((name) => presets.find((preset) => preset.name === name)?.id as string);
    const unversioned = await judgeScorer('Never written');
    const ghost = newId();
    const configs = [
      { id: ids[0], scorer_type: 'preset' },
      { id: unversioned.id, name: 'Never written', scorer_type: 'llm' },
      { id: ids[1], scorer_type: 'preset' },
      { id: ghost, scorer_type: 'llm' },
      { id: ids[2], scorer_type: 'preset' },
    ];
    for (const [method, path] of [
      ['POST', settingsPath()],
      ['PATCH', `/projects/${projectId}/log_streams/${runId}/metric_settings`],
    ] as const) {
      const { status, body } = await call(method, path, { run_id: runId, scorers: configs });
      expect(status).toBe(200);
      expect((body.scorers as { id: string }[]).map(({ id }) => id)).toEqual(ids);
      expect(body.not_set).toEqual([
        { index: 1, scorer: 'Never written', reason: expect.stringContaining('has no version yet') },
        { index: 3, scorer: ghost, reason: expect.stringContaining(`no scorer has the id ${ghost}`) },
      ]);
      const { body: now } = await call('GET', path);
      expect((now.scorers as { id: string }[]).map(({ id }) => id)).toEqual(ids);
      expect(now).not.toHaveProperty('not_set');
    }
  });

  test('a run gives its metrics ready to score, and their columns', async () => {
    const polite = await versioned('Polite Enough');
    const [match] = await listed([{ name: 'label', operator: 'eq', value: 'Numeric Match' }]);
    await call('POST', settingsPath(), {
      run_id: runId,
      scorers: [
        { id: match?.id, scorer_type: 'preset', name: 'numeric_match' },
        { id: polite.id, scorer_type: 'llm', scoreable_node_types: ['chat'] },
      ],
    });
    const metrics = await runScorers(store, projectId, runId);
    expect(metrics).toMatchObject([
      { name: 'numeric_match', kinds: ['trace'], judgeModel: null, needs: 'code' },
      {
        name: polite.id,
        alias: 'Polite Enough',
        kinds: ['llm'],
        judgeModel: 'gpt-4.1-mini',
        needs: 'judge',
        dataType: 'boolean',
      },
    ]);
    expect(await enabledMetricColumns(store, projectId, runId)).toMatchObject([
      {
        id: 'metrics/numeric_match',
        label: 'Numeric Match',
        dataType: 'boolean',
        rollUpMethod: 'percentage_true',
        category: 'metric',
      },
      {
        id: `metrics/${polite.id}`,
        label: 'Polite Enough',
        metricKeyAlias: 'Polite Enough',
        scorerId: polite.id,
        groupLabel: 'Custom Metrics',
      },
    ]);
    expect((await projectMetricColumns(store, projectId)).map((column) => column.id).sort()).toEqual(
      ['metrics/numeric_match', `metrics/${polite.id}`].sort(),
    );
    await call('DELETE', `/scorers/${polite.id}`);
    expect(await runScorers(store, projectId, runId), 'a deleted scorer stays with the runs that use it').toHaveLength(2);
    const kept = (await call('GET', settingsPath())).body.scorers;
    expect((await call('PATCH', settingsPath(), { run_id: runId, scorers: kept })).status).toBe(200);
    const elsewhere = `/projects/${projectId}/experiments/${experimentId}/metric_settings`;
    expect((await call('PATCH', elsewhere, { scorers: kept })).body).toMatchObject({
      scorers: [{ name: 'numeric_match' }],
      not_set: [{ index: 1, scorer: 'Polite Enough', reason: expect.stringContaining(polite.id) }],
    });
    expect((await call('PATCH', elsewhere, { scorers: [{ id: polite.id, scorer_type: 'llm' }] })).status).toBe(422);
  });

  test('metrics are resolved by label, name and id, once each; unknown ones are named with their neighbours', async () => {
    const own = await versioned('House Style', { label: 'In House Style' });
    const names = ['Exact Match', 'exact_match', ' TOXICITY ', 'in house style', own.id];
    expect((await resolveMetrics(store, names)).map((metric) => metric.label)).toEqual([
      'Exact Match',
      'Toxicity',
      'In House Style',
    ]);
    const refused = resolveMetrics(store, ['toxicity', 'toxcity', 'numericmatch'], ['body', 'metrics']);
    await expect(refused).rejects.toBeInstanceOf(RequestInvalid);
    await expect(refused).rejects.toMatchObject({
      items: [
        { loc: ['body', 'metrics', 1], msg: expect.stringMatching(/"toxcity"; nearest: toxicity/) },
        { loc: ['body', 'metrics', 2], msg: expect.stringContaining('numeric_match') },
      ],
    });
    expect(await resolveMetrics(store, [])).toEqual([]);
  });

  test('a version that is named is the one that runs', async () => {
    const scorer = await versioned('Pinned', {}, 'first words');
    const first = (await call('GET', `/scorers/${scorer.id}/version`)).body;
    await call('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt: 'second words' });
    const settings = { run_id: runId, scorers: [{ id: scorer.id, scorer_type: 'llm', num_judges: 1, scorer_version: first }] };
    expect((await call('POST', settingsPath(), settings)).status).toBe(200);
    const asked = await askedBy((await runScorers(store, projectId, runId))[0] as never);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.prompt).toContain('first words');
    const alien = await versioned('Alien');
    const wrong = { run_id: runId, scorers: [{ id: alien.id, scorer_type: 'llm', scorer_version: first }] };
    expect((await call('POST', settingsPath(), wrong)).status).toBe(422);
  });

  test('a user’s prompt points at the fenced record instead of holding its text', async () => {
    await versioned('Fenced', { ground_truth: false }, 'Does {{ response }} agree with {expected}? Give {"rating": 1}.');
    const [metric] = await resolveMetrics(store, ['Fenced']);
    const asked = await askedBy(metric as never);
    expect(asked).toHaveLength(3); // as many judges as its defaults say
    expect(asked[0]?.prompt).toContain(
      'Does (the material named "output") agree with (the material named "reference answer")? Give {"rating": 1}.',
    );
    expect(asked[0]?.prompt).toContain('name="reference answer">\nParis\n');
  });
});

async function askedBy(metric: Parameters<typeof scoreRecord>[0]): Promise<JudgeRequest[]> {
  const asked: JudgeRequest[] = [];
  const record = scoredRecord({ input: 'Capital of France?', output: 'It is Paris.', datasetOutput: 'Paris' });
  const score = await scoreRecord(metric, record, {
    signal: new AbortController().signal,
    async complete(request) {
      asked.push(request);
      return { text: '{"explanation":"ok","verdict":true}', inputTokens: 1, outputTokens: 1, model: 'judge', costUsd: null };
    },
  });
  expect(score).toMatchObject({ value: true });
  return asked;
}

test('which records a metric takes: kinds, and filters that must all hold', () => {
  const target = { kind: 'llm', name: 'Draft', metadata: { tier: 'gold', n: 3 }, modalities: ['text'] };
  const taken = (...filters: Parameters<typeof isScored>[0]['filters']) => isScored({ kinds: ['llm'], filters }, target);
  expect(taken()).toBe(true);
  expect(isScored({ kinds: ['trace'], filters: [] }, target)).toBe(false);
  expect(taken({ name: 'node_name', operator: 'contains', value: 'draf', case_sensitive: false })).toBe(true);
  expect(taken({ name: 'node_name', operator: 'contains', value: 'draf', case_sensitive: true })).toBe(false);
  expect(taken({ name: 'metadata', operator: 'eq', key: 'n', value: '3' })).toBe(true);
  expect(taken({ name: 'metadata', operator: 'eq', key: 'toString', value: 'x' })).toBe(false);
  expect(taken({ name: 'metadata', operator: 'ne', key: 'absent', value: 'x' })).toBe(true);
  expect(
    taken(
      { name: 'metadata', operator: 'one_of', key: 'tier', value: ['gold', 'silver'] },
      { name: 'modality', operator: 'not_in', value: ['text'] },
    ),
  ).toBe(false);
});
