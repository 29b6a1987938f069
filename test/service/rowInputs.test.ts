import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDataset } from '../../client/datasets.ts';
import { runExperiment } from '../../client/runExperiment.ts';
import { toExperimentRow } from '../../shared/datasets/experimentRow.ts';
import type { RecordToScore } from '../../shared/scoring/recordToScore.ts';
import { withRowValues } from '../../shared/scoring/rowValues.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { experimentOf, modelAt, newExperiment } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
let endpoint: ModelEndpoint;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  const { runnersDir: runners } = service;
  await writeFile(join(runners, 'seen.mjs'), 'export default (input, { row }) => JSON.stringify([input, row.input]);');
  project = await service.project();
  await modelAt(service.client, 'model', endpoint.url, ['small']);
  endpoint.otherwise(says('{"explanation": "so it is", "verdict": true}'));
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

/** Returns what judges of correctness were shown since the request of this number. */
const shownSince = (from: number): string[] =>
  endpoint.requests
    .slice(from)
    .map(({ body }) => (body.messages as { content: string }[]).map(({ content }) => content).join('\n'))
    .filter((text) => text.includes('name="input"'));

const content = [
  {
    question: 'Who said "hi"?',
    number: '1.50',
    messages: '[{"n": 12345678901234567890}]',
    output: 'Ada',
    expected: 'Ada',
    metadata: '{"source": "a book"}',
    generated_output: 'Ada did',
  },
  { question: 'Where was it?', number: 2, messages: null, output: 'Oslo', expected: 'Oslo', generated_output: 'In Oslo' },
];
const inputs = [
  '{"question":"Who said \\"hi\\"?","number":"1.50","messages":[{"n": 12345678901234567890}]}',
  '{"question":"Where was it?","number":2}',
];

test('a row of a dataset without a column `input` has its values as the input, however it runs', async () => {
  const { client } = service;
  const dataset = await createDataset({ client, name: 'no input', content });
  const common = { client, projectId: project.id, dataset: dataset.name, metrics: ['correctness'], resume: false } as const;
  const given: unknown[] = [];
  const ways = {
    prompt: () =>
      runExperiment({
        ...{ ...common, experimentName: 'prompt', promptTemplate: 'Answer: {{question}}' },
        promptSettings: { modelAlias: 'small' },
      }),
    function: () =>
      runExperiment({
        ...{ ...common, experimentName: 'function', trials: 2 },
        function: (input: unknown) => {
          given.push(input);
          return 'an answer';
        },
      }),
    module: () => runExperiment({ ...common, experimentName: 'module', module: 'seen' }),
    outputs: () => runExperiment({ ...common, experimentName: 'outputs' }),
  };
  for (const [way, run] of Object.entries(ways)) {
    const from = endpoint.requests.length;
    const { experiment, progress } = await run();
    expect(progress, way).toMatchObject({ state: 'completed', rows_failed: 0 });
    const one = experimentOf(client, project.id, experiment.id);
    const expected = (way === 'function' ? [inputs, inputs] : [inputs]).flat().toSorted();
    const traces = await one.traces();
    expect(traces.map(({ input }) => input).toSorted(), way).toEqual(expected);
    expect(traces.map(({ dataset_input }) => dataset_input).toSorted(), way).toEqual(expected);
    const shown = shownSince(from);
    for (const input of inputs) expect(shown.join('\n'), way).toContain(`name="input">\n${input}\n`);
    const { records } = await client.send<{ records: unknown[] }>(`/projects/${project.id}/traces/search`, {
      body: {
        experiment_id: experiment.id,
        filters: [{ type: 'text', column_id: 'input', operator: 'contains', value: 'Where was it?' }],
      },
    });
    expect(records, way).toHaveLength(way === 'function' ? 2 : 1);
    if (way === 'module')
      expect(traces.map(({ output }) => JSON.parse(output ?? ''))).toContainEqual([
        expect.objectContaining({ question: 'Where was it?', number: 2, output: 'Oslo' }),
        inputs[1],
      ]);
  }
  expect(given).toContainEqual(expect.objectContaining({ question: 'Where was it?', number: 2, output: 'Oslo' }));
});

test('rows that run again have the same input, and one column is its text', async () => {
  const { client } = service;
  const one = await newExperiment(client, project.id, { name: 'again' });
  await one.start({
    runner: { kind: 'dataset_outputs' },
    records: [{ question: '[1.50, "a"]', output: 'x', generated_output: 'x' }, { question: 'plain' }],
  });
  expect(await one.end()).toMatchObject({ state: 'completed', rows_failed: 1 });
  const said = async () => (await one.traces()).map(({ input, dataset_input }) => [input, dataset_input]).toSorted();
  const expected = [
    ['[1.50, "a"]', '[1.50, "a"]'],
    ['plain', 'plain'],
  ];
  expect(await said()).toEqual(expected);
  await one.start({ rows_to_run: { ordinals: [0, 1] } });
  await one.end();
  expect(await said()).toEqual(expected);
});

test('a record of a former release, with an empty input, is judged by what its row asks', async () => {
  const target = (input: string, datasetInput: string | null) =>
    ({ kind: 'trace', rowOrdinal: 3, record: { input, datasetInput } }) as unknown as RecordToScore;
  const records = new Map([
    ['former', target('', '')],
    ['own', target('', 'theirs')],
    ['new', target('asked', 'asked')],
  ]);
  const asked: (readonly number[])[] = [];
  const filled = await withRowValues(
    {
      async rowValues(_run, ordinals) {
        asked.push(ordinals);
        return new Map([[3, toExperimentRow({ rowId: 'r', ordinal: 3, values: { question: 'Who?', output: 'Ada' } })]]);
      },
      untilStored: (operation) => operation(),
    },
    { projectId: project.id, runId: project.id },
    [...records.keys()].map((recordId) => ({ recordId, metric: { needs: 'judge' } as never })),
    records,
    new AbortController().signal,
  );
  expect(asked).toEqual([[3]]);
  expect([...filled.values()].map(({ record }) => record.datasetInput)).toEqual(['Who?', 'theirs', 'asked']);
});
