// A service of its own: it gives the code of a metric ten seconds, so that code without an end is over soon.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDataset, runExperiment, ServiceClient } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let client: ServiceClient;
beforeAll(async () => {
  service = await startTestService({ CODE_METRIC_SECONDS: '10' });
  client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const LONG = 120_000;
const length = `
def scorer_fn(*, step_object, **kwargs) -> int:
    return len(step_object.output), {'input': step_object.input}
`;

interface Answer<T> {
  status: number;
  body: T;
}

async function send<T>(path: string, parts: [string, string][], code?: string): Promise<Answer<T>> {
  const form = new FormData();
  if (code !== undefined) form.append('file', new File([code], 'scorer.py', { type: 'application/octet-stream' }));
  for (const [name, text] of parts) form.append(name, text);
  const headers = { 'Service-API-Key': service.apiKey };
  const response = await fetch(`${service.url}${path}`, { method: 'POST', headers, body: form });
  return { status: response.status, body: (await response.json()) as T };
}

interface Task {
  status: string;
  result: { result: Record<string, unknown> } | null;
}

/** The answer of a check once it has ended. */
async function validated(code: string, parts: [string, string][] = []): Promise<Task> {
  const { status, body } = await send<{ task_id: string }>('/scorers/code/validate', parts, code);
  expect([status, body]).toEqual([200, { task_id: expect.any(String) }]);
  let task: Task | undefined;
  await expect
    .poll(
      async () => {
        task = (await service.request('GET', `/v2/scorers/code/validate/${body.task_id}`)).body as Task;
        return task.status;
      },
      { timeout: LONG, interval: 200 },
    )
    .toBe('completed');
  return task as Task;
}

interface Version {
  id: string;
  version: number;
  [key: string]: unknown;
}

/** A metric as existing clients make one: checked, created, and given its first version. */
async function metric(
  code: string,
  kind = 'trace',
  more: object = {},
): Promise<{ id: string; name: string; add(code: string): Promise<Version> }> {
  const name = `metric ${newId()}`;
  const { body } = await service.request('POST', '/scorers', {
    name,
    scorer_type: 'code',
    output_type: null,
    required_scorers: null,
    ...more,
  });
  const { id } = body as { id: string };
  const add = async (source: string) => {
    const { result } = await validated(source, [['scoreable_node_types', kind]]);
    const added = await send<Version>(`/scorers/${id}/version/code`, [['validation_result', JSON.stringify(result)]], source);
    expect([added.status, added.body]).toEqual([200, expect.objectContaining({ scorer_id: id })]);
    return added.body;
  };
  await add(code);
  return { id, name, add };
}

interface Found {
  input: string;
  metric_info: Record<string, { status_type: string; value?: unknown; message?: string; metadata?: object }>;
}

async function valuesOf(projectId: string, run: object, scorerId: string): Promise<Record<string, unknown>> {
  const search = { ...run, limit: 100, include_code_metric_metadata: true };
  const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, search);
  return Object.fromEntries(
    (body as { records: Found[] }).records.map(({ input, metric_info }) => {
      const one = metric_info?.[scorerId];
      return [input, one?.status_type === 'success' ? one.value : (one?.message ?? one?.status_type)];
    }),
  );
}

describe('the code of a metric', () => {
  test('is checked on a sample of each kind, in either form of a list', async () => {
    const sample: [string, string][] = [
      ['test_input', 'Hi'],
      ['test_output', 'Hello'],
    ];
    const repeated: [string, string][] = [
      ['scoreable_node_types', 'trace'],
      ['scoreable_node_types', 'llm'],
      ['required_scorers', ''],
    ];
    const valid = (
      await validated('def scorer_fn(*, node_output, **kwargs) -> int:\n    return len(node_output)', [...sample, ...repeated])
    ).result?.result;
    expect(valid).toEqual({
      ...{ result_type: 'valid', score_type: 'int', scoreable_node_types: ['trace', 'llm'] },
      ...{ include_llm_credentials: false, chain_aggregation: null },
      test_scores: [
        { node_type: 'trace', score: 5 },
        { node_type: 'llm', score: 5 },
      ],
    });
    const listed = await validated(length, [['scoreable_node_types', '["trace", "session"]']]);
    expect(listed.result?.result).toMatchObject({ scoreable_node_types: ['trace', 'session'], test_scores: [] });
    expect((await validated(length)).result?.result).toMatchObject({ scoreable_node_types: ['llm'] });
    const silent = 'def scorer_fn(*, node_output, **kwargs):\n    return node_output.startswith("H")';
    expect((await validated(silent, sample)).result?.result).toMatchObject({
      score_type: 'bool',
      test_scores: [{ score: true }],
    });
    expect((await validated(silent)).result?.result).toMatchObject({ score_type: 'float' });
    // As Python writes lists that are absent.
    const none: [string, string][] = [
      ['scoreable_node_types', 'None'],
      ['required_scorers', 'None'],
    ];
    expect((await validated(length, none)).result?.result).toMatchObject({ scoreable_node_types: ['llm'] });
  });

  test.each([
    ['a module that is not there', 'import numpy\ndef scorer_fn(**kwargs): return 1', [], "No module named 'numpy'"],
    [
      'a failure on the sample',
      'def scorer_fn(**kwargs): return {}[1]',
      [['test_input', 'x']],
      'on the test record of the kind llm: KeyError: 1 (line 1)',
    ],
    [
      'a kind of records that there is not',
      length,
      [['scoreable_node_types', 'traces']],
      'no kind of record is called "traces"; nearest: trace',
    ],
  ] as [string, string, [string, string][], string][])('is invalid for %s', async (_, code, parts, reason) => {
    const { result } = (await validated(code, parts)).result ?? {};
    expect(result).toEqual({ result_type: 'invalid', error_message: expect.stringContaining(reason) });
    const { id } = (await service.request('POST', '/scorers', { name: newId(), scorer_type: 'code' })).body as { id: string };
    const refused = await send(`/scorers/${id}/version/code`, [['validation_result', JSON.stringify({ result })]], code);
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('the code is invalid')]);
  });

  test('is taken with any form of what came of its validation, and without the fields that have defaults', async () => {
    const task = await validated(length);
    const { include_llm_credentials: _, result_type: __, ...least } = { ...task.result?.result } as Record<string, unknown>;
    const { id } = (await service.request('POST', '/scorers', { name: newId(), scorer_type: 'code' })).body as { id: string };
    for (const handed of [task, task.result, task.result?.result, least]) {
      const added = await send(`/scorers/${id}/version/code`, [['validation_result', JSON.stringify(handed)]], length);
      expect([added.status, added.body]).toEqual([200, expect.objectContaining({ scorer_id: id })]);
    }
    const { scoreable_node_types: ___, ...lacking } = least;
    const parts: [string, string][] = [['validation_result', JSON.stringify(lacking)]];
    expect((await send(`/scorers/${id}/version/code`, parts, length)).status).toBe(422);
  });

  test('is no text, is too long, or is for a judge: refused', async () => {
    const long = await send('/scorers/code/validate', [], '#'.repeat(70_000));
    expect([long.status, JSON.stringify(long.body)]).toEqual([422, expect.stringContaining('70000 bytes; at most 65536')]);
    expect((await send('/scorers/code/validate', [])).status).toBe(422);
    expect((await service.request('GET', `/scorers/code/validate/${newId()}`)).status).toBe(404);
    const { result } = await validated(length);
    const { id } = (await service.request('POST', '/scorers', { name: newId(), scorer_type: 'llm' })).body as { id: string };
    const parts: [string, string][] = [['validation_result', JSON.stringify(result)]];
    expect((await send(`/scorers/${id}/version/code`, parts, length)).status).toBe(422);
    expect((await service.request('GET', `/scorers/${id}/version/code`)).status).toBe(404);
  });

  test('is read back, version by version, and stands in the answers for its scorer', async () => {
    const { id, name, add } = await metric(length);
    const aggregated = `${length}\ndef aggregator_fn(*, scores): return {'most': max(scores)}\n`;
    const second = await add(aggregated);
    expect(second).toMatchObject({
      ...{ version: 2, generated_scorer: null, finetuned_scorer: null, scoreable_node_types: ['trace'], output_type: 'count' },
      registered_scorer: {
        name,
        score_type: 'int',
        data_type: 'integer',
        scoreable_node_types: ['trace'],
        created_by: expect.any(String),
      },
    });
    expect((await service.request('GET', `/v2/scorers/${id}/version/code`)).body).toBe(aggregated);
    expect((await service.request('GET', `/scorers/${id}/version/code?version=1`)).body).toBe(length);
    expect((await service.request('GET', `/scorers/${id}/version/code?version=3`)).status).toBe(404);
    const { scorers } = (await service.request('POST', '/scorers/list', { filters: [{ name: 'id', operator: 'eq', value: id }] }))
      .body as {
      scorers: object[];
    };
    expect(scorers).toMatchObject([
      { id, scorer_type: 'code', needs: [], default_version: { version: 2, registered_scorer: { score_type: 'int' } } },
    ]);
    await service.request('POST', `/scorers/${id}/versions/1/restore`);
    expect((await service.request('GET', `/scorers/${id}/version/code`)).body).toBe(length);
  });
});

interface Tried {
  metrics_experiment_id: string;
  project_id: string;
  metric: string;
  matching: number;
  samples: { input: string; status: string; value: unknown; reason: string | null; cost: number | null; source: object }[];
  summary: object;
  detail?: { loc: unknown[]; msg: string }[];
}

describe('code that is not saved', () => {
  const picky = `
def scorer_fn(*, step_object, **kwargs) -> float:
    return {'three': 3, 'none': None}[step_object.output]
`;
  const outputs = ['three', 'none', 'odd'];
  const valuesOfSamples = ({ samples }: Tried) =>
    Object.fromEntries(samples.map(({ input, value, reason }) => [input, value ?? reason]));
  const expectedValues = { three: 3, none: 'scorer_fn gave None', odd: "KeyError: 'odd' (line 3)" };

  test('is tried out on stored records, which stay as they are', async () => {
    const { id: projectId } = await service.project();
    const { body: stream } = await service.request('POST', `/v2/projects/${projectId}/log_streams`, { name: 'tried' });
    const { id: streamId } = stream as { id: string };
    const traces = outputs.map((output) => ({ input: output, output }));
    await service.request('POST', `/v2/projects/${projectId}/traces`, { log_stream_id: streamId, is_complete: true, traces });
    const search = async (run: object) => (await service.request('POST', `/v2/projects/${projectId}/traces/search`, run)).body;
    const before = await search({ log_stream_id: streamId });
    const tryOn = (parts: [string, string][]) =>
      send<Tried>('/scorers/code/validate/log_record', [['log_stream_id', streamId], ...parts], picky);
    const absent = ['experiment_id', 'filters', 'sort', 'starting_token', 'required_scorers'];
    const tried = await tryOn([['scoreable_node_types', 'trace'], ...absent.map((name): [string, string] => [name, 'None'])]);
    expect([tried.status, tried.body]).toMatchObject([
      200,
      { project_id: projectId, metric: 'registered_scorer_validation', matching: 3 },
    ]);
    expect(valuesOfSamples(tried.body)).toEqual(expectedValues);
    expect(tried.body.summary).toMatchObject({
      ...{ samples: 3, with_value: 1, calls: 0, cost: null, samples_of_unknown_cost: 0 },
      message: expect.stringMatching(/^the metric gave a value for 1 of 3 samples/),
    });
    const testing = (await search({ metrics_testing_id: tried.body.metrics_experiment_id })) as { records: Found[] };
    const kept = testing.records.map(({ input, metric_info }) => [
      input,
      metric_info.registered_scorer_validation?.value ?? metric_info.registered_scorer_validation?.message,
    ]);
    expect(Object.fromEntries(kept)).toEqual(expectedValues);
    expect(await search({ log_stream_id: streamId })).toEqual(before);

    const filters = JSON.stringify([{ type: 'text', column_id: 'output', operator: 'one_of', value: ['three', 'none'] }]);
    const sort = JSON.stringify({ column_id: 'output', ascending: true });
    const page = await tryOn([
      ['scoreable_node_types', '["trace"]'],
      ['filters', filters],
      ['sort', sort],
      ['limit', '1'],
    ]);
    expect(page.body).toMatchObject({ matching: 2, samples: [{ input: 'none', status: 'not_applicable' }] });
    expect((await tryOn([])).body).toMatchObject({ matching: 0, samples: [] });
  });

  test('is tried out on rows of a dataset', async () => {
    const { id: projectId } = await service.project();
    const content = outputs.map((output) => ({ input: output, output }));
    const { id } = await createDataset({ client, name: newId(), content });
    const parts: [string, string][] = [
      ...([
        ['dataset_id', id],
        ['project_id', projectId],
        ['scoreable_node_types', 'trace'],
      ] satisfies [string, string][]),
    ];
    const tried = await send<Tried>('/scorers/code/validate/dataset', [...parts, ['score_type', 'float']], picky);
    expect([tried.status, tried.body]).toMatchObject([200, { project_id: projectId, matching: 3 }]);
    expect(valuesOfSamples(tried.body)).toEqual(expectedValues);
    expect(tried.body.samples[0]?.source).toMatchObject({ type: 'dataset_row' });
    const other = await send<Tried>('/scorers/code/validate/dataset', [...parts, ['score_type', 'bool']], picky);
    expect([other.status, other.body.detail]).toMatchObject([422, [{ loc: ['body', 'score_type'] }]]);
    const unnamed = await send<Tried>('/scorers/code/validate/dataset', [['dataset_id', id]], picky);
    expect([unnamed.status, unnamed.body.detail]).toMatchObject([422, [{ loc: ['body', 'project_id'] }]]);
  });

  test.each([
    ['code that cannot be loaded', 'def scorer_fn(:', [], ['body', 'file']],
    ['more samples than one try-out takes', picky, [['limit', '101']], ['body', 'limit']],
    ['filters that are no JSON', picky, [['filters', '[{']], ['body', 'filters']],
  ] as [string, string, [string, string][], string[]][])('is refused: %s', async (_, code, parts, loc) => {
    const { id: projectId } = await service.project();
    const { body } = await service.request('POST', `/v2/projects/${projectId}/log_streams`, { name: 'refused' });
    const named: [string, string] = ['log_stream_id', (body as { id: string }).id];
    const refused = await send<Tried>('/scorers/code/validate/log_record', [named, ...parts], code);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc }]]);
    const unknown = await send('/scorers/code/validate/log_record', [['log_stream_id', newId()]], picky);
    expect(unknown.status).toBe(404);
  });
});

describe('a metric of code', () => {
  test('is JavaScript as well: checked, read back, and its values of the rows of an experiment', async () => {
    const { id: projectId } = await service.project();
    const code = `export default function scorer({ output, reference, variables }) {
  if (output === 'none') return null;
  return { value: output.length / variables.output.length, metadata: { reference } };
}
export const scoreType = 'float';
`;
    const script = await metric(code, 'trace', { output_type: 'discrete' });
    expect((await service.request('GET', `/scorers/${script.id}/version/code`)).body).toBe(code);
    const { experiment } = await runExperiment<string, string>({
      ...{ client, projectId, experimentName: 'script' },
      dataset: ['four', 'none', 'a'].map((input) => ({ input, output: 'four' })),
      function: (input: string) => input,
      metrics: [script.name],
    });
    await expect
      .poll(() => valuesOf(projectId, { experiment_id: experiment.id }, script.id), { timeout: LONG, interval: 500 })
      .toEqual({ four: 1, a: 0.25, none: 'scorer gave null' });
  });

  test('scores the rows of an experiment, and those that it fails on alone have no value', async () => {
    const { id: projectId } = await service.project();
    const picky = await metric(`
def scorer_fn(*, step_object, dataset_variables, **kwargs) -> float:
    if step_object.output == 'loop':
        while True: pass
    if step_object.output == 'none':
        return None
    return 1 / len(step_object.output.replace('empty', ''))
`);
    const outputs = ['four', 'loop', 'none', 'empty', 'a'];
    const { experiment } = await runExperiment<string, string>({
      ...{ client, projectId, experimentName: 'code', dataset: outputs.map((input) => ({ input, output: input })) },
      function: (input: string) => input,
      metrics: [picky.name, 'exact_match'],
    });
    const run = { experiment_id: experiment.id };
    await expect
      .poll(() => valuesOf(projectId, run, picky.id), { timeout: LONG, interval: 500 })
      .toEqual({
        ...{ four: 0.25, a: 1, none: 'scorer_fn gave None', loop: 'the metric took longer than 10 s' },
        empty: 'ZeroDivisionError: division by zero (line 7)',
      });
    expect(await valuesOf(projectId, run, 'exact_match')).toEqual(Object.fromEntries(outputs.map((output) => [output, true])));
    const counts = async () => {
      const { body } = await service.request('GET', `/v2/projects/${projectId}/experiments/${experiment.id}`);
      return (body as { aggregate_metric_counts: Record<string, object> | null }).aggregate_metric_counts?.[picky.id];
    };
    await expect.poll(counts, { timeout: LONG, interval: 500 }).toMatchObject({ values: 2, not_applicable: 1, failed: 2 });
  });

  test('that does not say its type has values that suit its output type', async () => {
    const { id: projectId } = await service.project();
    const silent =
      "def scorer_fn(*, step_object, **kwargs):\n    return {'yes': True, 'no': False}.get(step_object.output, 'odd')";
    const [truth, label, number] = [
      await metric(silent, 'trace', { output_type: 'boolean' }),
      await metric(silent.replace('True', "'up'").replace('False', "'down'"), 'trace', { output_type: 'categorical' }),
      await metric(silent),
    ] as const;
    const described = async (id: string) =>
      ((await service.request('GET', `/scorers/${id}`)).body as { default_version: object }).default_version;
    expect(await described(truth.id)).toMatchObject({ output_type: 'boolean', registered_scorer: { score_type: 'bool' } });
    expect(await described(label.id)).toMatchObject({ output_type: 'categorical', registered_scorer: { score_type: 'str' } });
    expect(await described(number.id)).toMatchObject({ output_type: 'discrete', registered_scorer: { score_type: 'float' } });
    const { experiment } = await runExperiment<string, string>({
      ...{ client, projectId, experimentName: 'silent', dataset: ['yes', 'no', 'odd'].map((input) => ({ input })) },
      function: (input: string) => input,
      metrics: [truth.name, label.name, number.name],
    });
    const odd = (type: string) => `scorer_fn gave "odd" of the type str; its score type is ${type}: annotate what it returns`;
    for (const [{ id }, values] of [
      [truth, { yes: true, no: false, odd: odd('bool') }],
      [label, { yes: 'up', no: 'down', odd: 'odd' }],
      [number, { yes: 1, no: 0, odd: odd('float') }],
    ] as const)
      await expect
        .poll(() => valuesOf(projectId, { experiment_id: experiment.id }, id), { timeout: LONG, interval: 500 })
        .toEqual(values);
  });

  test('sums up the values of an experiment by its own function', async () => {
    const { id: projectId } = await service.project();
    const summed = await metric(`${length}
def aggregator_fn(*, scores):
    return {'most': max(scores), 'all': sum(scores), 'said': 'three values', 'none': None}
`);
    const broken = await metric(`${length}\ndef aggregator_fn(*, scores): return scores[99]\n`);
    const outputs = ['a', 'four', 'sixsix'];
    const { experiment } = await runExperiment<string, string>({
      ...{ client, projectId, experimentName: 'summed', dataset: outputs.map((input) => ({ input })) },
      function: (input: string) => input,
      metrics: [summed.name, broken.name],
    });
    const read = async () =>
      (await service.request('GET', `/v2/projects/${projectId}/experiments/${experiment.id}`)).body as {
        aggregates_by_code: Record<string, object>;
        aggregate_metrics: Record<string, number>;
      };
    const byCode = async () => (await read()).aggregates_by_code;
    await expect.poll(byCode, { timeout: LONG, interval: 500 }).toMatchObject({
      [summed.name]: { values: { most: 6, all: 11, said: 'three values', none: null } },
      [broken.name]: { error: 'IndexError: list index out of range (line 5)' },
    });
    expect((await read()).aggregate_metrics).toMatchObject({ [`${summed.name}_most`]: 6, [`${summed.id}_all`]: 11 });
  });

  test('scores live traffic, and is computed anew by its next version', async () => {
    const { id: projectId } = await service.project();
    const { id, add } = await metric(length);
    const { id: streamId } = (await service.request('POST', `/v2/projects/${projectId}/log_streams`, { name: 'live' })).body as {
      id: string;
    };
    const config = { run_id: streamId, scorers: [{ id, scorer_type: 'code' }] };
    const set = await service.request('POST', `/projects/${projectId}/runs/${streamId}/scorer-settings`, config);
    expect([set.status, set.body]).toMatchObject([200, { scorers: [{ id, model_type: 'code', output_type: 'count' }] }]);
    const stream = { log_stream_id: streamId };
    await service.request('POST', `/v2/projects/${projectId}/traces`, {
      ...{ ...stream, is_complete: true },
      traces: ['one', 'three'].map((input) => ({ input, output: input })),
    });
    const values = () => valuesOf(projectId, stream, id);
    await expect.poll(values, { timeout: LONG, interval: 500 }).toEqual({ one: 3, three: 5 });
    await add('def scorer_fn(*, step_object, **kwargs) -> int:\n    return -len(step_object.output)');
    const again = await service.request('POST', `/v2/projects/${projectId}/recompute-metrics`, { ...stream, scorer_ids: [id] });
    expect(again.status).toBe(200);
    await expect.poll(values, { timeout: LONG, interval: 500 }).toEqual({ one: -3, three: -5 });
  });
});
