import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

test('an update changes what it names, adds tags and keeps the rest', async () => {
  const { post, patch, get, run } = service.space();
  const [traceId, spanId] = [newId(), newId()];
  const span = { type: 'workflow', id: spanId, input: 'in', tags: ['a'], metrics: { duration_ns: 1, score: 0.5 } };
  await post('/traces', { traces: [{ id: traceId, name: 'n', input: 'q', tags: ['a'], spans: [span] }], is_complete: false });

  const ofTrace = await patch(`/traces/${traceId}`, {
    trace_id: traceId,
    output: 'out',
    tags: ['b', 'a'],
    status_code: 200,
    duration_ns: 7,
    is_complete: true,
  });
  expect(ofTrace.status).toBe(200);
  expect(ofTrace.body).toEqual({
    log_stream_id: run.runId,
    experiment_id: null,
    metrics_testing_id: null,
    project_id: run.projectId,
    project_name: 'Test project',
    session_id: null,
    records_count: 1,
    trace_id: traceId,
  });
  const ofSpan = await patch(`/spans/${spanId}`, {
    span_id: spanId,
    output: { role: 'assistant', content: 'done' },
    tags: ['b'],
    duration_ns: 9,
  });
  expect(ofSpan.body).toMatchObject({ span_id: spanId, records_count: 1 });
  await patch(`/spans/${spanId}`, { span_id: spanId, input: null, output: null, tags: null, status_code: null });

  const { body } = await get(`/traces/${traceId}`);
  expect(body).toMatchObject({
    name: 'n',
    input: 'q',
    output: 'out',
    tags: ['a', 'b'],
    status_code: 200,
    is_complete: true,
    metrics: { duration_ns: 7 },
  });
  expect(body.spans[0]).toMatchObject({
    input: 'in',
    output: { role: 'assistant', content: 'done' },
    tags: ['a', 'b'],
    is_complete: true,
    metrics: { duration_ns: 9, score: 0.5 },
  });
  expect(Date.parse(body.updated_at)).toBeGreaterThan(Date.now() - 60_000);
});

test('an update is answered before it is in its record, and whoever asks then finds it there', async () => {
  const { post, patch, get, search } = service.space();
  const ids = Array.from({ length: 20 }, newId);
  await post('/traces', { traces: ids.map((id) => ({ id, input: 'q', output: 'before' })) });
  expect(await search('traces')).toHaveLength(20);
  const { unsettled } = service.writer;
  const update = (id: string, output: string) => patch(`/traces/${id}`, { trace_id: id, output });

  for (const [n, id] of ids.entries()) expect((await update(id, `after ${n}`)).body).toMatchObject({ records_count: 1 });
  expect(unsettled.isEmpty).toBe(false);
  expect(await search('traces', [{ type: 'text', column_id: 'output', operator: 'eq', value: 'before' }])).toEqual([]);
  expect(unsettled.isEmpty).toBe(true);

  const [id = ''] = ids;
  await update(id, 'once more');
  expect((await get(`/traces/${id}`)).body.output).toBe('once more');
  await update(id, 'and again');
  await post('/traces', { traces: [{ id, input: 'q', output: 'logged again', name: 'n' }] });
  expect((await get(`/traces/${id}`)).body).toMatchObject({ output: 'and again', name: 'n' });
  await Promise.all(ids.map((one) => update(one, 'gone')));
  const filters = [{ type: 'text', column_id: 'output', operator: 'eq', value: 'gone' }];
  expect((await post('/traces/delete', { filters })).body.message).toBe('20 records deleted');
  expect((await update(id, 'too late')).status).toBe(404);
});

test('an update is in its record a moment later, also where nothing is read', async () => {
  const { post, patch } = service.space();
  const id = newId();
  await post('/traces', { traces: [{ id, input: 'q' }] });
  await patch(`/traces/${id}`, { trace_id: id, output: 'out' });
  expect(service.writer.unsettled.isEmpty).toBe(false);
  await expect.poll(() => service.writer.unsettled.isEmpty).toBe(true);
});

test('the files of a record are those of its input and output as they are now', async () => {
  const { post, patch, get } = service.space();
  const [traceId, first, second] = [newId(), newId(), newId()];
  const withFile = (file: string) => [{ type: 'file', file_id: file }];
  await post('/traces', { traces: [{ id: traceId, input: withFile(first), output: withFile(second) }] });
  const filesAfter = async (change: object) => {
    expect((await patch(`/traces/${traceId}`, { trace_id: traceId, ...change })).status).toBe(200);
    return (await get(`/traces/${traceId}`)).body.file_ids;
  };
  expect((await filesAfter({ status_code: 200 })).sort()).toEqual([first, second].sort());
  expect(await filesAfter({ input: 'a text now' })).toEqual([second]);
  expect(await filesAfter({ output: 'done' })).toEqual([]);
  // A repeat of the first request takes nothing back.
  await post('/traces', { traces: [{ id: traceId, input: withFile(first), output: withFile(second) }] });
  expect((await get(`/traces/${traceId}`)).body.file_ids).toEqual([]);

  const logged = newId();
  for (const trace of [{ input: withFile(first) }, { output: withFile(second) }])
    await post('/traces', { traces: [{ id: logged, ...trace }] });
  expect((await get(`/traces/${logged}`)).body.file_ids.sort()).toEqual([first, second].sort());
  await post('/traces', { traces: [{ id: logged, input: 'a text now' }] });
  expect((await get(`/traces/${logged}`)).body.file_ids).toEqual([second]);
});

test('what went wrong does not stand beside a success that an update sets, whenever the two come', async () => {
  const { post, patch, get } = service.space();
  const failed = { type: 'tool', input: 'x', status_code: 500, error_message: 'boom' };
  for (const isLate of [false, true]) {
    const [traceId, spanId] = [newId(), newId()];
    const log = (span: object) => post('/traces', { traces: [{ id: traceId, input: 'q', spans: [{ id: spanId, ...span }] }] });
    await log(isLate ? { ...failed, status_code: null, error_message: null } : failed);
    expect((await patch(`/spans/${spanId}`, { span_id: spanId, status_code: 200 })).status).toBe(200);
    if (isLate) await log(failed);
    const { body } = await get(`/spans/${spanId}`);
    expect(body).toMatchObject({ status_code: 200, error_message: '' });
  }
});

test('a negative duration is none, logged or updated', async () => {
  const { post, patch, get } = service.space();
  const [id, spanId] = [newId(), newId()];
  const metrics = { duration_ns: -7, score: -1 };
  await post('/traces', {
    traces: [{ id, input: 'q', metrics, spans: [{ type: 'tool', id: spanId, metrics: { duration_ns: 5 } }] }],
  });
  await patch(`/spans/${spanId}`, { span_id: spanId, duration_ns: -3 });
  const { body } = await get(`/traces/${id}`);
  expect(body).toMatchObject({ metrics: { duration_ns: 0, score: -1 }, spans: [{ metrics: { duration_ns: 0 } }] });
});

test('only true closes a trace, and nothing opens it again', async () => {
  const { post, patch, get } = service.space();
  const id = newId();
  const isComplete = async () => (await get(`/traces/${id}`)).body.is_complete;
  await post('/traces', { traces: [{ id, input: 'q' }], is_complete: false });
  await patch(`/traces/${id}`, { trace_id: id, tags: ['x'] });
  expect(await isComplete()).toBe(false);
  await patch(`/traces/${id}`, { trace_id: id, is_complete: true });
  await patch(`/traces/${id}`, { trace_id: id, is_complete: false, tags: ['y'] });
  expect(await isComplete()).toBe(true);
});

test('a repeat takes back nothing that an update set, and still brings what is new', async () => {
  const { post, patch, get } = service.space();
  const [id, spanId] = [newId(), newId()];
  const first = { input: 'q', output: 'first', status_code: 500, metrics: { duration_ns: 1, score: 0.5 } };
  const span = { type: 'tool', id: spanId, ...first };
  const logged = { traces: [{ id, ...first, spans: [span] }], is_complete: false };
  await post('/traces', logged);
  const later = { output: 'later', status_code: 200, duration_ns: 9 };
  await patch(`/traces/${id}`, { trace_id: id, ...later });
  await patch(`/spans/${spanId}`, { span_id: spanId, ...later });
  const expected = { input: 'q', output: 'later', status_code: 200, metrics: { duration_ns: 9, score: 0.5 } };
  const before = (await get(`/traces/${id}`)).body;
  expect(before).toMatchObject({ ...expected, spans: [expected] });
  expect(before).not.toHaveProperty('updated_fields');

  await post('/traces', logged);
  await post('/spans', { trace_id: id, parent_id: id, spans: [span] });
  expect((await get(`/traces/${id}`)).body).toMatchObject({ ...expected, spans: [expected] });

  // A new log replaces fields that no update has set, and the next update counts again.
  const fuller = { id, ...first, input: 'fuller', output: 'fuller', name: 'n', metrics: { duration_ns: 2, score: 0.75 } };
  await post('/traces', { traces: [fuller], is_complete: false });
  expect((await get(`/traces/${id}`)).body).toMatchObject({
    ...expected,
    input: 'fuller',
    name: 'n',
    metrics: { duration_ns: 9, score: 0.75 },
  });
  await patch(`/traces/${id}`, { trace_id: id, output: 'last', input: 'r' });
  await post('/traces', logged);
  expect((await get(`/traces/${id}`)).body).toMatchObject({ input: 'r', output: 'last', status_code: 200 });
});

test('the metrics of an update are those of its record, and stay', async () => {
  const { post, patch, get, search } = service.space();
  const [id, spanId] = [newId(), newId()];
  const metrics = { duration_ns: 1, score: 0.5, depth: 3 };
  const spans = [{ type: 'llm', id: spanId, input: 'x', metrics: { ...metrics, num_input_tokens: 2 } }];
  const log = () => post('/traces', { traces: [{ id, input: 'q', metrics, spans }] });
  await log();
  await patch(`/traces/${id}`, { trace_id: id, metrics: { score: 0.75, depth: null, label: 'good' } });
  await patch(`/spans/${spanId}`, {
    span_id: spanId,
    duration_ns: 9,
    metrics: { duration_ns: 8, num_input_tokens: 4, score: 1 },
  });
  await log(); // takes none of them back
  expect((await get(`/traces/${id}`)).body).toMatchObject({
    metrics: { duration_ns: 1, score: 0.75, depth: 3, label: 'good' },
    metric_info: { score: { value: 0.75 }, depth: { value: 3 }, label: { value: 'good' } },
    spans: [{ metrics: { duration_ns: 9, num_input_tokens: 4, score: 1, depth: 3 }, metric_info: { score: { value: 1 } } }],
  });
  const found = (value: number) => search('traces', [{ type: 'number', column_id: 'metrics/score', operator: 'eq', value }]);
  expect(await found(0.75)).toHaveLength(1);
  expect(await found(0.5)).toHaveLength(0);
  // A count that cannot be read costs nothing else of its update.
  expect((await patch(`/spans/${spanId}`, { span_id: spanId, metrics: { num_input_tokens: 'many' } })).status).toBe(200);
});

test('a repeat in the same moment as its update does not take it back either', async () => {
  const { post, patch, get } = service.space();
  const id = newId();
  const logged = { traces: [{ id, input: 'q', output: 'first' }], is_complete: false };
  await post('/traces', logged);
  const update = () => patch(`/traces/${id}`, { trace_id: id, output: 'later' });
  await Promise.all([post('/traces', logged), update(), post('/traces', logged), post('/traces', logged)]);
  expect((await get(`/traces/${id}`)).body).toMatchObject({ output: 'later' });
});

test('of updates that arrive at once from many connections none is lost', async () => {
  const { post, patch, get } = service.space();
  const [traceId, spanId] = [newId(), newId()];
  await post('/traces', {
    traces: [{ id: traceId, input: 'q', spans: [{ type: 'tool', id: spanId, input: 'x' }] }],
    is_complete: false,
  });
  const tags = Array.from({ length: 60 }, (_, i) => `tag-${i}`);
  await Promise.all([
    ...tags.map((tag) => patch(`/traces/${traceId}`, { trace_id: traceId, tags: [tag] })),
    ...tags.map((tag) => patch(`/spans/${spanId}`, { span_id: spanId, tags: [tag] })),
    patch(`/traces/${traceId}`, { trace_id: traceId, output: 'out' }),
    patch(`/traces/${traceId}`, { trace_id: traceId, duration_ns: 5 }),
    patch(`/traces/${traceId}`, { trace_id: traceId, is_complete: true }),
  ]);
  const { body } = await get(`/traces/${traceId}`);
  expect([...body.tags].sort()).toEqual([...tags].sort());
  expect([...body.spans[0].tags].sort()).toEqual([...tags].sort());
  expect(body).toMatchObject({ output: 'out', is_complete: true, metrics: { duration_ns: 5 } });
});

test('an update of what is not stored is 404 with a detail, and succeeds once it is', async () => {
  const { post, patch } = service.space();
  const id = newId();
  const early = await patch(`/traces/${id}`, { trace_id: id, output: 'out' });
  expect(early.status).toBe(404);
  expect(early.body.detail).toContain(`no trace ${id}`);
  const span = await patch(`/spans/${id}`, { span_id: id, output: 'out' });
  expect(span.status).toBe(404);
  await post('/traces', { traces: [{ id, input: 'q' }] });
  expect((await patch(`/traces/${id}`, { trace_id: id, output: 'out' })).status).toBe(200);
  expect((await patch(`/spans/${id}`, { span_id: id, output: 'out' })).status).toBe(404);
});

test('an update names in its body the record of its path', async () => {
  const { post, patch, search } = service.space();
  const [mine, other, span] = [newId(), newId(), newId()];
  await post('/traces', { traces: [{ id: mine, spans: [{ type: 'tool', id: span }] }, { id: other }] });
  for (const [path, key] of [
    [`/traces/${mine}`, 'trace_id'],
    [`/spans/${span}`, 'span_id'],
  ] as const) {
    const refused = await patch(path, { [key]: other, output: 'x' });
    expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', key], type: 'id_mismatch' }] } });
    expect((await patch(path, { output: 'x' })).status).toBe(422);
  }
  expect((await patch(`/traces/${mine}`, { trace_id: mine.toUpperCase(), output: 'x' })).status).toBe(200);
  expect((await search('traces')).map(({ output }: { output: unknown }) => output).sort()).toEqual([null, 'x']);
});

test('an update that fails beside others in its group leaves them alone', async () => {
  const unknown = newId();
  const { post, patch, search } = service.space();
  const answers = await Promise.all([
    post('/traces', { traces: [{ id: newId(), input: 'a' }] }),
    patch(`/traces/${unknown}`, { trace_id: unknown, output: 'x' }),
    post('/traces', { traces: [{ id: newId(), input: 'b' }] }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 200]);
  expect(await search('traces')).toHaveLength(2);
});

test('the output of an update takes the form of its span, or is kept beside it', async () => {
  const { post, patch, get } = service.space();
  const [traceId, llm, retriever, tool, control] = [newId(), newId(), newId(), newId(), newId()];
  await post('/traces', {
    traces: [
      {
        id: traceId,
        input: 'q',
        spans: [
          { type: 'llm', id: llm, input: [] },
          { type: 'retriever', id: retriever },
          { type: 'tool', id: tool },
          { type: 'control', id: control },
        ],
      },
    ],
  });
  await patch(`/spans/${llm}`, { span_id: llm, output: 'hello' });
  await patch(`/spans/${retriever}`, { span_id: retriever, output: [{ content: 'doc' }] });
  await patch(`/spans/${tool}`, { span_id: tool, output: { role: 'assistant', content: 'x' } });
  await patch(`/spans/${control}`, { span_id: control, output: 'allowed', status_code: 201 });
  const { body } = await get(`/traces/${traceId}`);
  expect(body.spans).toMatchObject([
    { output: { role: 'assistant', content: 'hello' } },
    { output: [{ content: 'doc' }] },
    { output: '{"role":"assistant","content":"x"}' },
    { type: 'control', output: null, status_code: 201, user_metadata: { output: 'allowed' } },
  ]);
});

test('odd values of an update are made to fit as those of a record are', async () => {
  const { post, patch, get } = service.space();
  const [trace, llm] = [newId(), newId()];
  const spans = [{ type: 'llm', id: llm, user_metadata: { own: 'x' } }];
  await post('/traces', { traces: [{ id: trace, spans }] });
  const odd = { input: { q: 1 }, output: 42, status_code: '200', tags: ['a', 1], duration_ns: '1500' };
  expect((await patch(`/traces/${trace}`, { trace_id: trace, ...odd })).status).toBe(200);
  const messages = { input: [{ role: 'critic', content: 'q' }], output: { role: 'AI', content: ['a'] } };
  expect((await patch(`/spans/${llm}`, { span_id: llm, ...messages, tags: 7 })).status).toBe(200);
  const { body } = await get(`/traces/${trace}`);
  expect(body).toMatchObject({
    input: '{"q":1}',
    output: '42',
    status_code: 200,
    tags: ['a', '1'],
    metrics: { duration_ns: 1500 },
  });
  expect(body.spans).toMatchObject([
    {
      input: [{ role: 'user', content: 'q' }],
      output: { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
      tags: ['7'],
      user_metadata: { own: 'x', 'input.0.role': 'critic' },
    },
  ]);
});

test('a session takes odd metadata and names as text', async () => {
  const { post, get } = service.space();
  const session = { name: 7, external_id: 12, user_metadata: { n: 1, none: null } };
  const { status, body } = await post('/sessions', session);
  expect([status, body]).toMatchObject([200, { name: '7', external_id: '12' }]);
  await post('/traces', { session_external_id: 12, traces: [{ input: 'q' }] });
  expect((await get(`/sessions/${body.id}`)).body).toMatchObject({
    user_metadata: { n: '1', none: 'null' },
    traces: [{ input: 'q' }],
  });
});

test('two writers with clocks apart: the later update still wins', async () => {
  const { run } = service.space();
  const id = newId();
  const { RecordWriter } = await import('../../shared/records/recordWriter.ts');
  const { clickhouseRecordStore } = await import('../../shared/stores/clickhouse/writes/recordStore.ts');
  const store = clickhouseRecordStore(service.clickhouse);
  const ahead = new RecordWriter({ store, now: () => new Date(Date.now() + 3_600_000) });
  const behind = new RecordWriter({ store, now: () => new Date(Date.now() - 3_600_000) });
  await ahead.write(run, [{ action: 'log', record: { id, type: 'trace', trace_id: id, input: 'q' } }]);
  await behind.write(run, [{ action: 'update', id, of: 'trace', update: { output: 'later' } }]);
  const { body } = await service.http.request('GET', `/projects/${run.projectId}/traces/${id}`);
  expect(body.output).toBe('later');
});

test('a score of later stands whatever else of the record changes, until the record is logged with the metric again', async () => {
  const { run, post, patch, get } = service.space();
  const [traceId, spanId] = [newId(), newId()];
  const logged = (accuracy?: number) => ({
    id: traceId,
    input: 'q',
    created_at: '2026-01-01T00:00:00Z',
    ...(accuracy === undefined ? {} : { metrics: { accuracy } }),
  });
  const span = { type: 'tool', id: spanId, input: 'x', metrics: { accuracy: 0.1 } };
  await post('/traces', { traces: [{ ...logged(0.1), spans: [span] }], is_complete: false });
  const before = await service.metricValues.of(run, [traceId, spanId]);
  expect(before.map(({ value }) => value)).toEqual([0.1, 0.1]);
  await service.metricValues.write(
    run,
    before.map((value) => ({ ...value, value: 0.9 })),
  );
  const values = async () => {
    const found = await service.metricValues.of(run, [traceId, spanId]);
    return [traceId, spanId].map((id) => found.find(({ recordId }) => recordId === id)?.value);
  };
  await patch(`/traces/${traceId}`, { trace_id: traceId, tags: ['x'], status_code: 200, duration_ns: 5, is_complete: true });
  await patch(`/spans/${spanId}`, { span_id: spanId, tags: ['x'] });
  expect(await values()).toEqual([0.9, 0.9]);
  // The session of a trace takes its spans along: they are written anew.
  await post('/traces', { session_external_id: 'later', traces: [logged()] });
  expect(await values()).toEqual([0.9, 0.9]);
  expect((await get(`/traces/${traceId}`)).body.metric_info).toMatchObject({ accuracy: { value: 0.9 } });
  await post('/traces', { traces: [logged(0.2)] });
  expect(await values()).toEqual([0.2, 0.9]);
});

test('an odd number of an update costs nothing else of it', async () => {
  const { post, patch, get } = service.space();
  const id = newId();
  await post('/traces', { traces: [{ id, input: 'q' }], is_complete: false });
  const update = { output: 'out', is_complete: true, duration_ns: 1500.5, metrics: { score: 0.5 } };
  expect((await patch(`/traces/${id}`, { trace_id: id, ...update })).status).toBe(200);
  expect((await get(`/traces/${id}`)).body).toMatchObject({
    output: 'out',
    is_complete: true,
    metrics: { duration_ns: 1501, score: 0.5 },
  });
});
