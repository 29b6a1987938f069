import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  addCodeMetricVersion,
  createCodeMetric,
  createJudge,
  type Metric,
  runExperiment,
  type ServiceClient,
  tryJudge,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { resolvableMetrics } from '../../shared/scorers/resolveMetrics.ts';
import type { Scorer } from '../../shared/scorers/scorer.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let client: ServiceClient;
let projectId: string;

const LONG = 120_000;
const model = `asked-${newId().slice(0, 8)}`;
const settings = { model_name: model, output_type: 'boolean' as const, scoreable_node_types: ['trace'] };
const names = { polite: `Is it polite ${newId()}`, length: `length ${newId()}`, spans: `of spans ${newId()}` };
const instructions = `Is {{output}} good, its politeness being {{required_scores.${names.polite}}}?`;
const lengthOf = (factor: number) => `
def scorer_fn(*, step_object, **kwargs) -> int:
    return ${factor} * len(step_object.output)
`;
let ids: Record<keyof typeof names | 'good', string>;

/** A judge of ours that requires these metrics. */
const judge = (requiredMetrics: string[], words: string, name = `judge ${newId()}`): Promise<Metric> =>
  createJudge({ client, name, instructions: words, direction: 'higher', settings, requiredMetrics });

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  client = service.client;
  projectId = (await service.project()).id;
  await client.send(`/integrations/custom/${model}`, {
    method: 'PUT',
    body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
  });
  const code = { client, code: lengthOf(1), direction: 'higher' } as const;
  const polite = await judge([], 'Is {{output}} polite?', names.polite);
  const length = await createCodeMetric({ ...code, name: names.length, kinds: ['trace'] });
  const spans = await createCodeMetric({ ...code, name: names.spans, kinds: ['llm'] });
  const good = await judge([names.polite], instructions);
  ids = { polite: polite.id, length: length.id, spans: spans.id, good: good.id };
}, LONG);

/** The values of required metrics that a request shows its judge. */
const shownIn = (text: string): string[] =>
  [...text.matchAll(/name=\\"(required scores[^"\\]*)\\">\\n(.*?)\\n<\/material/g)].map(
    ([, name, value]) => `${name} = ${value}`,
  );

beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.otherwise((request, response) => {
    const isPolite = request.text.includes('please');
    const verdict = shownIn(request.text).length > 0 ? request.text.includes(`${names.polite}\\">\\ntrue`) : isPolite;
    return says(JSON.stringify({ explanation: 'so it is', verdict }))(request, response);
  });
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const outputs = ['please', 'no'];

/** The values of these metrics in a run, or why there are none, by the outputs of its traces. */
async function valuesIn(run: object, metrics: readonly string[]): Promise<Record<string, unknown[]>> {
  const found = await client.send<{
    records: { output: string; metric_info?: Record<string, { status_type: string; value?: unknown; message?: string }> }[];
  }>(`/projects/${projectId}/traces/search`, { body: { ...run, limit: 100 } });
  return Object.fromEntries(
    found.records.map(({ output, metric_info = {} }) => [
      output,
      metrics.map((id) => (metric_info[id]?.status_type === 'success' ? metric_info[id].value : metric_info[id]?.message)),
    ]),
  );
}

/** A log stream with a trace of each output. */
async function logged(): Promise<{ log_stream_id: string }> {
  const { id } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: newId() } });
  const traces = outputs.map((output) => ({ input: 'q', output }));
  await client.send(`/projects/${projectId}/traces`, { body: { log_stream_id: id, traces, is_complete: true } });
  return { log_stream_id: id };
}

const recompute = (run: object, metric: string) =>
  client.send(`/projects/${projectId}/recompute-metrics`, { body: { ...run, scorer_ids: [metric] } });
const polled = (run: object, ...metrics: string[]) => expect.poll(() => valuesIn(run, metrics), { timeout: LONG, interval: 300 });

describe('a judge that requires another metric', { timeout: LONG }, () => {
  test.each([
    ['beside it', () => [ids.good, ids.polite]],
    ['alone', () => [ids.good]],
  ])('is shown its value in an experiment that asks for it %s; each judge is asked once for a row', async (_, metrics) => {
    const { experiment } = await runExperiment<string, string>({
      ...{ client, projectId, experimentName: newId(), dataset: outputs.map((input) => ({ input })) },
      function: (input: string) => input,
      metrics: metrics(),
    });
    await polled({ experiment_id: experiment.id }, ids.polite, ids.good).toEqual({ please: [true, true], no: [false, false] });
    expect(endpoint.requests).toHaveLength(2 * outputs.length);
    const shown = endpoint.requests.map(({ text }) => shownIn(text)).filter((one) => one.length > 0);
    expect(shown.toSorted()).toEqual(
      [false, true].map((value) => [
        `required scores: ${names.polite} = ${value}`,
        `required scores = {\\n \\"${names.polite}\\": ${value}\\n}`,
      ]),
    );
  });

  test('is asked anew with the new value where what it requires has another version', async () => {
    const run = await logged();
    const asked = await judge([names.length], 'Is {{output}} long?');
    const shown = () => endpoint.requests.flatMap(({ text }) => shownIn(text)).toSorted();
    const lengths = (...all: number[]) => all.map((one) => `required scores = {\\n \\"${names.length}\\": ${one}\\n}`);
    await recompute(run, asked.id);
    await polled(run, ids.length, asked.id).toEqual({ please: [6, false], no: [2, false] });
    expect(shown()).toEqual(lengths(2, 6));
    await addCodeMetricVersion({ client, id: ids.length, code: lengthOf(2), kinds: ['trace'] });
    await recompute(run, asked.id);
    await polled(run, ids.length).toEqual({ please: [12], no: [4] });
    await expect.poll(shown, { timeout: LONG, interval: 300 }).toEqual(lengths(12, 2, 4, 6));
  });

  test('says why it has no value where the other has none, and is not asked', async () => {
    endpoint.otherwise(fails(401));
    const run = await logged();
    await recompute(run, ids.good);
    const reason = expect.stringMatching(
      /^it requires "Is it polite .*", which has no value: the judge could not be asked: .*401/,
    );
    await polled(run, ids.good).toEqual({ please: [reason], no: [reason] });
    expect(endpoint.requests.filter(({ text }) => text.includes('politeness'))).toEqual([]);
  });

  test('is not applicable where its prompt asks for one that does not apply, and is asked where it does not', async () => {
    const run = await logged();
    const asking = await judge([names.spans], `Is {{output}} good, being {{required_scores.${names.spans}}}?`);
    const silent = await judge([names.spans], 'Is {{output}} good?');
    for (const { id } of [asking, silent]) await recompute(run, id);
    const reason = expect.stringContaining(`the metric "${names.spans}", which the prompt asks for, does not apply`);
    await polled(run, asking.id, silent.id).toEqual({ please: [reason, false], no: [reason, false] });
    const shown = `required scores = {\\n \\"${names.spans}\\": null\\n}`;
    expect(endpoint.requests.map(({ text }) => shownIn(text))).toEqual([[shown], [shown]]);
  });

  test('is tried out with it, at the price of both', async () => {
    const { log_stream_id: logStreamId } = await logged();
    const tried = await tryJudge({ client, instructions, settings, requiredMetrics: [names.polite], records: { logStreamId } });
    expect(Object.fromEntries(tried.samples.map(({ output, value }) => [output, value]))).toEqual({ please: true, no: false });
    expect(tried.summary).toMatchObject({ with_value: 2, calls: 4, input_tokens: 48 });
    const unknown = tryJudge({ client, instructions, settings, requiredMetrics: ['polyte'], records: { logStreamId } });
    await expect(unknown).rejects.toMatchObject({ status: 422, message: /no metric is called "polyte"/ });
  });

  test('is tried out as it is where a metric that it requires was renamed since, and so is code', async () => {
    const { log_stream_id } = await logged();
    const oldName = `long ${newId()}`;
    const { id } = await createCodeMetric({ client, code: lengthOf(1), direction: 'higher', name: oldName, kinds: ['trace'] });
    const { id: judgeId } = await judge([oldName], `Is {{output}} long, being {{required_scores.${oldName}}}?`);
    await client.send(`/scorers/${id}`, { method: 'PATCH', body: { name: `size ${newId()}` } });
    const kept = await client.send<{ required_scorers: string[]; required_metric_ids: string[] }>(`/scorers/${judgeId}`, {});
    expect(kept).toMatchObject({ required_scorers: [oldName], required_metric_ids: [id] });
    const { required_scorers, required_metric_ids } = kept;
    const tryOut = (requires: object) =>
      client.send<{ samples: { status: string }[] }>('/scorers/llm/validate/log_record', {
        body: {
          ...{ log_stream_id, query: '', response: '', chain_poll_template: { template: '' } },
          user_prompt: `Is {{output}} long, being {{required_scores.${oldName}}}?`,
          scorer_configuration: { model_alias: model, num_judges: 1, scoreable_node_types: ['trace'], ...requires },
        },
      });
    const { samples } = await tryOut({ required_scorers, required_metric_ids });
    expect(samples.map(({ status }) => status)).toEqual(['success', 'success']);
    expect(endpoint.requests.flatMap(({ text }) => shownIn(text)).some((one) => one.includes(`${oldName} = 6`))).toBe(true);
    await expect(tryOut({ required_scorers })).rejects.toMatchObject({ status: 422, message: /no metric is called/ });
    const form = new FormData();
    const code = `def scorer_fn(*, step_object, required_scores, **kwargs) -> int:\n    return required_scores['${oldName}']\n`;
    form.append('file', new Blob([code]), 'scorer.py');
    form.append('log_stream_id', log_stream_id);
    form.append('scoreable_node_types', 'trace');
    form.append('required_scorers', JSON.stringify(required_scorers));
    form.append('required_metric_ids', JSON.stringify(required_metric_ids));
    const tried = await client.send<{ samples: { value: unknown }[] }>('/scorers/code/validate/log_record', { form });
    expect(tried.samples.map(({ value }) => value).sort()).toEqual([2, 6]);
  });

  test('is refused where there is no such metric, where it is itself, and where the prompt names another', async () => {
    const refused = async (body: object) => {
      const { status, body: answer } = await service.request('POST', '/scorers', { scorer_type: 'llm', ...body });
      return [status, (answer as { detail?: unknown }).detail];
    };
    const name = newId();
    expect(await refused({ name, required_scorers: [names.length, 'polyte'] })).toMatchObject([
      ...[422, [{ loc: ['body', 'required_scorers', 1], msg: expect.stringContaining('no metric is called "polyte"') }]],
    ]);
    expect(await refused({ name, required_scorers: [names.length, name.toUpperCase()] })).toMatchObject([
      ...[422, [{ loc: ['body', 'required_scorers', 1], msg: `a metric cannot require itself: "${name.toUpperCase()}"` }]],
    ]);
    const prompt = { user_prompt: 'Is it {{required_scores.other}}?', required_scorers: [names.length] };
    expect(await refused({ name, ...prompt })).toMatchObject([
      ...[422, [{ loc: ['body', 'user_prompt'], msg: expect.stringContaining(`(required_scorers): "${names.length}"`) }]],
    ]);
    await expect(judge([], 'Is it {{required_scores}}?', name)).rejects.toMatchObject({
      status: 422,
      message: /it requires none/,
    });
  });

  test('cannot be computed where stored judges require each other, and says so', async () => {
    const template = {
      template: 'Is it?',
      value_field_name: 'rating',
      explanation_field_name: 'why',
      metric_few_shot_examples: [],
    };
    const stored = (id: string, name: string, requires: { id: string; name: string }): Scorer => {
      const definition = {
        ...{ template, userPrompt: 'Is it?', instructions: null, modelName: null, numJudges: 1, nodeTypes: ['trace'] },
        ...{ explain: false, outputType: 'boolean' as const, inputType: null },
      };
      const version = { id: newId(), scorerId: id, version: 1, definition, createdBy: newId(), createdAt: new Date() };
      return {
        ...{
          id,
          name,
          scorerType: 'llm',
          scopeProjects: [],
          createdBy: newId(),
          createdAt: null,
          updatedAt: null,
          deleted: false,
        },
        ...{ defaultVersion: version, latestVersion: version },
        definition: { required_scorers: [requires.name], required_metric_ids: [requires.id] },
      };
    };
    const [a, b] = [newId(), newId()];
    const all = [stored(a, 'A', { id: b, name: 'B' }), stored(b, 'B', { id: a, name: 'A' })];
    const lookup = {
      list: async () => all,
      findEver: async (wanted: readonly string[]) => all.filter(({ id }) => wanted.includes(id)),
      findVersionById: async () => undefined,
    };
    const { metrics, refused } = await resolvableMetrics(lookup, ['A']);
    expect(metrics).toEqual([]);
    expect(refused).toMatchObject([{ problem: '"A" requires "B": "B" requires "A": it requires itself' }]);
  });
});
