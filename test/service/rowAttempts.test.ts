import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPrompt, rerunExperiment, runExperiment } from '../../client/index.ts';
import type { ExperimentRow } from '../../shared/experiments/experiment.ts';
import { recordRows } from '../../shared/experiments/recordRows.ts';
import { fails, type ModelEndpoint, says, sends, startModelEndpoint } from '../support/modelEndpoint.ts';
import { aRun } from '../support/runInMemory.ts';
import { type ExperimentOf, experimentOf, modelAt, newExperiment } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
let endpoint: ModelEndpoint;
let prompt: { kind: 'prompt_template'; prompt_template_version_id: string };

/** A module that does what `trouble` says in its first two executions, as a file counts them: its processes end. */
const twice = (count: string, trouble: string) => `
  import { appendFileSync, readFileSync } from 'node:fs';
  export default (input) => {
    appendFileSync(${JSON.stringify(count)}, 'x');
    if (readFileSync(${JSON.stringify(count)}, 'utf8').length < 3) ${trouble};
    return input;
  };`;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  const { runnersDir: runners } = service;
  await writeFile(join(runners, 'throws.mjs'), twice(join(runners, 'thrown'), "throw new Error('not yet')"));
  await writeFile(join(runners, 'dies.mjs'), twice(join(runners, 'died'), 'process.exit(1)'));
  project = await service.project();
  await modelAt(service.client, 'model', endpoint.url, ['model-1']);
  const { selected_version_id: version } = await createPrompt({
    ...{ client: service.client, projectId: project.id, name: 'answers', template: 'Answer {{input}}' },
    settings: { modelAlias: 'model-1' },
  });
  prompt = { kind: 'prompt_template', prompt_template_version_id: version };
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const url = () => ({ kind: 'http', url: `${endpoint.url}/rows` }) as const;
const records = [{ input: 'one', generated_output: '1' }];

async function attemptsOf({ id }: ExperimentOf, filters: object[] = []): Promise<unknown[]> {
  const { records: found } = await service.client.send<{ records: { attempts: unknown }[] }>(
    `/projects/${project.id}/traces/search`,
    { body: { experiment_id: id, filters, sort: { column_id: 'attempts', ascending: true } } },
  );
  return found.map(({ attempts }) => attempts);
}

async function ran(request: Parameters<ExperimentOf['start']>[0]): Promise<ExperimentOf> {
  const one = await newExperiment(service.client, project.id, { name: 'tried' });
  await one.start({ ...request, ...(request.rows_to_run === undefined && { records }) });
  await one.end();
  return one;
}

async function again(one: ExperimentOf, rowsToRun: 'failed' | { ordinals: number[] } = 'failed') {
  await one.start({ rows_to_run: rowsToRun });
  await one.end();
}

const failing = () => endpoint.next(fails(503), fails(503));

describe('a row that failed twice and then passed was tried three times', () => {
  test('by the calls of a model within one run', async () => {
    failing();
    const one = await ran({ runner: prompt });
    expect(await attemptsOf(one)).toEqual([3]);
    expect(await attemptsOf(one, [{ type: 'number', column_id: 'attempts', operator: 'gt', value: 2 }])).toEqual([3]);
    expect(await attemptsOf(one, [{ type: 'number', column_id: 'attempts', operator: 'gt', value: 3 }])).toEqual([]);
  });

  test('by the calls of a URL within one run', async () => {
    failing();
    endpoint.next(sends(200, '{"output": "1"}'));
    expect(await attemptsOf(await ran({ runner: url() }))).toEqual([3]);
  });

  test('by a model over three runs, and once more where the row is chosen', async () => {
    failing();
    const one = await ran({ runner: prompt, max_call_attempts: 1 });
    expect(await attemptsOf(one)).toEqual([1]);
    await again(one);
    expect(await attemptsOf(one)).toEqual([2]);
    await again(one);
    expect(await attemptsOf(one)).toEqual([3]);
    await again(one, { ordinals: [0] });
    expect(await attemptsOf(one)).toEqual([4]);
  });

  test('by a URL over three runs', async () => {
    failing();
    const one = await ran({ runner: url(), max_call_attempts: 1 });
    await again(one);
    endpoint.next(sends(200, '{"output": "1"}'));
    await again(one);
    expect(await attemptsOf(one)).toEqual([3]);
  });

  test('by a module over three runs', async () => {
    const one = await ran({ runner: { kind: 'module', name: 'throws' } });
    await again(one);
    expect(await attemptsOf(one)).toEqual([2]);
    await again(one);
    expect(await attemptsOf(one)).toEqual([3]);
  });

  test('by a module whose process dies', async () => {
    expect(await attemptsOf(await ran({ runner: { kind: 'module', name: 'dies' } }))).toEqual([3]);
  });

  test('by a function of the caller over three runs', async () => {
    let calls = 0;
    const place = { client: service.client, projectId: project.id };
    const tries = (input: string) => {
      if (++calls < 3) throw new Error('not yet');
      return input;
    };
    const { experiment } = await runExperiment({
      ...{ ...place, experimentName: 'tried by a function', dataset: [{ input: 'one' }], function: tries },
    });
    const one = experimentOf(service.client, project.id, experiment.id);
    expect(await attemptsOf(one)).toEqual([1]);
    await rerunExperiment({ ...place, experimentId: experiment.id, function: tries });
    await rerunExperiment({ ...place, experimentId: experiment.id, function: tries });
    expect(await attemptsOf(one)).toEqual([3]);
  });
});

test('nothing tries the outputs that a dataset holds', async () => {
  endpoint.otherwise(says('1'));
  expect(await attemptsOf(await ran({ runner: { kind: 'dataset_outputs' } }))).toEqual([null]);
});

describe('the attempts of a row that runs again', () => {
  const row: ExperimentRow = {
    ...{ rowId: 'a', ordinal: 0, sourceOrdinal: 0, trial: 0, input: 'q', expected: null, metadata: {}, variables: {} },
    generatedOutput: null,
  };
  const recorded = async (before: { attempt: number; attempts: number | null }, now: number | null) => {
    const written: unknown[] = [];
    const log = {
      recorded: async (_run: unknown, [id = '']: string[]) => new Map([[id, { error: 'before', ...before }]]),
      write: async (_run: unknown, [trace]: { ofRow?: { attempts: number | null } }[]) =>
        void written.push(trace?.ofRow?.attempts),
    };
    const write = recordRows(
      { log, untilStored: (operation) => operation() },
      aRun({ rowsToRun: 'failed', workflowNumber: 2 }),
      2_000_001,
      new AbortController().signal,
    );
    await write([{ row, result: { output: 'a', spans: [], startedAt: new Date(), durationNs: 1, attempts: now } }]);
    return written;
  };

  test('are unknown where those of a former run are', async () => {
    expect(await recorded({ attempt: 1_000_001, attempts: null }, 1)).toEqual([null]);
    expect(await recorded({ attempt: 1_000_001, attempts: 6 }, null)).toEqual([null]);
  });

  test('count a result once that is given twice', async () => {
    expect(await recorded({ attempt: 1_000_001, attempts: 6 }, 1)).toEqual([7]);
    expect(await recorded({ attempt: 2_000_001, attempts: 7 }, 1)).toEqual([7]);
  });
});
