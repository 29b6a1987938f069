import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resultsText } from '../../cli/output/resultsText.ts';
import {
  compareExperiments,
  deleteMetric,
  type ExperimentRunResults,
  gateExperiment,
  runExperiment,
  watchExperiment,
} from '../../client/index.ts';
import { withRemedy } from '../../shared/experiments/withRemedy.ts';
import { NO_REFERENCE } from '../../shared/metrics/reasons.ts';
import { fails, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;

beforeAll(async () => {
  service = await sharedTestService();
  projectId = (await service.project()).id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

const run = (experimentName: string, dataset: Record<string, unknown>[], metrics: string[]): Promise<ExperimentRunResults> =>
  runExperiment({
    ...{ client: service.client, projectId, experimentName, dataset, metrics },
    function: (input: unknown) => {
      if (input === 'fails') throw new Error('no answer');
      return String(input);
    },
  });
const wide = 200;
const reason =
  'the row has no reference output: the reference is read from the column "output" (or "ground_truth"), so rename "expected"';

describe('a metric that cannot be computed', () => {
  test('stays in the figures, the table, the gate and the comparison with its reason and what would mend it', async () => {
    const rows = ['one', 'two', 'three'].map((input) => ({ input, expected: input }));
    const named = await run('misnamed reference', rows, ['exact_match', 'numeric_match', 'latency']);
    const { experiment, progress } = named;
    expect(experiment.aggregate_metric_counts?.exact_match).toMatchObject({
      ...{ values: 0, not_applicable: 3 },
      reasons: [{ status_type: 'not_applicable', message: reason, count: 3 }],
    });
    expect(experiment.aggregate_metric_counts?.latency?.reasons).toEqual([]);
    expect(experiment.aggregates.exact_match?.counts?.reasons).toMatchObject([{ count: 3 }]);
    const text = resultsText(experiment, progress, wide);
    expect(text).toMatch(/^exact_match .* 0$/m);
    expect(text).toContain(`exact_match has no value: ${reason}`);
    expect(text).toContain(`numeric_match has no value: ${reason}`);
    expect(text).not.toMatch(/^cost/m);
    const gate = await gateExperiment({
      client: service.client,
      projectId,
      experimentId: experiment.id,
      metrics: { exact_match: { min: 0.9 } },
    });
    expect(gate.checks).toMatchObject([
      { status: 'failed', value: null, reason: expect.stringContaining(`so rename "expected"`) },
    ]);
    const good = await run(
      'good reference',
      rows.map(({ input }) => ({ input, output: input })),
      ['exact_match'],
    );
    const against = { client: service.client, projectId, baselineId: good.experiment.id };
    const drop = await gateExperiment({ ...against, experimentId: experiment.id, metrics: { exact_match: { maxDrop: 0.1 } } });
    expect(drop.checks).toMatchObject([{ status: 'failed', reason: expect.stringContaining(`so rename "expected"`) }]);
    const compared = await compareExperiments({ ...against, experimentIds: [experiment.id] });
    expect(compared.warnings.join('\n')).toContain(`misnamed reference: exact_match has no value: ${reason}`);
    const both = await compareExperiments({
      ...against,
      baselineId: experiment.id,
      experimentIds: [good.experiment.id],
      metrics: ['numeric_match'],
    });
    expect(both.comparisons).toMatchObject([{ metric: 'numeric_match', test: null }]);
    expect(both.warnings.join('\n')).toContain('numeric_match has no value');
  });

  test('of some rows says of how many and why', async () => {
    const rows = [{ input: 'one', output: 'one' }, { input: 'two', output: null }, { input: 'three' }];
    const { experiment, progress } = await run('some references', rows, ['exact_match']);
    const text = resultsText(experiment, progress, wide);
    expect(text).toContain('exact_match has no value of 2 of 3: the row has no reference output: its column "output" is empty');
    const gate = await gateExperiment({
      client: service.client,
      projectId,
      experimentId: experiment.id,
      metrics: { exact_match: { min: 0.9 } },
    });
    expect(gate.warnings.join('\n')).toContain('exact_match has no value of 2 of 3');
  });

  test('for want of documents, spans or answers says so', async () => {
    const rows = ['one', 'two'].map((input) => ({ input }));
    const { experiment, progress } = await run('no spans', rows, ['tool_error_rate', 'input_tokens']);
    const text = resultsText(experiment, progress, wide);
    expect(text).toContain('tool_error_rate has no value: no tool was called');
    expect(text).toContain('input_tokens has no value: no model call with a token count');
    const failed = await run('all fail', [{ input: 'fails', output: 'x' }], ['exact_match']);
    expect(resultsText(failed.experiment, failed.progress, wide)).toContain('exact_match has no value: all rows failed');
  });
});

describe('a judged metric without values', () => {
  const judges: string[] = [];
  beforeAll(async () => {
    const endpoint = await startModelEndpoint();
    endpoint.otherwise(fails(401, { error: { message: 'the key is wrong' } }));
    await service.client.send('/integrations/custom/broken', {
      method: 'PUT',
      body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['broken-model'] },
    });
    for (const kind of ['trace', 'session', 'retriever']) {
      const { id } = await service.client.send<{ id: string }>('/scorers', {
        body: { name: `judge of ${kind} gaps`, scorer_type: 'llm', direction: 'higher', scoreable_node_types: [kind] },
      });
      const body = { user_prompt: 'Is {{output}} right?', model_name: 'broken-model', scoreable_node_types: [kind] };
      await service.client.send(`/scorers/${id}/version/llm`, { body });
      judges.push(id);
    }
    return () => endpoint.close();
  });

  test('says that its judge failed, that its level is another, or that nothing of its kind is there', async () => {
    const rows = [{ input: 'one', output: 'one' }];
    const { experiment, progress } = await run('judged gaps', rows, judges);
    const text = resultsText(experiment, progress, wide);
    expect(text).toMatch(/judge of trace gaps has no value: .*401 Unauthorized/);
    expect(text).toMatch(/judge of retriever gaps has no value: the trace has no span that the metric takes: retriever/);
    expect(text).toMatch(/judge of session gaps has no value: the metric takes records of other kinds than trace: session/);
    expect(text).not.toContain(judges[0]);
    const gate = await gateExperiment({
      ...{ client: service.client, projectId, experimentId: experiment.id },
      metrics: { 'judge of trace gaps': { min: 0.5 }, 'judge of session gaps': { min: 0.5 } },
    });
    expect(gate.checks).toMatchObject([
      { status: 'failed', reason: expect.stringContaining('401 Unauthorized') },
      { status: 'failed', reason: expect.stringContaining('other kinds than trace') },
    ]);
  });

  test('is there with its reason also when its scorer is deleted before the run', async () => {
    const { id } = await service.client.send<{ id: string }>('/scorers', {
      body: { name: 'judge that is deleted', scorer_type: 'llm', direction: 'higher' },
    });
    await service.client.send(`/scorers/${id}/version/llm`, {
      body: { user_prompt: 'Is {{output}} right?', model_name: 'broken-model' },
    });
    const path = `/projects/${projectId}/experiments`;
    const { id: experimentId } = await service.client.send<{ id: string }>(path, {
      body: { name: 'deleted scorer', scorers: [{ id, scorer_type: 'llm' }] },
    });
    await deleteMetric({ client: service.client, id });
    await service.client.send(`${path}/${experimentId}/run`, {
      body: { runner: { kind: 'dataset_outputs' }, records: [{ input: 'one', generated_output: 'one' }] },
    });
    const progress = await watchExperiment({ client: service.client, projectId, experimentId });
    const experiment = await service.client.send<ExperimentRunResults['experiment']>(`${path}/${experimentId}`);
    expect(resultsText(experiment, progress, wide)).toMatch(/judge that is deleted has no value: .+/);
  });
});

test.each([
  [['input', 'expected'], 'so rename "expected"'],
  [['input', 'Ground Truth'], 'so rename "Ground Truth"'],
  [['input', 'expected_output', 'label'], 'so rename one of "expected_output", "label"'],
  [['input', 'topic'], 'and the rows have none of that name'],
  [['input', 'output'], 'its column "output" is empty'],
])('of rows with the columns %j the reason says what would mend it', (columns, expected) => {
  expect(withRemedy(NO_REFERENCE, columns)).toContain(expected);
  expect(withRemedy('another', columns)).toBe('another');
});
