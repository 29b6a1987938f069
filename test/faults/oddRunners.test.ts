// A service of its own: it has handlers, and its log is read for warnings.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { fails, late, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { type ExperimentOf, modelAt, newExperiment } from '../support/runs.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

const CLIENT = join(import.meta.dirname, '../../client/index.ts');

/** A module whose text of the row chooses what it returns or does. */
const oddModule = `
  import { log } from ${JSON.stringify(CLIENT)};
  const cyclic = {};
  cyclic.self = cyclic;
  const does = {
    metadata: () => log({ kind: 'tool', name: 't', metadata: { n: 1 } }, () => 'logged')(),
    role: () => log({ kind: 'llm', name: 'l', inputTokens: 12.5 }, () => ({ role: 'ai', content: 'said' }))([{ role: 'human', content: 'q' }]),
    kind: () => log({ kind: 'odd' }, () => 'kind')(),
    spanWithBigInt: () => log({ kind: 'tool', tags: [1n] }, () => 'big')(),
    bigInt: () => 1n,
    cyclic: () => cyclic,
    nothing: () => undefined,
    aFunction: () => () => 1,
    surrogate: () => '\\ud800 \\u0000',
    throwsNothing: () => { throw undefined; },
    throwsBare: () => { throw Object.create(null); },
    saysNull: () => { process.send(null); return 'said null'; },
    saysOdd: () => { process.send({ type: 'nonsense' }); process.send('text'); return 'said odd'; },
    late: () => new Promise((resolve) => setTimeout(resolve, 20, 'late')),
  };
  export default (input) => does[input]();`;

/** A model that is asked by rows and by judges: what it answers stands in the text that it gets. */
const oddHandler = `
  import { CustomHandler } from 'assay/handler';
  const answers = {
    fraction: () => ({ content: 'fraction', inputTokens: 12.5, outputTokens: '3' }),
    notFinite: () => ({ content: 'notFinite', inputTokens: NaN, outputTokens: Infinity, finishReason: 7, model: {} }),
    calls: () => ({ content: '\\ud800\\u0000', toolCalls: [{ id: 1, function: null }, 5] }),
    noText: () => ({ content: 5 }),
    nothing: () => undefined,
    judged: () => ({ content: JSON.stringify({ explanation: '\\ud800 and \\u0000', verdict: true }), inputTokens: 1.5, outputTokens: -1 }),
    judgedOdd: () => ({ content: '{"explanation": 7, "verdict": {"__proto__": 1}}' }),
  };
  export class Odd extends CustomHandler {
    async complete({ messages }) {
      const text = messages.map(({ content }) => content).join(' ');
      const [name] = /impartial evaluator/.test(JSON.stringify(messages)) ? [/notFinite|noText/.test(text) ? 'judgedOdd' : 'judged'] : Object.keys(answers).filter((one) => text.includes(one));
      return answers[name]();
    }
  }`;

let folder: string;
let service: ServiceProcess;
let client: ServiceClient;
let projectId: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-odd-runners-'));
  const [runners, handlers] = [join(folder, 'runners'), join(folder, 'handlers')];
  await Promise.all([mkdir(runners), mkdir(handlers)]);
  await Promise.all([writeFile(join(runners, 'odd.mjs'), oddModule), writeFile(join(handlers, 'odd.mjs'), oddHandler)]);
  service = await (await serviceFolder(join(folder, 'data'), { RUNNERS_DIR: runners, HANDLERS_DIR: handlers })).start();
  client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  projectId = (await client.send<{ id: string }>('/projects', { body: { name: 'odd' } })).id;
});
afterAll(async () => {
  await service?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

/** The rows of an ended run by their input. */
async function ended(one: ExperimentOf, inputs: readonly string[]) {
  expect(await one.end()).toMatchObject({ state: 'completed', rows_done: inputs.length });
  const traces = await one.traces();
  expect(traces.map(({ input }) => input).sort()).toEqual([...inputs].sort());
  return new Map(traces.map((trace) => [trace.input, trace]));
}

const template = async (name: string, text: unknown): Promise<string> => {
  const { selected_version_id } = await client.send<{ selected_version_id: string }>('/templates', {
    body: { name, template: text },
    query: { project_id: projectId },
  });
  return selected_version_id;
};

test('a module may give, log, throw and send anything', async () => {
  const inputs = [...oddModule.matchAll(/^ {4}(\w+): \(\) =>/gm)].map(([, name]) => name as string);
  const one = await newExperiment(client, projectId, { name: 'odd module' });
  const often = [...inputs, ...Array.from({ length: 40 }, () => 'late')];
  await one.start({ runner: { kind: 'module', name: 'odd' }, records: often.map((input) => ({ input })), concurrency: 30 });
  const rows = await ended(one, often);
  expect(
    Object.fromEntries([...rows].map(([input, { output, error_message }]) => [input, error_message || output])),
  ).toMatchObject({
    metadata: 'logged',
    role: '{"role":"ai","content":"said"}',
    kind: 'kind',
    spanWithBigInt: 'big',
    cyclic: expect.stringContaining('circular'),
    nothing: null,
    surrogate: '\ufffd \u0000',
    throwsNothing: 'undefined',
    saysNull: 'said null',
    saysOdd: 'said odd',
    late: 'late',
  });
  const spans = await one.spans();
  expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining(['t', 'l']));
  expect(service.output()).not.toContain('MaxListenersExceededWarning');
});

test('a URL may answer anything', async () => {
  const endpoint = await startModelEndpoint();
  const deep = `${'{"spans":['.repeat(5_000)}${']}'.repeat(5_000)}`;
  const answers = [
    'null',
    '7',
    '[]',
    'no JSON',
    '{}',
    '{"output": {"a": 1}, "spans": 5, "metrics": [1], "error": null}',
    '{"output": "x", "spans": [null, 7, {"type": "llm", "input": {"role": "human"}}], "metrics": {"__proto__": 1, "": {}, "own": "text"}}',
    `{"output": "x", "spans": [${deep}]}`,
    '{"output": 1e999, "error": {"code": 5}}',
  ];
  endpoint.otherwise((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(answers[Number((request.body as { input: string }).input)]);
  });
  const one = await newExperiment(client, projectId, { name: 'odd url' });
  const inputs = answers.map((_, index) => String(index));
  await one.start({ runner: { kind: 'http', url: endpoint.url }, records: inputs.map((input) => ({ input })) });
  const rows = await ended(one, inputs);
  await endpoint.close();
  for (const index of ['0', '1', '2', '3']) {
    expect(rows.get(index)?.error_message).toContain('did not answer with a JSON object');
    expect(rows.get(index)?.metrics.duration_ns).toBeGreaterThan(0);
  }
  expect(rows.get('5')).toMatchObject({ output: '{"a":1}', error_message: '' });
  expect(rows.get('6')).toMatchObject({ output: 'x', error_message: '', metrics: { own: 'text' } });
  expect(rows.get('7')).toMatchObject({ output: 'x', error_message: '' });
  expect(rows.get('8')).toMatchObject({ error_message: '{"code":5}' });
});

test('thirty rows at a time leave no warning of too many listeners, also while they wait', async () => {
  const endpoint = await startModelEndpoint();
  await modelAt(client, 'many', endpoint.url, ['many']);
  const version = await template('many', '{{input}}');
  const inputs = Array.from({ length: 60 }, (_, index) => `q${index}`);
  const records = inputs.map((input) => ({ input }));
  const asked = new Set<string>();
  endpoint.otherwise(async (request, response) => {
    if (asked.has(request.text)) return late(100, says('{"output": "late"}'))(request, response);
    asked.add(request.text);
    return fails(500)(request, response);
  });
  const runners = [
    { kind: 'http' as const, url: endpoint.url },
    { kind: 'prompt_template' as const, prompt_template_version_id: version, prompt_settings: { model_alias: 'many' } },
  ];
  for (const runner of runners) {
    const one = await newExperiment(client, projectId, { name: `many by ${runner.kind}` });
    await one.start({ runner, records, concurrency: 30 });
    await ended(one, inputs);
  }
  await endpoint.close();
  expect(service.output()).not.toContain('MaxListenersExceededWarning');
});

test('a template, a handler and a judge may say anything; every row and every value ends', async () => {
  await client.send('/integrations/custom/odd', {
    method: 'PUT',
    body: {
      endpoint: 'http://127.0.0.1:1',
      authentication_type: 'none',
      models: ['odd'],
      custom_llm_config: { file_name: 'odd.mjs', class_name: 'Odd' },
    },
  });
  const version = await template('odd roles', [
    { role: 'critic', content: 'be odd' },
    { role: 'human', content: '{{input}}' },
  ]);
  const inputs = ['fraction', 'notFinite', 'calls', 'noText', 'nothing'];
  const one = await newExperiment(client, projectId, { name: 'odd handler', metrics: ['correctness', 'exact_match'] });
  await one.start({
    runner: { kind: 'prompt_template', prompt_template_version_id: version, prompt_settings: { model_alias: 'odd' } },
    records: inputs.map((input) => ({ input, output: input })),
  });
  const rows = await ended(one, inputs);
  expect(rows.get('fraction')).toMatchObject({ output: 'fraction', error_message: '', metrics: { num_input_tokens: 13 } });
  expect(rows.get('notFinite')).toMatchObject({ output: 'notFinite', error_message: '' });
  expect(rows.get('calls')).toMatchObject({ output: '\ufffd\u0000', error_message: '' });
  expect(rows.get('noText')?.error_message).toContain('text `content`');
  expect(rows.get('fraction')?.metric_info?.correctness).toMatchObject({ status_type: 'success', value: true });
  expect(rows.get('notFinite')?.metric_info?.correctness).toMatchObject({ status_type: 'error' });
  const [call] = (await one.spans()) as unknown as { input: { role: string }[]; user_metadata: Record<string, string> }[];
  expect(call?.input.map(({ role }) => role)).toEqual(['user', 'user']);
  expect(call?.user_metadata).toMatchObject({ 'input.0.role': 'critic' });
});

test("an odd result of a caller's function costs no other its record", async () => {
  const one = await newExperiment(client, projectId, { name: 'odd caller' });
  const process = newId();
  const inputs = Array.from({ length: 11 }, (_, index) => String(index));
  await one.start({ runner: { kind: 'caller_function' }, process, records: inputs.map((input) => ({ input })) });
  const path = `/projects/${projectId}/experiments/${one.id}/rows`;
  const { rows } = await client.send<{ rows: { ordinal: number }[] }>(`${path}/lease`, { body: { process } });
  expect(rows).toHaveLength(11);
  const results = [
    { output: 'fine', started_at: '2030-01-01T12:00:00Z', duration_ns: 5 },
    { output: { a: 1 }, started_at: 'yesterday', duration_ns: -5, error: null },
    { spans: 'none', tags: 'one', metrics: [1] },
    { output: 'x', spans: [{ type: 'llm', input: [{ role: 'human', content: null }], metrics: { num_input_tokens: 12.5 } }] },
    { error: { code: 1 } },
    { output: '\ud800', started_at: '9999-01-01T00:00:00Z', duration_ns: 1e300 },
    {},
    { output: 'last' },
    { outptu: 'misspelt', error: '' },
    { output: 'paid for', metrcs: { mine: 1 } },
    { output: 'more', worker: { name: 'w1' }, stats: 1 },
  ].map((result, ordinal) => ({ ordinal, ...result }));
  const posted = await client.send<{ recorded: number[] }>(`${path}/results`, {
    body: { process, results: [...results, 7, null, { ordinal: 'x' }, { ordinal: 1e12 }] },
  });
  expect(posted.recorded.toSorted((a, b) => a - b)).toEqual(rows.map(({ ordinal }) => ordinal));
  const found = await ended(one, inputs);
  expect(found.get('0')).toMatchObject({ output: 'fine', metrics: { duration_ns: 5 } });
  expect(found.get('1')).toMatchObject({ output: '{"a":1}', user_metadata: { started_at: 'yesterday', duration_ns: '-5' } });
  expect(found.get('4')).toMatchObject({ output: null, error_message: '{"code":1}' });
  expect(found.get('7')).toMatchObject({ output: 'last', error_message: '' });
  expect(found.get('8')).toMatchObject({
    output: null,
    error_message: 'the result has a key "outptu", which is not known; the closest is output',
    user_metadata: { outptu: 'misspelt' },
  });
  expect(found.get('9')).toMatchObject({
    output: 'paid for',
    error_message: expect.stringContaining('the closest is metrics'),
    user_metadata: { metrcs: '{"mine":1}' },
  });
  expect(found.get('10')).toMatchObject({
    output: 'more',
    error_message: '',
    user_metadata: { worker: '{"name":"w1"}', stats: '1' },
  });
});

test('the tries of a call stand with its span; a row that fails carries its time, and one without a call is in no average', async () => {
  const endpoint = await startModelEndpoint();
  await modelAt(client, 'unsteady', endpoint.url, ['unsteady']);
  endpoint.next(fails(500), fails(503));
  const version = await template('plain', '{{input}}');
  const one = await newExperiment(client, projectId, { name: 'tries' });
  const runner = { kind: 'prompt_template' as const, prompt_template_version_id: version };
  await one.start({ runner: { ...runner, prompt_settings: { model_alias: 'unsteady' } }, records: [{ input: 'a' }] });
  await ended(one, ['a']);
  const [call] = (await one.spans()) as unknown as { user_metadata: { tries: string; attempts: string } }[];
  expect(call?.user_metadata.tries).toBe('3');
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  const waited = { ms: expect.any(Number), reason: 'retry' };
  expect(JSON.parse(call?.user_metadata.attempts ?? '')).toEqual([
    { started_at: time, ended_at: time, outcome: 'http_error', status: 500 },
    { started_at: time, ended_at: time, outcome: 'http_error', status: 503, waited },
    { started_at: time, ended_at: time, outcome: 'ok', status: 200, waited },
  ]);

  endpoint.otherwise(async (request, response) => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return fails(400)(request, response);
  });
  const failing = await newExperiment(client, projectId, { name: 'fails' });
  await failing.start({ runner: { ...runner, prompt_settings: { model_alias: 'unsteady' } }, records: [{ input: 'b' }] });
  const failed = await ended(failing, ['b']);
  expect(failed.get('b')?.metrics.duration_ns).toBeGreaterThan(20_000_000);
  await endpoint.close();

  const given = await newExperiment(client, projectId, { name: 'given' });
  const records = [{ input: 'c', generated_output: 'x' }, { input: 'd' }];
  await given.start({ runner: { kind: 'dataset_outputs' }, records });
  expect((await ended(given, ['c', 'd'])).get('d')?.metrics).not.toHaveProperty('duration_ns');
  const { aggregate_metrics } = await client.send<{ aggregate_metrics: object }>(
    `/projects/${projectId}/experiments/${given.id}`,
  );
  expect(aggregate_metrics).not.toHaveProperty('duration_ns');
});
