import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { scoringWorkflowId } from '../../shared/scoring/workflow.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt, newExperiment } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let judge: ModelEndpoint;
beforeAll(async () => {
  service = await sharedTestService();
  judge = await startModelEndpoint();
  await modelAt(service.client, 'judge', judge.url, ['judge-1']);
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await judge?.close();
});
beforeEach(() => judge.otherwise(says('{"explanation": "it agrees", "verdict": true}')));

const idOf = (metric: string): string => builtinByName(metric)?.scorerId as string;

interface Found {
  id: string;
  type: string;
  input: string;
  metric_info: Record<string, { status_type: string; value?: unknown; message?: string }> | null;
}

interface Job {
  id: string;
  job_name: string;
  status: string;
  error_message: string | null;
  request_data: { scorer_config: { name: string } };
  steps_completed: number;
  steps_total: number;
  progress_percent: number;
}

/** A log stream of a project of its own. */
async function logStream() {
  const { id: projectId } = await service.project();
  const path = `/projects/${projectId}`;
  const send = async (where: string, body: unknown, method = 'POST'): Promise<{ status: number; body: never }> =>
    service.request(method, `/v2${path}${where}`, body);
  const { body: stream } = await send('/log_streams', { name: 'stream' });
  const streamId = (stream as { id: string }).id;
  const search = async (what = 'traces'): Promise<Found[]> => {
    const { body } = await send(`/${what}/search`, { log_stream_id: streamId, limit: 1_000 });
    return (body as { records: Found[] }).records;
  };
  return {
    projectId,
    streamId,
    send,
    search,
    log: async (traces: object[], rest: object = {}) => {
      const { status } = await send('/traces', { log_stream_id: streamId, traces, ...rest });
      expect(status).toBe(200);
    },
    recompute: async (body: object, spelling = 'recompute-metrics') => send(`/${spelling}`, { log_stream_id: streamId, ...body }),
    enable: async (scorers: object[], rest: object = {}) => {
      const { status } = await send(`/runs/${streamId}/scorer-settings`, { run_id: streamId, scorers, ...rest });
      expect(status).toBe(200);
    },
    jobs: async (): Promise<Job[]> => (await send(`/runs/${streamId}/jobs`, undefined, 'GET')).body,
    /** State of a metric by the input of each record. */
    states: async (metric: string, what = 'traces') =>
      Object.fromEntries(
        (await search(what)).map(({ input, metric_info }) => {
          const result = metric_info?.[metric];
          return [input, result && (result.status_type === 'success' ? result.value : result.status_type)];
        }),
      ),
  };
}

const job = async (id: string): Promise<Job> => (await service.request('GET', `/v2/jobs/${id}`)).body;

/** Waits for the jobs of a recomputing. */
async function done(answer: { status: number; body: never }): Promise<Job[]> {
  expect(answer).toMatchObject({ status: 200 });
  const { job_ids } = answer.body as { job_ids: string[] };
  await expect
    .poll(() => Promise.all(job_ids.map(async (id) => (await job(id)).status)))
    .toEqual(job_ids.map(() => expect.stringMatching(/completed|failed/)));
  return Promise.all(job_ids.map(job));
}

const answered = (input: string, output: string | null = '{}') => ({ input, output });

describe('recomputing the metrics of stored records', () => {
  test.each(['recompute-metrics', 'recompute_metrics'])(
    '%s scores every matching record, with a job for each metric',
    async (spelling) => {
      const { log, recompute, search, jobs } = await logStream();
      await log([answered('one'), answered('two', 'no json'), answered('three')]);
      const answer = await recompute({ scorer_ids: [idOf('json_validity'), idOf('correctness')] }, spelling);
      expect(answer.body).toMatchObject({ num_records: 3, job_ids: [expect.any(String), expect.any(String)] });
      const ended = await done(answer);
      expect(ended.map(({ request_data }) => request_data.scorer_config.name).sort()).toEqual(['correctness', 'json_validity']);
      for (const one of ended)
        expect(one).toMatchObject({
          job_name: 'log_stream_scorer',
          status: 'completed',
          error_message: null,
          steps_completed: 6,
          steps_total: 6,
          progress_percent: 1,
        });
      const traces = await search();
      for (const { input, metric_info } of traces) {
        expect(metric_info?.json_validity).toMatchObject({ status_type: 'success', value: input !== 'two' });
        expect(metric_info?.correctness).toMatchObject({ status_type: 'success', value: true, explanation: 'it agrees' });
      }
      expect((await jobs()).map(({ id }) => id).sort()).toEqual(ended.map(({ id }) => id).sort());
    },
  );

  test('what is filtered out keeps the value it has; the newest value counts', async () => {
    const { log, recompute, states } = await logStream();
    await log([answered('keep'), answered('again')]);
    await done(await recompute({ scorer_ids: [idOf('correctness')] }));
    judge.otherwise(says('{"explanation": "it does not", "verdict": false}'));
    const filters = [{ type: 'text', column_id: 'input', operator: 'eq', value: 'again' }];
    await done(await recompute({ scorer_ids: [idOf('correctness')], filters }));
    expect(await states('correctness')).toEqual({ keep: true, again: false });
    // A filter on the very values that are computed again: the records are settled before the first of them changes.
    judge.otherwise(says('{"explanation": "it agrees", "verdict": true}'));
    const filter_tree = { filter: { type: 'boolean', column_id: 'metrics/correctness', value: false } };
    await done(await recompute({ scorer_ids: [idOf('correctness')], filter_tree }));
    expect(await states('correctness')).toEqual({ keep: true, again: true });
  });

  test('a page is scored where one is named, in the order of the sort', async () => {
    const { log, recompute, states, search } = await logStream();
    await log(Array.from({ length: 6 }, (_, index) => answered(`trace ${index}`)));
    const sort = { column_id: 'input', ascending: true };
    await done(await recompute({ scorer_ids: [idOf('json_validity')], sort, starting_token: 1, limit: 2 }));
    const scored = async () =>
      Object.entries(await states('json_validity')).flatMap(([input, value]) => (value === undefined ? [] : [input]));
    expect((await scored()).sort()).toEqual(['trace 1', 'trace 2']);
    const after = (await search()).find(({ input }) => input === 'trace 4')?.id;
    await done(await recompute({ scorer_ids: [idOf('json_validity')], sort, previous_last_row_id: after }));
    expect((await scored()).sort()).toEqual(['trace 1', 'trace 2', 'trace 5']);
  });

  test('a judge that is away fails its own values and nothing else', async () => {
    const { log, recompute, search } = await logStream();
    await log([answered('one')]);
    judge.otherwise((_, response) => void response.writeHead(400).end('{"error":"no"}'));
    const ended = await done(await recompute({ scorer_ids: [idOf('correctness'), idOf('json_validity')] }));
    expect(ended.map(({ status }) => status)).toEqual(['completed', 'completed']);
    const [trace] = await search();
    expect(trace?.metric_info?.correctness).toMatchObject({ status_type: 'failed', message: expect.any(String) });
    expect(trace?.metric_info?.json_validity).toMatchObject({ status_type: 'success', value: true });
  });

  test('a judge whose answer is no verdict is an error of that value', async () => {
    const { log, recompute, search } = await logStream();
    await log([answered('one')]);
    const choices = [{ message: { role: 'assistant', content: 'who knows' }, finish_reason: 'stop' }];
    judge.otherwise(
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices })),
    );
    await done(await recompute({ scorer_ids: [idOf('correctness')] }));
    const [trace] = await search();
    expect(trace?.metric_info?.correctness).toMatchObject({
      status_type: 'error',
      message: expect.stringContaining('no verdict'),
    });
  });

  test('the state of a value can be read while it is computed', async () => {
    const { log, recompute, states, jobs } = await logStream();
    await log([answered('one')]);
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { promise: release, resolve: letGo } = Promise.withResolvers<void>();
    judge.otherwise(async (request, response) => {
      resolve();
      await release;
      await says('{"explanation": "late", "verdict": true}')(request, response);
    });
    const answer = await recompute({ scorer_ids: [idOf('correctness')] });
    await asked;
    expect(await states('correctness')).toEqual({ one: 'computing' });
    expect(await jobs()).toMatchObject([{ status: 'processing', steps_total: 1, steps_completed: 0, progress_percent: 0 }]);
    letGo();
    await done(answer);
    expect(await states('correctness')).toEqual({ one: true });
  });

  test('a limit of the cost is held against the calls of the trace', async () => {
    const { log, recompute, states } = await logStream();
    const call = (cost: number) => ({ type: 'llm', name: 'call', input: 'a', output: 'b', metrics: { cost } });
    await log([
      { ...answered('cheap'), spans: [call(0.01), call(0.02)] },
      { ...answered('dear'), spans: [call(0.01), call(0.05)] },
    ]);
    const check = { type: 'cost', max_usd: 0.04 };
    const { body: scorer } = await service.request('POST', '/v2/scorers', { name: 'Cheap', scorer_type: 'code', check });
    const { id } = scorer as { id: string };
    await done(await recompute({ scorer_ids: [id] }));
    expect(await states(id)).toEqual({ cheap: true, dear: false });
  });

  test('nothing that matches and no metric at all are done at once', async () => {
    const { log, recompute, jobs } = await logStream();
    await log([answered('one')]);
    const filters = [{ type: 'text', column_id: 'input', operator: 'eq', value: 'none of them' }];
    const [ended] = await done(await recompute({ scorer_ids: [idOf('json_validity')], filters }));
    expect(ended).toMatchObject({ status: 'completed', steps_total: 0, progress_percent: 1 });
    expect((await recompute({ scorer_ids: [] })).body).toMatchObject({ num_records: 0, job_ids: [] });
    expect(await jobs()).toHaveLength(1);
  });

  test('what cannot be done is refused', async () => {
    const { recompute, send } = await logStream();
    const scorer_ids = [idOf('json_validity')];
    expect(await recompute({ scorer_ids: [newId()] })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'scorer_ids', 0] }] },
    });
    expect(await recompute({})).toMatchObject({ status: 422 });
    const { id } = await service.client.send<{ id: string }>('/scorers', {
      body: { name: `strict ${newId()}`, scorer_type: 'llm', defaults: { model_name: 'judg-1' } },
    });
    await service.client.send(`/scorers/${id}/version/llm`, { body: { user_prompt: 'Is {{output}} right?' } });
    expect(await recompute({ scorer_ids: [id] })).toMatchObject({
      status: 422,
      body: {
        detail: [
          {
            loc: ['body', 'scorer_ids', 0],
            type: 'judge_model_unknown',
            msg: expect.stringMatching(/"judg-1".*closest (is|are) .*judge-1/),
          },
        ],
      },
    });
    expect(
      await recompute({ scorer_ids, filters: [{ type: 'text', column_id: 'nonsense', operator: 'eq', value: '' }] }),
    ).toMatchObject({
      status: 422,
    });
    expect(await recompute({ scorer_ids, sort: { column_id: 'nonsense' } })).toMatchObject({ status: 422 });
    expect(await send('/recompute-metrics', { scorer_ids })).toMatchObject({ status: 422 });
    expect(await send('/recompute-metrics', { scorer_ids, log_stream_id: newId() })).toMatchObject({ status: 404 });
    expect(await send(`/runs/${newId()}/jobs`, undefined, 'GET')).toMatchObject({ status: 404 });
  });

  test('the aggregates of an experiment follow', async () => {
    const { id: projectId } = await service.project();
    const experiment = await newExperiment(service.client, projectId, { name: 'scored later' });
    const records = Array.from({ length: 4 }, (_, index) => ({ input: `${index}`, generated_output: `${index % 2}` }));
    await experiment.start({ runner: { kind: 'dataset_outputs' }, records });
    await experiment.end();
    await done(
      await service.request('POST', `/projects/${projectId}/recompute-metrics`, {
        experiment_id: experiment.id,
        scorer_ids: [idOf('json_validity')],
      }),
    );
    for (const trace of await experiment.traces())
      expect(trace.metric_info?.json_validity?.status_type).toMatch(/success|not_appl/);
    const { body } = await service.request('GET', `/projects/${projectId}/experiments/${experiment.id}`);
    expect(Object.keys((body as { structured_aggregate_metrics: object }).structured_aggregate_metrics)).toContain(
      'json_validity',
    );
  });

  test('the workflow is found by the name of its run', async () => {
    const { log, recompute, streamId } = await logStream();
    await log([answered('one')]);
    await done(await recompute({ scorer_ids: [idOf('json_validity')] }));
    const connection = await Connection.connect({ address: service.temporalAddress });
    try {
      const description = await new Client({ connection }).workflow.getHandle(scoringWorkflowId(streamId)).describe();
      expect(description).toMatchObject({ memo: { run: 'stream', project: expect.any(String) } });
    } finally {
      await connection.close();
    }
  });
});

describe('a job that scores stored records', () => {
  const scorer = () => ({ id: idOf('json_validity'), scorer_type: 'preset' });
  const start = (projectId: string, run_id: string, more: object): Promise<{ status: number; body: never }> =>
    service.request('POST', '/v2/jobs', { job_name: 'log_stream_scorer', project_id: projectId, run_id, ...more });
  const ended = async ({ status, body }: { status: number; body: never }) => {
    expect(status, JSON.stringify(body)).toBe(200);
    const { job_id } = body as { job_id: string };
    await expect.poll(async () => (await job(job_id)).status).toBe('completed');
    return job(job_id);
  };

  test('scores all of them, or those of the traces that it names', async () => {
    const { projectId, streamId, log, search, states } = await logStream();
    await log([answered('one'), answered('two', 'no json'), answered('three')]);
    const [, two] = (await search()).toReversed();
    const some = await start(projectId, streamId, { scorers: [scorer()], trace_ids: [two?.id] });
    expect(some.body).toMatchObject({
      ...{ job_name: 'log_stream_scorer', trace_ids: [two?.id], link: `/console/p/${projectId}/records?run=${streamId}` },
      message: expect.stringMatching(/^1 records match/),
    });
    expect(await ended(some)).toMatchObject({ steps_total: 1, request_data: { scorer_config: { name: 'json_validity' } } });
    expect(await states('json_validity')).toEqual({ one: undefined, two: false, three: undefined });
    await ended(await start(projectId, streamId, { job_name: undefined, scorer_config: scorer() }));
    expect(await states('json_validity')).toEqual({ one: true, two: false, three: true });
  });

  test('has older names, under which a client names the metric alone', async () => {
    const { projectId, streamId, log, states } = await logStream();
    await log([answered('one')]);
    const older = { job_name: 'prompt_scorer', prompt_scorer_settings: { scorer_name: 'json_validity' } };
    await ended(await start(projectId, streamId, older));
    expect(await states('json_validity')).toEqual({ one: true });
  });

  test('takes the metrics that are switched on where it names none', async () => {
    const { projectId, streamId, log, enable, states } = await logStream();
    const none = await start(projectId, streamId, { job_name: 'log_stream_run' });
    expect(none).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'scorers'] }] } });
    await log([answered('before')]);
    await enable([scorer()]);
    await ended(await start(projectId, streamId, { job_name: 'log_stream_run' }));
    expect(await states('json_validity')).toEqual({ before: true });
  });

  test('takes the share that its segments say, and leaves those of the run', async () => {
    const { projectId, streamId, log, send, states } = await logStream();
    await log([
      { ...answered('in'), name: 'wanted' },
      { ...answered('out'), name: 'other' },
    ]);
    const segment_filters = [
      { filter: { name: 'node_name', operator: 'eq', value: 'wanted' }, sample_rate: 1 },
      { sample_rate: 0 },
    ];
    expect(await ended(await start(projectId, streamId, { scorers: [scorer()], segment_filters }))).toMatchObject({
      steps_total: 1,
    });
    expect(await states('json_validity')).toEqual({ in: true, out: undefined });
    const { body } = await send(`/runs/${streamId}/scorer-settings`, undefined, 'GET');
    expect(body).toMatchObject({ segment_filters: null });
  });

  test('scores sessions alone, of all or of the traces that it names', async () => {
    const { projectId, streamId, log, send, search, states } = await logStream();
    const check = { type: 'contains_any', texts: ['yes'] };
    const { body: made } = await service.request('POST', '/v2/scorers', {
      ...{ name: 'Says yes', scorer_type: 'code', check, scoreable_node_types: ['trace', 'session'] },
    });
    const { id } = made as { id: string };
    const sessions: string[] = [];
    for (const name of ['first', 'second']) {
      const { body } = await send('/sessions', { log_stream_id: streamId, name });
      sessions.push((body as { id: string }).id);
      await log([answered(`of ${name}`, 'yes')], { session_id: sessions.at(-1) });
    }
    const config = { id, scorer_type: 'code' };
    const first = (await search()).find(({ input }) => input === 'of first');
    const some = await start(projectId, streamId, { scorers: [config], is_session: true, trace_ids: [first?.id] });
    expect(await ended(some)).toMatchObject({ steps_total: 1 });
    const scored = async () =>
      (await search('sessions')).filter(({ metric_info }) => metric_info?.[id]).map((session) => session.id);
    expect(await scored()).toEqual([sessions[0]]);
    expect(await states(id)).toEqual({ 'of first': undefined, 'of second': undefined });
    await ended(await start(projectId, streamId, { scorers: [config], is_session: true }));
    expect((await scored()).sort()).toEqual(sessions.toSorted());
    const traceScorer = await start(projectId, streamId, { scorers: [scorer()], is_session: true });
    expect(traceScorer).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'is_session'] }] } });
  });

  test('is refused for a run or a scorer that there is not, and for another job', async () => {
    const { projectId, streamId } = await logStream();
    expect((await start(projectId, newId(), { scorers: [scorer()] })).status).toBe(404);
    expect((await start(projectId, streamId, { scorers: [{ id: newId(), scorer_type: 'llm' }] })).status).toBe(422);
    const other = await start(projectId, streamId, { job_name: 'auto_gen' });
    const msg = 'this job is not run here: POST /v2/scorers/llm/autogen has a model draft a judge';
    expect(other).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'job_name'], msg }] } });
    const rows = await start(projectId, streamId, { job_name: 'playground_run', trace_ids: [newId()] });
    expect(rows).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'trace_ids'] }] } });
  });
});

describe('metrics that are switched on for a log stream', () => {
  const json = { id: idOf('json_validity'), scorer_type: 'preset' };

  test('score what is logged from then on', async () => {
    const { log, enable, states } = await logStream();
    await log([answered('before')]);
    await enable([json]);
    await log([answered('one'), answered('two', 'no json')]);
    await expect.poll(() => states('json_validity')).toEqual({ before: 'not_computed', one: true, two: false });
    await log([answered('three')]);
    await expect.poll(async () => (await states('json_validity')).three).toBe(true);
  });

  test('wait for a trace to be complete, and score it again when it changes', async () => {
    const { log, enable, states, send, streamId } = await logStream();
    await enable([json]);
    const id = newId();
    await log([{ id, ...answered('open', 'no json') }], { is_complete: false });
    await log([answered('closed')]);
    await expect.poll(() => states('json_validity')).toEqual({ open: 'not_computed', closed: true });
    const change = async (fields: object) =>
      expect(await send(`/traces/${id}`, { log_stream_id: streamId, trace_id: id, ...fields }, 'PATCH')).toMatchObject({
        status: 200,
      });
    await change({ is_complete: true });
    await expect.poll(async () => (await states('json_validity')).open).toBe(false);
    await change({ output: '{"now": "it is"}' });
    await expect.poll(async () => (await states('json_validity')).open).toBe(true);
  });

  test('score the kinds of record, the share and the segment that the settings name', async () => {
    const { log, enable, states, search, send, streamId } = await logStream();
    await enable([{ ...json, scoreable_node_types: ['llm'] }], {
      segment_filters: [{ filter: { name: 'node_name', operator: 'eq', value: 'dull' }, sample_rate: 0 }],
    });
    await log([
      {
        ...answered('asked'),
        spans: ['kept', 'dull'].map((name) => ({ type: 'llm', name, input: name, output: '[]', model: 'm' })),
      },
    ]);
    const spans = async () => (await search('spans')).map(({ metric_info }) => metric_info?.json_validity?.status_type);
    await expect.poll(async () => (await spans()).sort()).toEqual(['not_computed', 'success']);
    expect((await states('json_validity')).asked).not.toBe(true);
    const { body } = await send('/spans/partial_search', {
      ...{ log_stream_id: streamId, select_columns: { column_ids: ['metrics/json_validity'] } },
      filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: 'dull' }],
    });
    expect((body as { records: object[] }).records).toMatchObject([
      { metric_info: { json_validity: { status_type: 'not_computed', message: 'no score was asked for' } } },
    ]);
  });

  test('give traces and sessions what their spans and traces have', async () => {
    const { log, enable, search, recompute } = await logStream();
    await enable([{ ...json, scoreable_node_types: ['tool'] }]);
    const asked = (outputs: string[]) => ({
      ...answered(outputs.join()),
      spans: outputs.map((output) => ({ type: 'tool', input: 'x', output })),
    });
    await log([asked(['[]', 'no json']), asked(['[]', '[]', 'no json', 'no json'])], { session_external_id: 'talk' });
    await log([asked(['no json', '{}'])], { session_external_id: 'talk' });
    const rolled = async (what: string) => (await search(what)).map(({ metric_info }) => metric_info?.json_validity);
    const half = { status_type: 'roll_up', value: 0.5 };
    await expect
      .poll(() => rolled('sessions'))
      .toMatchObject([{ ...half, roll_up_metrics: { average: 0.5, sum: 1.5, min: 0.5, max: 0.5 } }]);
    expect(await rolled('traces')).toMatchObject([half, half, half]);
    // Computed again, nothing is counted twice.
    await done(await recompute({ scorer_ids: [idOf('json_validity')] }));
    expect(await rolled('traces')).toMatchObject([half, half, half]);
    expect(await rolled('sessions')).toMatchObject([half]);
  });

  test('leave alone what the client has scored itself', async () => {
    const { log, enable, states } = await logStream();
    await enable([json]);
    await log([{ ...answered('own', 'no json'), metrics: { json_validity: true } }, answered('other')]);
    await expect.poll(() => states('json_validity')).toEqual({ own: true, other: true });
  });
});
