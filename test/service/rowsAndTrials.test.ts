import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDataset } from '../../client/datasets.ts';
import { runExperiment } from '../../client/runExperiment.ts';
import { rowTraceId } from '../../shared/experiments/rowTrace.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { type ExperimentOf, experimentOf, modelAt, newExperiment, type Progress } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
let endpoint: ModelEndpoint;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  const { runnersDir: runners } = service;
  await writeFile(join(runners, 'echo.mjs'), 'export default (input) => input;');
  // Its answer depends on the trial: the trials of `even` agree, all others do not.
  await writeFile(
    join(runners, 'moody.mjs'),
    "export default (input, { row }) => (input === 'even' ? input : [input, row.ordinal, row.trial].join(String.fromCharCode(32)));",
  );
  await writeFile(
    join(runners, 'wavering.mjs'),
    "export default (wrong, { row }) => (row.trial >= 4 - Number(wrong) ? 'wrong' : 'right');",
  );
  // The first five rows and the last one wait for a file each.
  await writeFile(
    join(runners, 'gated.mjs'),
    `import { existsSync } from 'node:fs';
     import { setTimeout } from 'node:timers/promises';
     export default async (input, { row }) => {
       const gate = row.ordinal < 5 ? 'first' : row.ordinal === 99 ? 'last' : undefined;
       while (gate && !existsSync(${JSON.stringify(runners)} + '/' + gate + '.open')) await setTimeout(20);
       return input;
     };`,
  );
  project = await service.project();
  await modelAt(service.client, 'judge', endpoint.url, ['judge-1']);
  endpoint.otherwise(says('{"explanation": "so it is", "verdict": true}'));
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
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
    const exported = async (column_ids?: string[], of: object = run) => {
      const body = {
        ...of,
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
    // As one client names the experiment.
    expect((await exported(columns, { log_stream_id: one.id })).sort()).toEqual([header, ...lines].sort());
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
    expect(await catalog({ log_stream_id: one.id })).toEqual(ofExperiment);
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
      { id: 'attempts', data_type: 'integer', filter_type: 'number', filterable: true, sortable: true },
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
      { dataset_row_id: null, dataset_version: null, dataset_row_ordinal: null, trial: null, attempts: null },
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

  test('say how far those of a row agree, by metric', async () => {
    const metrics = ['exact_match'];
    const one = await newExperiment(service.client, project.id, { name: 'agreement', metrics, trials: 4 });
    const runner = { kind: 'module', name: 'wavering' };
    // Right in each trial; in the first of four; in three of four.
    const records = [0, 3, 1].map((wrong) => ({ input: `${wrong}`, output: 'right' }));
    await ended(one, { runner, records });
    const { trial_aggregates: aggregates } = await service.client.send<{ trial_aggregates: Record<string, unknown> }>(
      `/projects/${project.id}/experiments/${one.id}`,
    );
    expect(aggregates.exact_match).toEqual({
      rows: 3,
      mean: expect.closeTo((1 + 1 / 4 + 3 / 4) / 3, 9),
      deviation: expect.closeTo(Math.sqrt(((1 / 3) ** 2 + (5 / 12) ** 2 + (1 / 12) ** 2) / 2), 9),
      spread: expect.closeTo((0 + 0.5 + 0.5) / 3, 9),
      agreement: expect.closeTo((1 + 3 / 4 + 3 / 4) / 3, 9),
    });
    const once = await newExperiment(service.client, project.id, { name: 'once', metrics });
    await ended(once, { records: [{ input: 'a', output: 'a' }] });
    expect(await service.client.send(`/projects/${project.id}/experiments/${once.id}`)).toMatchObject({ trial_aggregates: null });
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
    // Recorded rows do not run again.
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

describe('a selection of rows', () => {
  const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('');
  let dataset: Awaited<ReturnType<typeof datasetOf>>;
  beforeAll(async () => {
    dataset = await datasetOf(
      'the alphabet',
      LETTERS.map((letter, index) => (index % 5 === 0 ? `vowel ${letter}` : letter)),
    );
  });
  const over = (version = 1, id = dataset.id) => ({ dataset: { dataset_id: id, version_index: version } });
  const selected = async (fields: object, request: object) => {
    const one = await newExperiment(service.client, project.id, { name: 'selected', ...fields });
    const { rows_total, row_selection } = await ended(one, request);
    const traces = await found({ experiment_id: one.id }, { limit: 1_000 });
    expect(traces).toHaveLength(rows_total);
    return {
      one,
      row_selection,
      ordinals: traces.map(({ dataset_row_ordinal }) => dataset_row_ordinal as number).sort((a, b) => a - b),
      traces,
    };
  };
  const none = { filter: null, listed: null, sample: null, limit: null, same_as: null };

  test('is a limit, a filter, a list of ids or ordinals, or several of them', async () => {
    const filter = [{ column_name: 'input', value: 'vowel' }];
    const [first, vowels, byId, byOrdinal, both] = await Promise.all([
      selected(over(), { rows: { limit: 3 } }),
      selected(over(), { rows: { filter } }),
      selected(over(), { rows: { ids: [dataset.rows[7]?.row_id, dataset.rows[2]?.row_id, dataset.rows[7]?.row_id] } }),
      selected(over(), { rows: { ordinals: [25, 0, 12, 0] } }),
      selected(over(), { rows: { ordinals: [3, 5, 10, 15, 16], filter, limit: 2 } }),
    ]);
    expect(first.ordinals).toEqual([0, 1, 2]);
    expect(vowels.ordinals).toEqual([0, 5, 10, 15, 20, 25]);
    expect(byId.ordinals).toEqual([2, 7]);
    expect(byId.traces.map(({ dataset_row_id }) => dataset_row_id).sort()).toEqual(
      [2, 7].map((at) => dataset.rows[at]?.row_id).sort(),
    );
    expect(byOrdinal.ordinals).toEqual([0, 12, 25]);
    expect(both.ordinals).toEqual([5, 10]);
    const asStored = [{ column_name: 'input', operator: 'contains', value: 'vowel' }];
    expect(both.row_selection).toEqual({ selected: 2, of: 26, ...none, filter: asStored, listed: 5, limit: 2 });
    expect(await service.client.send(`/projects/${project.id}/experiments/${both.one.id}`)).toMatchObject({
      row_selection: both.row_selection,
    });
  });

  test('drawn with a seed is the same each time, also from a later version, and another with another seed', async () => {
    const sample = { size: 8, seed: 42 };
    const [one, again, other, later] = await Promise.all([
      selected(over(), { rows: { sample } }),
      selected(over(), { rows: { sample } }),
      selected(over(), { rows: { sample: { size: 8 } } }),
      (async () => {
        const version = await datasetOf('the alphabet, edited', LETTERS);
        await service.client.send(`/datasets/${version.id}/content`, {
          method: 'PATCH',
          body: { edits: [{ edit_type: 'prepend_row', values: { input: 'new' } }] },
        });
        const before = await selected(over(1, version.id), { rows: { sample } });
        const after = await selected(over(2, version.id), { rows: { sample } });
        return [before, after].map(({ traces }) => new Set(traces.map(({ dataset_row_id }) => dataset_row_id)));
      })(),
    ]);
    expect(one.ordinals).toHaveLength(8);
    expect(again.ordinals).toEqual(one.ordinals);
    expect(other.ordinals).not.toEqual(one.ordinals);
    const [before, after] = later as [Set<unknown>, Set<unknown>];
    // The new row may take the place of one.
    expect([...before].filter((id) => after.has(id)).length).toBeGreaterThanOrEqual(7);
  });

  test('can be that of another experiment, with other trials, over another version of its dataset', async () => {
    const first = await selected(over(), { rows: { sample: { size: 5, seed: 3 } } });
    const second = await selected(over(), { rows: { same_as: first.one.id }, trials: 2 });
    expect(new Set(second.ordinals)).toEqual(new Set(first.ordinals));
    expect(second.traces).toHaveLength(10);
    const edited = { edits: [{ edit_type: 'prepend_row', values: { input: 'new', output: 'new' } }] };
    await service.client.send(`/datasets/${dataset.id}/content`, { method: 'PATCH', body: edited });
    const later = await selected(over(2), { rows: { same_as: second.one.id } });
    expect(later.ordinals).toEqual(first.ordinals.map((ordinal) => ordinal + 1));
    const ids = ({ traces }: typeof first) => traces.map(({ dataset_row_id }) => dataset_row_id).sort();
    expect(ids(later)).toEqual(ids(first));
    expect(second.row_selection).toEqual({ selected: 5, of: 26, ...none, same_as: first.one.id });
    const whole = await selected(over(), {});
    expect(whole.row_selection).toBeNull();
    expect((await selected(over(), { rows: { same_as: whole.one.id } })).ordinals).toEqual(LETTERS.map((_, index) => index));

    const records = LETTERS.map((input) => ({ input }));
    const ofRecords = await selected({}, { records, rows: { sample: { size: 4 } } });
    const likeRecords = await selected({}, { records, rows: { same_as: ofRecords.one.id } });
    expect(likeRecords.ordinals).toEqual(ofRecords.ordinals);
  });

  test('holds for each way to start: with the creation, by a job, and a function in the process of the caller', async () => {
    const generated = await createDataset({
      client: service.client,
      name: 'with outputs',
      content: LETTERS.map((letter) => ({ input: letter, output: letter, generated_output: letter })),
    });
    const rows = { ordinals: [4, 8] };
    const triggered = await newExperiment(service.client, project.id, {
      name: 'triggered',
      ...over(1, generated.id),
      trigger: true,
      rows,
      trials: 2,
    });
    expect(await triggered.end()).toMatchObject({ rows_done: 4, rows_total: 4, row_selection: { selected: 2, of: 26 } });
    const byJob = await newExperiment(service.client, project.id, { name: 'by job', ...over(1, generated.id), rows });
    await service.client.send('/jobs', { body: { job_name: 'playground_run', project_id: project.id, run_id: byJob.id } });
    expect(await byJob.end()).toMatchObject({ rows_done: 2, rows_total: 2 });

    const seen: string[] = [];
    const { progress, experiment } = await runExperiment({
      client: service.client,
      projectId: project.id,
      experimentName: 'by hand, selected',
      dataset: LETTERS.map((input) => ({ input })),
      rows: { filter: [{ columnName: 'input', operator: 'eq', value: 'q' }] },
      trials: 2,
      function: (input: string, { ordinal, trial }) => {
        seen.push(`${input} ${ordinal} ${trial}`);
        return input;
      },
    });
    expect(seen.sort()).toEqual(['q 16 0', 'q 16 1']);
    expect(progress).toMatchObject({ rows_total: 2, row_selection: { selected: 1, of: 26 } });
    expect(experiment.row_selection).toEqual(progress.row_selection);
  });

  test('is frozen: a later start runs the same rows, and other ones are refused', async () => {
    const { one } = await selected(over(), { rows: { limit: 2 } });
    expect(await ended(one, { rows: { limit: 2 }, rows_to_run: 'failed' })).toMatchObject({ rows_total: 2 });
    const { status, body } = await service.request('POST', `/v2/projects/${project.id}/experiments/${one.id}/run`, {
      runner: echo,
      rows: { limit: 3 },
    });
    expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining('2 of 26')]);
    expect(await ended(one, { trials: 2 })).toMatchObject({ rows_total: 4, row_selection: { selected: 2 } });
  });

  test.each([
    ['a limit of none', { limit: 0 }, 'limit'],
    ['a sample that is larger than the dataset', { sample: { size: 27 } }, 'a sample of 27 cannot be drawn from 26 rows'],
    [
      'a sample that is larger than what fits',
      { filter: [{ column_name: 'input', value: 'vowel' }], sample: { size: 7 } },
      'cannot be drawn from 6 rows',
    ],
    ['an empty sample', { sample: { size: 0 } }, 'size'],
    ['an ordinal out of range', { ordinals: [0, 26, 99] }, 'there are 26 rows, at 0 to 25: not 26, 99'],
    ['an ordinal below 0', { ordinals: [-1] }, 'ordinals'],
    ['an unknown id', { ids: ['5f3c1f0e-6f0b-4d5e-9a39-0c3d2f1b7a10'] }, 'no rows with the ids 5f3c1f0e'],
    [
      'an unknown column',
      { filter: [{ column_name: 'colour', value: 'x' }] },
      'there is no column \\"colour\\"; columns: input, output',
    ],
    [
      'a filter that nothing fits',
      { filter: [{ column_name: 'input', operator: 'eq', value: 'nowhere' }] },
      'none of the 26 rows is selected',
    ],
    ['ids beside ordinals', { ids: ['5f3c1f0e-6f0b-4d5e-9a39-0c3d2f1b7a10'], ordinals: [1] }, 'ids or ordinals, not both'],
    ['nothing', {}, 'at least one of'],
    ['an unknown key', { offset: 3 }, 'offset'],
    ['an unknown experiment', { same_as: '5f3c1f0e-6f0b-4d5e-9a39-0c3d2f1b7a10' }, 'there is no experiment'],
  ])('that names %s is refused, and nothing is started', async (_what, rows, message) => {
    const one = await newExperiment(service.client, project.id, { name: 'refused', ...over() });
    const { status, body } = await service.request('POST', `/v2/projects/${project.id}/experiments/${one.id}/run`, {
      runner: echo,
      rows,
    });
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining(message)]);
    expect(await one.progress()).toMatchObject({ state: 'idle', row_selection: null });
  });

  test('like that of an experiment which has no frozen rows, or rows of another dataset, is refused', async () => {
    const [idle, other] = await Promise.all([
      newExperiment(service.client, project.id, { name: 'idle', ...over() }),
      selected({}, { records: [{ input: 'a' }] }),
    ]);
    const one = await newExperiment(service.client, project.id, { name: 'refused', ...over() });
    for (const [same_as, message] of [
      [idle.id, 'has not been started'],
      [other.one.id, 'another dataset'],
    ] as const) {
      const { status, body } = await service.request('POST', `/v2/projects/${project.id}/experiments/${one.id}/run`, {
        runner: echo,
        rows: { same_as },
      });
      expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining(message)]);
    }
  });

  test('that is refused takes back the records that came with it', async () => {
    const one = await newExperiment(service.client, project.id, { name: 'other records' });
    const path = `/v2/projects/${project.id}/experiments/${one.id}/run`;
    const refused = await service.request('POST', path, { runner: echo, records: [{ input: 'wrong' }], rows: { ordinals: [1] } });
    expect(refused.status).toBe(422);
    await ended(one, { records: [{ input: 'a' }, { input: 'b' }], rows: { ordinals: [1] } });
    expect((await one.traces()).map(({ input }) => input)).toEqual(['b']);
  });
});

describe('while rows run', () => {
  const questions = (count: number) => Array.from({ length: count }, (_, index) => ({ input: `q${index}`, output: `q${index}` }));

  test('what plain code computes grows, beside a judge too, who is asked when they have ended; no more run than may', async () => {
    const one = await newExperiment(service.client, project.id, { name: 'beside', metrics: ['exact_match', 'correctness'] });
    await one.start({ runner: { kind: 'module', name: 'gated' }, records: questions(100), concurrency: 5 });
    const open = (gate: string) => writeFile(join(service.runnersDir, `${gate}.open`), '');
    const running: number[] = [];
    const seen = (holds: (now: Progress) => boolean) => (now: Progress) => {
      running.push(now.rows_running);
      return holds(now);
    };
    await one.until(seen(({ rows_running }) => rows_running === 5));
    await open('first');
    await one.until(seen(({ rows_done, scores_done }) => rows_done === 99 && scores_done > 0));
    expect(endpoint.requests).toHaveLength(0);
    await open('last');
    const end = await one.until(seen(({ state }) => state === 'completed'));
    expect(Math.max(...running)).toBe(5);
    expect(end).toMatchObject({ rows_done: 100, rows_running: 0, scores_done: 200, scores_total: 200 });
    expect(endpoint.requests).toHaveLength(100);
  });

  test('of a function no more rows run than may, though its process leases some ahead, and when the limit is lowered', async () => {
    const begun = Promise.withResolvers<string>();
    const held: (() => void)[] = [];
    let most = 0;
    const releaseAll = () => {
      for (const release of held.splice(0)) release();
    };
    const done = runExperiment({
      ...{ client: service.client, projectId: project.id, experimentName: 'leases', dataset: questions(120), concurrency: 8 },
      onExperiment: ({ id }) => begun.resolve(id),
      async function(input: string) {
        await new Promise<void>((release) => {
          held.push(release);
          most = Math.max(most, held.length);
        });
        return input;
      },
    });
    const one = experimentOf(service.client, project.id, await begun.promise);
    const isOfAll = async (rows: number) => {
      await expect.poll(() => held.length).toBe(rows);
      await expect.poll(async () => (await one.progress()).rows_running).toBe(rows);
      releaseAll();
    };
    for (let round = 0; round < 3; round++) await isOfAll(8);
    expect(most).toBe(8);
    await one.steer('concurrency', { concurrency: 2 });
    // The process hears of it with its next heartbeat: rows that have begun by then run on.
    const afterHeartbeat = { interval: 3_000 };
    await expect
      .poll(() => {
        if (held.length > 2) releaseAll();
        return held.length;
      }, afterHeartbeat)
      .toBe(2);
    most = 0;
    for (let round = 0; round < 3; round++) await isOfAll(2);
    const rest = setInterval(releaseAll, 5);
    expect((await done).progress).toMatchObject({ rows_done: 120, rows_running: 0 });
    clearInterval(rest);
    expect(most).toBe(2);
  });
});
