import { fc } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDataset, runExperiment } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { type ModelEndpoint, startModelEndpoint } from '../support/modelEndpoint.ts';
import { experimentOf, modelAt } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

/** The text of an answer: what parses JSON here would round it. */
async function textOf(path: string, body?: string, method = body === undefined ? 'GET' : 'POST'): Promise<string> {
  const reply = await fetch(`${service.url}${path}`, {
    method,
    headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${text}`);
  return text;
}

const streamIn = async (projectId: string): Promise<string> =>
  JSON.parse(await textOf(`/projects/${projectId}/log_streams`, '{"name":"main"}')).id;

const disposable = (endpoint: ModelEndpoint) => Object.assign(endpoint, { [Symbol.asyncDispose]: () => endpoint.close() });

/** Whole numbers of 17 to 25 digits, and fractions with more digits than a double. */
const numbers = fc.sample(
  fc.oneof(
    fc
      .bigInt({ min: 2n ** 53n + 1n, max: 2n ** 63n - 1n })
      .filter((whole) => String(Number(whole)) !== String(whole))
      .map(String),
    fc
      .bigInt({ min: -(10n ** 25n), max: -(2n ** 53n) - 1n })
      .filter((whole) => String(Number(whole)) !== String(whole))
      .map(String),
    fc.stringMatching(/^0\.[1-9]\d{20}[1-9]$/),
  ),
  { numRuns: 12, seed: 1 },
);
const all = ['9007199254740993', '107505301260286111', '0.1234567890123456789', '1e400', ...numbers];

describe('a number that no double holds', () => {
  test('is answered, exported and found in records as it was sent', async () => {
    const { id: project } = await service.project();
    const stream = await streamIn(project);
    const traces = all.map(
      (number) => `{"name": "n", "input": {"id": ${number}}, "user_metadata": {"id": ${number}}, "tags": [${number}],
        "dataset_metadata": {"row": ${number}}, "metrics": {"own": {"id": ${number}}}, "spans": [
          {"type": "llm", "input": [{"role": "user", "content": {"id": ${number}}}], "output": {"role": "assistant", "content": "",
            "tool_calls": [{"id": ${number}, "function": {"name": "f", "arguments": {"id": ${number}}}}]},
            "tools": [{"parameters": {"maximum": ${number}}}], "events": [{"type": "message", "role": "user", "metadata": {"id": ${number}}}]},
          {"type": "retriever", "input": "q", "output": [{"content": "d", "metadata": {"id": ${number}}}]}]}`,
    );
    await textOf(`/projects/${project}/traces`, `{"log_stream_id":"${stream}","traces":[${traces.join(',')}]}`);
    const ofRun = { log_stream_id: stream };
    const find = (kind: string, filters: object[]) =>
      textOf(`/projects/${project}/${kind}/search`, JSON.stringify({ ...ofRun, filters }));
    for (const number of all) {
      const found = await find('traces', [{ type: 'text', column_id: 'user_metadata/id', operator: 'eq', value: number }]);
      expect(JSON.parse(found).records).toHaveLength(1);
      expect(found).toContain(`"input":"{\\"id\\":${number}}"`);
      expect(found).toContain(`"tags":["${number}"]`);
      expect(found).toContain(`"row":"${number}"`);
      expect(found).toContain(`"own":{"id":${number}}`);
      for (const column_id of ['input', 'output', 'dataset_metadata/row', 'tags'])
        if (column_id !== 'output') {
          const type = column_id === 'tags' ? 'collection' : 'text';
          const by = await find('traces', [{ type, column_id, operator: 'contains', value: number }]);
          expect(JSON.parse(by).records).toHaveLength(1);
        }
      const spans = await find('spans', [{ type: 'text', column_id: 'output', operator: 'contains', value: number }]);
      expect(JSON.parse(spans).records).toHaveLength(2);
      expect(spans).toContain(`"tool_calls":[{"id":"${number}","function":{"name":"f","arguments":"{\\"id\\":${number}}"}}]`);
      expect(spans).toContain(`"tools":[{"parameters":{"maximum":${number}}}]`);
      expect(spans).toContain(`"metadata":{"id":${number}}`);
      expect(spans).toContain(`[{"content":"d","metadata":{"id":${number}}}]`);
    }
    for (const export_format of ['jsonl', 'jsonl_flat', 'csv']) {
      const file = await textOf(
        `/projects/${project}/export_records`,
        JSON.stringify({ ...ofRun, root_type: 'span', export_format }),
      );
      for (const number of all) expect(file.split(/\b/).join('')).toMatch(new RegExp(`"id\\W+${number.replace('.', '\\.')}\\W`));
    }
  });

  test('is answered and found in spans of OpenTelemetry as it was sent', async () => {
    const { id: project } = await service.project();
    const stream = await streamIn(project);
    const whole = all.filter((number) => /^-?\d{1,19}$/.test(number));
    const spans = all.map((number, index) => {
      const text = (value: string) => `{"stringValue":${JSON.stringify(value)}}`;
      const attributes = [
        ['gen_ai.operation.name', text('chat')],
        [
          'gen_ai.input.messages',
          text(`[{"role":"tool","parts":[{"type":"tool_call_response","id":"c","response":{"id":${number}}}]}]`),
        ],
        [
          'gen_ai.output.messages',
          text(`[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":{"id":${number}}}]}]`),
        ],
        ['order', whole.includes(number) ? `{"intValue":${number}}` : text(number)],
        ['list', `{"kvlistValue":{"values":[{"key":"id","value":{"intValue":${whole.includes(number) ? number : 1}}}]}}`],
      ].map(([key, value]) => `{"key":"${key}","value":${value}}`);
      return `{"traceId":"${newId().replaceAll('-', '')}","spanId":"${String(index + 1).padStart(16, '0')}","name":"n",
        "startTimeUnixNano":1795000000067000123,"endTimeUnixNano":"1795000001067000000","attributes":[${attributes.join(',')}]}`;
    });
    const sent = await fetch(`${service.url}/otel/traces`, {
      method: 'POST',
      headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json', project, logstream: stream },
      body: `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans.join(',')}]}]}]}`,
    });
    expect([sent.status, await sent.text()]).toEqual([200, '{}']);
    for (const number of all) {
      const filters = [{ type: 'text', column_id: 'user_metadata/order', operator: 'eq', value: number }];
      const found = await textOf(`/projects/${project}/spans/search`, JSON.stringify({ log_stream_id: stream, filters }));
      expect(found).toContain(`"content":"{\\"id\\":${number}}"`);
      expect(found).toContain(`"arguments":"{\\"id\\":${number}}"`);
      if (whole.includes(number)) expect(found).toContain(`"list":"{\\"id\\":${number}}"`);
      expect(found).toContain('"created_at":"2026-11-18T11:06:40.067000Z"');
    }
  });

  test('is answered, exported and found in rows of a dataset as it was sent', async () => {
    /** True for integers that the store reads as numbers, which stay numbers. */
    const isNumber = (number: string) => /^-?\d+$/.test(number) && BigInt(number) >= -(2n ** 63n) && BigInt(number) < 2n ** 64n;
    const made = JSON.parse(
      await fetch(`${service.url}/datasets?format=jsonl`, {
        method: 'POST',
        headers: { 'Service-API-Key': service.apiKey },
        body: (() => {
          const form = new FormData();
          form.set('name', `numbers ${newId()}`);
          form.set(
            'file',
            new Blob(all.map((number) => `{"input":${number},"output":{"id":${number}},"metadata":{"in":{"id":${number}}}}\n`)),
            'rows.jsonl',
          );
          return form;
        })(),
      }).then((reply) => reply.text()),
    ) as { id: string };
    const values = (number: string) => `{"input": ${number}, "output": {"id": ${number}}, "metadata": {"in": {"id": ${number}}}}`;
    const edits = all.map((number) => `{"edit_type":"append_row","values":${values(number)}}`);
    await fetch(`${service.url}/datasets/${made.id}/content`, {
      method: 'PATCH',
      headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
      body: `{"edits":[${edits.join(',')}]}`,
    }).then(async (reply) => expect([reply.status, await reply.text()]).toEqual([204, '']));
    const content = await textOf(`/datasets/${made.id}/content?limit=1000`);
    const [jsonl, csv] = await Promise.all(
      ['jsonl', 'csv'].map((format) => textOf(`/datasets/${made.id}/download?format=${format}`)),
    );
    for (const number of all) {
      const cell = isNumber(number) ? number : `"${number}"`;
      const row = `{"input":${cell},"output":{"id":${cell}},"metadata":"{\\"in\\":{\\"id\\":${number}}}"}`;
      expect(content.split(`"values_dict":${row}`)).toHaveLength(3);
      expect(jsonl?.split(`${row}\n`)).toHaveLength(3);
      expect(csv?.split(/\r?\n/).filter((line) => line.startsWith(`${number},`))).toHaveLength(2);
      for (const [column_name, value] of [
        ['input', number],
        ['metadata', `{"in":{"id":${number}}}`],
      ]) {
        const filters = [{ column_name, value, operator: 'eq' }];
        const found = JSON.parse(await textOf(`/datasets/${made.id}/content/query`, JSON.stringify({ filters })));
        expect(found.rows).toHaveLength(2);
      }
    }
    const sorted = JSON.parse(
      await textOf(`/datasets/${made.id}/content/query`, '{"sort":{"column_name":"input","ascending":true}}'),
    );
    expect(sorted.rows).toHaveLength(2 * all.length);
  });

  test('is a bigint for code of callers, and what they give back keeps its digits', async () => {
    const { id: projectId } = await service.project();
    const id = 9007199254740993n;
    const { client } = service;
    const dataset = [{ input: { id, list: [id] }, output: '{"id":9007199254740993}' }];
    const seen: unknown[] = [];
    const run = await runExperiment<{ id: bigint }, unknown>({
      ...{ client, projectId, experimentName: 'long', dataset, metrics: ['exact_match'] },
      function: (input) => {
        seen.push(input);
        return { id: input.id };
      },
    });
    expect(seen).toEqual([{ id, list: [id] }]);
    expect(run.experiment.aggregate_metrics).toMatchObject({ exact_match: 1 });
    const made = await createDataset({ client, name: `long ${newId()}`, content: [{ input: id, output: { id } }] });
    const content = await client.send<{ rows: { values_dict: unknown }[] }>(`/datasets/${made.id}/content`);
    expect(content.rows[0]?.values_dict).toEqual({ input: id, output: { id } });
  });

  test('is in the settings of a prompt as it was sent: in answers, runs and calls of the model', async () => {
    await using endpoint = disposable(await startModelEndpoint());
    const { id: projectId } = await service.project();
    const model = `m ${newId()}`;
    await modelAt(service.client, `exact-${newId()}`, `${endpoint.url}/v1`, [model]);
    const written = all.filter((number) => !number.includes('e')); // Postgres writes powers of ten in full
    const numbersIn = `"tools":[{"type":"function","function":{"name":"f","parameters":{"enum":[${written}]}}}],"response_format":{"type":"json_object","ids":[${written}]}`;
    const settings = `{"model_alias":"${model}","own":[${written}],${numbersIn}}`;
    const made = await textOf(
      `/projects/${projectId}/templates`,
      `{"name":"exact ${newId()}","template":"{{input}}","settings":${settings}}`,
    );
    const version = JSON.parse(made).selected_version_id as string;
    const rows = await createDataset({ client: service.client, name: `one ${newId()}`, content: [{ input: 'q' }] });
    const dataset = `"dataset":{"dataset_id":"${rows.id}","version_index":1}`;
    for (const own of ['', `,"prompt_settings":${settings}`]) {
      const body = `{"name":"exact ${newId()}","trigger":true,${dataset},"prompt_template_version_id":"${version}"${own}}`;
      const experiment = await textOf(`/projects/${projectId}/experiments`, body);
      const run = experimentOf(service.client, projectId, JSON.parse(experiment).id);
      expect(await run.end()).toMatchObject({ rows_done: 1, rows_failed: 0 });
      const spans = await textOf(`/projects/${projectId}/spans/search`, `{"experiment_id":"${run.id}"}`);
      for (const answer of [made, experiment, spans, endpoint.requests.at(-1)?.text])
        expect(answer).toContain(`"enum":[${written}]`);
      for (const answer of [made, experiment, endpoint.requests.at(-1)?.text]) expect(answer).toContain(`"ids":[${written}]`);
    }
  });

  test('is its nearest double where a number is reckoned with', async () => {
    const { id: project } = await service.project();
    const stream = await streamIn(project);
    const trace =
      '{"input":"q","metrics":{"duration_ns":12.000000000000000001,"own":0.69999999999999996,"large":9007199254740993}}';
    const answer = await textOf(`/projects/${project}/traces`, `{"log_stream_id":"${stream}","traces":[${trace}]}`);
    expect(JSON.parse(answer)).toMatchObject({ traces_count: 1 });
    const ask = (value: string) =>
      textOf(
        `/projects/${project}/traces/search`,
        `{"log_stream_id":"${stream}","limit":1.00000000000000000000,"filters":[{"type":"number","column_id":"metrics/own","operator":"eq","value":${value}}]}`,
      );
    for (const value of ['0.69999999999999996', '0.7']) {
      const found = JSON.parse(await ask(value));
      expect(found.records[0].metrics).toMatchObject({ own: 0.7, large: 2 ** 53 });
    }
  });
});
