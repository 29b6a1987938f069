import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDataset } from '../../client/createDataset.ts';
import { runExperiment } from '../../client/runExperiment.ts';
import { rowTraceId } from '../../shared/experiments/rowTrace.ts';
import { type ExperimentOf, newExperiment } from '../support/runs.ts';
import { startTestService, type TestProject, type TestService } from '../support/service.ts';

let service: TestService;
let project: TestProject;
let runners: string;

beforeAll(async () => {
  runners = await mkdtemp(join(tmpdir(), 'assay-runners-'));
  await writeFile(join(runners, 'echo.mjs'), 'export default (input) => input;');
  // What it answers depends on the trial: of `even` the trials agree, of all else they do not.
  await writeFile(
    join(runners, 'moody.mjs'),
    "export default (input, { row }) => (input === 'even' ? input : `${input} ${row.ordinal} ${row.trial}`);",
  );
  service = await startTestService({ RUNNERS_DIR: runners });
  project = await service.project();
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await rm(runners, { recursive: true, force: true });
});

const echo = { kind: 'module', name: 'echo' } as const;

interface Found {
  id: string;
  dataset_row_id: string | null;
  dataset_version: number | null;
  dataset_row_ordinal: number | null;
  trial: number | null;
}
const found = async (run: object, more: object = {}, route = 'search'): Promise<Found[]> =>
  (await service.client.send<{ records: Found[] }>(`/projects/${project.id}/traces/${route}`, { body: { ...run, ...more } }))
    .records;
const rowsIn = async (datasetId: string) =>
  (await service.client.send<{ rows: { row_id: string; values_dict: { input: string } }[] }>(`/datasets/${datasetId}/content`))
    .rows;

async function datasetOf(name: string, inputs: readonly string[]) {
  const { id } = await createDataset({
    client: service.client,
    name,
    content: inputs.map((input) => ({ input, output: input })),
  });
  return { id, rows: await rowsIn(id) };
}

async function ended(one: ExperimentOf, request: object) {
  await one.start({ runner: echo, ...request });
  const end = await one.end();
  expect(end.state, JSON.stringify(end)).toBe('completed');
  return end;
}

describe('the traces of an experiment', () => {
  test('say which row of which dataset version they ran, in columns that filter, sort and are exported', async () => {
    const dataset = await datasetOf('three letters', ['a', 'b', 'c']);
    const one = await newExperiment(service.client, project.id, {
      name: 'letters',
      dataset: { dataset_id: dataset.id, version_index: 1 },
    });
    await ended(one, {});
    const run = { experiment_id: one.id };
    const traces = await found(run, { sort: { column_id: 'dataset_row_ordinal', ascending: false } });
    expect(traces.map((trace) => [trace.dataset_row_id, trace.dataset_version, trace.dataset_row_ordinal, trace.trial])).toEqual(
      dataset.rows.map(({ row_id }, ordinal) => [row_id, 1, ordinal, 0]).reverse(),
    );
    const [, second] = dataset.rows;
    const filters = [
      { type: 'id', column_id: 'dataset_row_id', operator: 'eq', value: second?.row_id },
      { type: 'number', column_id: 'dataset_version', operator: 'eq', value: 1 },
      { type: 'number', column_id: 'trial', operator: 'lt', value: 1 },
    ];
    const [selected, ...others] = await found(
      run,
      { filters, select_columns: { column_ids: ['dataset_row_ordinal'] } },
      'partial_search',
    );
    expect(others).toEqual([]);
    expect(selected).toMatchObject({ dataset_row_ordinal: 1 });
    expect(selected).not.toHaveProperty('dataset_row_id');

    const columns = ['dataset_row_id', 'dataset_version', 'dataset_row_ordinal', 'trial'];
    const exported = async (column_ids?: string[]) => {
      const body = {
        ...run,
        root_type: 'trace',
        export_format: 'csv',
        column_ids,
        sort: { column_id: 'trial', ascending: true },
      };
      const response = await fetch(`${service.url}/v2/projects/${project.id}/export_records`, {
        method: 'POST',
        headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(200);
      return (await response.text()).trim().split(/\r?\n/);
    };
    const [header, ...lines] = await exported(columns);
    expect(header).toBe(columns.join(','));
    expect(lines.sort()).toEqual(dataset.rows.map(({ row_id }, ordinal) => `${row_id},1,${ordinal},0`).sort());
    expect((await exported())[0]?.split(',')).toEqual(expect.arrayContaining(columns));
  });

  test('are listed with these columns behind the standard ones, which log streams have alone', async () => {
    const one = await newExperiment(service.client, project.id, { name: 'catalog' });
    const { id: stream } = await service.client.send<{ id: string }>(`/projects/${project.id}/log_streams`, {
      body: { name: 'main' },
    });
    const catalog = async (run: object) =>
      (
        await service.client.send<{ columns: { id: string; category: string }[] }>(
          `/projects/${project.id}/traces/available_columns`,
          { body: run },
        )
      ).columns;
    const ofStream = await catalog({ log_stream_id: stream });
    const ofExperiment = await catalog({ experiment_id: one.id });
    const standard = (columns: typeof ofStream) => columns.filter(({ category }) => category === 'standard');
    expect(standard(ofExperiment)).toEqual(standard(ofStream));
    expect(ofStream.filter(({ category }) => category === 'dataset')).toEqual([]);
    const added = ofExperiment.slice(standard(ofExperiment).length).filter(({ category }) => category === 'dataset');
    expect(added).toMatchObject([
      {
        id: 'dataset_row_id',
        data_type: 'uuid',
        filter_type: 'id',
        filterable: true,
        sortable: true,
        applicable_types: ['trace'],
      },
      { id: 'dataset_version', data_type: 'integer', filter_type: 'number', filterable: true, sortable: true },
      { id: 'dataset_row_ordinal', data_type: 'integer', filter_type: 'number', filterable: true, sortable: true },
      { id: 'trial', data_type: 'integer', filter_type: 'number', filterable: true, sortable: true },
    ]);
  });

  test('of a list of records have rows, and no version; what is logged has neither', async () => {
    const one = await newExperiment(service.client, project.id, { name: 'records' });
    await ended(one, { records: [{ input: 'a' }, { input: 'b' }] });
    const traces = await found({ experiment_id: one.id }, { sort: { column_id: 'dataset_row_ordinal', ascending: true } });
    expect(traces).toMatchObject([
      { dataset_row_id: expect.any(String), dataset_version: null, dataset_row_ordinal: 0, trial: 0 },
      { dataset_row_id: expect.any(String), dataset_version: null, dataset_row_ordinal: 1, trial: 0 },
    ]);
    expect(traces[0]?.dataset_row_id).not.toBe(traces[1]?.dataset_row_id);

    const logged = await newExperiment(service.client, project.id, { name: 'logged' });
    await service.client.send(`/projects/${project.id}/traces`, {
      body: { experiment_id: logged.id, traces: [{ name: 'x', input: 'x', spans: [], trial: 7 }] },
    });
    expect(await found({ experiment_id: logged.id })).toMatchObject([
      { dataset_row_id: null, dataset_version: null, dataset_row_ordinal: null, trial: null },
    ]);
  });
});

describe('trials', () => {
  const refused = async (one: ExperimentOf, request: object) =>
    service.request('POST', `/v2/projects/${project.id}/experiments/${one.id}/run`, { runner: echo, ...request });

  test('run each row so many times; the first ones keep the ids that rows without trials have', async () => {
    const dataset = await datasetOf('repeated', ['even', 'odd', 'odder']);
    const one = await newExperiment(service.client, project.id, {
      name: 'repeated',
      dataset: { dataset_id: dataset.id, version_index: 1 },
    });
    const { row_count, trials } = await one.start({ runner: { kind: 'module', name: 'moody' }, trials: 3, concurrency: 2 });
    expect({ row_count, trials }).toEqual({ row_count: 9, trials: 3 });
    expect(await one.end()).toMatchObject({ state: 'completed', trials: 3, rows_total: 9, rows_done: 9, rows_failed: 0 });
    const traces = await found({ experiment_id: one.id }, { limit: 100 });
    expect(new Set(traces.map(({ id }) => id))).toEqual(
      new Set([0, 1, 2].flatMap((trial) => dataset.rows.map(({ row_id }) => rowTraceId(one.id, row_id, trial)))),
    );
    expect(rowTraceId(one.id, dataset.rows[0]?.row_id ?? '', 0)).toBe(rowTraceId(one.id, dataset.rows[0]?.row_id ?? ''));
    const outputs = (await one.traces()).map(({ name, output }) => `${name}: ${output}`).sort();
    expect(outputs).toEqual([
      ...['row 1, trial 2: even', 'row 1, trial 3: even', 'row 1: even'],
      ...['row 2, trial 2: odd 1 1', 'row 2, trial 3: odd 1 2', 'row 2: odd 1 0'],
      ...['row 3, trial 2: odder 2 1', 'row 3, trial 3: odder 2 2', 'row 3: odder 2 0'],
    ]);
    const filters = [{ type: 'number', column_id: 'trial', operator: 'eq', value: 2 }];
    expect(
      (await found({ experiment_id: one.id }, { filters })).map(({ dataset_row_ordinal }) => dataset_row_ordinal).sort(),
    ).toEqual([0, 1, 2]);
    expect(await service.client.send(`/projects/${project.id}/experiments/${one.id}`)).toMatchObject({
      trials: 3,
      num_traces: 9,
    });
  });

  test('are added by a later run, which runs these alone, and never taken away', async () => {
    const one = await newExperiment(service.client, project.id, { name: 'more trials', trials: 2 });
    await ended(one, { records: [{ input: 'a' }, { input: 'b' }] });
    const before = await found({ experiment_id: one.id });
    expect(before).toHaveLength(4);
    for (const request of [{ trials: 1 }, { trials: 3, rows_to_run: 'none' }]) {
      const { status, body } = await refused(one, request);
      expect(status, JSON.stringify(body)).toBe(422);
    }
    expect(await ended(one, { trials: 3 })).toMatchObject({ rows_total: 6, rows_done: 6, trials: 3 });
    const after = await found({ experiment_id: one.id });
    expect(after).toHaveLength(6);
    // What was recorded is not run again.
    expect(after.filter(({ trial }) => trial !== 2)).toEqual(expect.arrayContaining(before));
  });

  test.each([0, -1, 1.5, 101, '3'])('%j of them is refused', async (trials) => {
    const one = await newExperiment(service.client, project.id, { name: 'refused' });
    const { status, body } = await refused(one, { trials, records: [{ input: 'a' }] });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain('trials');
    expect((await one.progress()).state).toBe('idle');
  });

  test('run in the process of the caller, who is told which one it is; a run that is left goes on with those that are missing', async () => {
    const records = Array.from({ length: 20 }, (_, index) => ({ input: `q${index}`, output: `q${index}` }));
    const options = {
      client: service.client,
      projectId: project.id,
      experimentName: 'by hand',
      dataset: records,
      trials: 3,
      concurrency: 4,
    };
    const ran: string[] = [];
    const left = new AbortController();
    const run = (signal?: AbortSignal) =>
      runExperiment({
        ...options,
        signal,
        function: async (input: string, { ordinal, trial }) => {
          ran.push(`${ordinal} ${trial}`);
          if (ran.length === 30) left.abort(new Error('left'));
          return input;
        },
      });
    await expect(run(left.signal)).rejects.toThrow('left');
    const { experiment, progress, resumed } = await run();
    expect(resumed).toBe(true);
    expect(progress).toMatchObject({ rows_total: 60, rows_done: 60, trials: 3 });
    expect(new Set(ran).size).toBe(60);
    expect(ran.length).toBeLessThan(60 + 30);
    const traces = await found({ experiment_id: experiment.id }, { limit: 100 });
    expect(new Set(traces.map((trace) => `${trace.dataset_row_ordinal} ${trace.trial}`))).toEqual(new Set(ran));
    expect(traces).toHaveLength(60);
    await expect(runExperiment({ ...options, trials: 0, function: String })).rejects.toThrow(
      'trials must be a whole number from 1 on',
    );
  });
});
