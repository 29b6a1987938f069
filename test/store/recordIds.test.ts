import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { spanRecordId, traceRecordId } from '../../shared/otel/recordsOf.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

type Space = ReturnType<typeof service.space>;

const refusal = (id: string) => ({
  status: 422,
  body: { detail: [{ loc: ['body'], type: 'id_taken', input: id, msg: expect.stringContaining(`the id ${id} is that of `) }] },
});
const everything = async ({ search }: Space) => {
  const kinds = await Promise.all([search('traces'), search('spans'), search('sessions')]);
  return kinds.flat().map(({ id, type, input }: { id: string; type: string; input: unknown }) => ({ id, type, input }));
};
/** Every record of the project that was handed in is stored or was answered with an error. */
const counters = async ({ get }: Space) => {
  const { accepted_records, stored_records, rejected_records } = (await get('/ingest_counters')).body;
  expect(accepted_records).toBe(stored_records + rejected_records);
  return { stored: stored_records, rejected: rejected_records };
};

test('of a trace and a span in it that share an id the span is refused, and what hangs below it is kept', async () => {
  const space = service.space();
  const [id, child] = [newId(), newId()];
  const sharing = { id, input: 'q', spans: [{ type: 'workflow', id, spans: [{ type: 'tool', id: child, input: 'x' }] }] };
  const refused = [{ index: 1, id, message: expect.stringContaining(`the id ${id} is that of a trace`) }];
  expect(await space.post('/traces', { traces: [{ id: newId(), input: 'other' }, sharing] })).toMatchObject({
    status: 200,
    body: { traces_count: 2, spans_count: 1, refused, refused_count: 1 },
  });
  expect((await space.get(`/traces/${id}`)).body).toMatchObject({ input: 'q', spans: [{ id: child, parent_id: id }] });
  const crosswise = [newId(), newId()] as const;
  const traces = [
    { id: crosswise[0], spans: [{ type: 'tool', id: crosswise[1] }] },
    { id: crosswise[1], input: 'q' },
  ];
  expect(await space.post('/traces', { traces })).toMatchObject({
    status: 200,
    body: { traces_count: 1, spans_count: 1, refused: [{ index: 1, id: crosswise[1] }] },
  });
  expect(await counters(space)).toEqual({ stored: 5, rejected: 2 });
});

test('what hangs below a span that is refused hangs on the span above it', async () => {
  const space = service.space();
  const [taken, id, top, child] = [newId(), newId(), newId(), newId()];
  await space.post('/traces', { traces: [{ id: taken, input: 'mine' }] });
  const below = { type: 'workflow', id: taken, spans: [{ type: 'workflow', id: taken, spans: [{ type: 'tool', id: child }] }] };
  const answer = await space.post('/traces', {
    traces: [{ id, input: 'q', spans: [{ type: 'agent', id: top, spans: [below] }] }],
  });
  expect(answer).toMatchObject({ status: 200, body: { spans_count: 2, refused_count: 2 } });
  expect((await space.get(`/traces/${id}`)).body.spans).toMatchObject([{ id: top, spans: [{ id: child, parent_id: top }] }]);
  expect((await space.get(`/traces/${taken}`)).body).toMatchObject({ input: 'mine', spans: [] });
});

test('a span with the id of its trace is refused, whether the trace is stored or not', async () => {
  const space = service.space();
  const id = newId();
  const asSpan = { trace_id: id, parent_id: id, spans: [{ type: 'tool', id, input: 'x' }] };
  expect(await space.post('/spans', asSpan)).toMatchObject(refusal(id));
  expect((await space.post('/traces', { traces: [{ id, input: 'q' }] })).status).toBe(200);
  expect(await space.post('/spans', asSpan)).toMatchObject(refusal(id));
  expect(await space.post('/spans', { ...asSpan, trace_id: newId() })).toMatchObject(refusal(id));
  expect(await everything(space)).toEqual([{ id, type: 'trace', input: 'q' }]);
});

test('what is stored keeps its id against records of another kind; a span may be logged again as another kind of span', async () => {
  const space = service.space();
  const { id: session } = (await space.post('/sessions', { name: 's', external_id: 'visit' })).body;
  const [trace, span] = [newId(), newId()];
  await space.post('/traces', {
    session_id: session,
    traces: [{ id: trace, input: 'q', spans: [{ type: 'tool', id: span, input: 'x' }] }],
  });
  const stored = await everything(space);
  expect(stored).toHaveLength(3);

  for (const taken of [session, span])
    expect(await space.post('/traces', { traces: [{ id: taken }] })).toMatchObject(refusal(taken));
  for (const taken of [session, trace]) {
    const below = { trace_id: newId(), parent_id: newId(), spans: [{ type: 'llm', id: taken, input: [] }] };
    expect(await space.post('/spans', below)).toMatchObject(refusal(taken));
  }
  expect(await everything(space)).toEqual(stored);

  const again = { trace_id: trace, parent_id: trace, spans: [{ type: 'workflow', id: span, input: 'y' }] };
  expect((await space.post('/spans', again)).status).toBe(200);
  expect(await space.search('spans')).toMatchObject([{ id: span, type: 'workflow', input: 'y' }]);
  expect((await space.post('/sessions', { external_id: 'visit' })).body.id).toBe(session);
});

test('of writes that arrive at once and share an id, the first kind stays and the others are refused', async () => {
  const space = service.space();
  const id = newId();
  const below = { trace_id: newId(), parent_id: newId(), spans: [{ type: 'tool', id, input: 'span' }] };
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      index % 2 ? space.post('/spans', below) : space.post('/traces', { traces: [{ id, input: 'trace' }] }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
  for (const answer of answers.filter(({ status }) => status !== 200)) expect(answer).toMatchObject(refusal(id));
  expect(await everything(space)).toHaveLength(1);
  expect(await counters(space)).toEqual({ stored: 3, rejected: 3 });
});

test('an id is free in other runs, and again when its record was deleted', async () => {
  const [space, other] = [service.space(), service.space()];
  const id = newId();
  const asSpan = { trace_id: newId(), parent_id: newId(), spans: [{ type: 'tool', id }] };
  await space.post('/traces', { traces: [{ id }] });
  expect((await other.post('/spans', asSpan)).status).toBe(200);
  expect((await space.post('/traces/delete', {})).status).toBe(200);
  expect((await space.post('/spans', asSpan)).status).toBe(200);
  expect(await everything(space)).toMatchObject([{ id, type: 'tool' }]);
});

test('of an OpenTelemetry request only the span whose id is taken is rejected', async () => {
  const space = service.space();
  const { run } = space;
  const [one, two] = ['0af7651916cd43dd8448eb211c80319c', '1bf7651916cd43dd8448eb211c80319c'];
  const [root, child, lost] = ['b7ad6b7169203331', 'b7ad6b7169203332', 'b7ad6b7169203333'];
  const span = (traceId: string, spanId: string, parentSpanId?: string) => ({
    ...{ traceId, spanId, parentSpanId, name: spanId },
    ...{ startTimeUnixNano: '1770000000123456789', endTimeUnixNano: '1770000001123456789' },
  });
  // A trace that has the id of one of the spans, and a span that has the id of the second trace.
  await space.post('/traces', { traces: [{ id: spanRecordId(run, one, lost), input: 'mine' }] });
  const takesTrace = { type: 'tool', id: traceRecordId(run, two), input: 'mine too' };
  await space.post('/spans', { trace_id: newId(), parent_id: newId(), spans: [takesTrace] });
  const stored = await everything(space);

  const spans = [span(one, root), span(one, child, root), span(one, lost, root), span(two, root), span(two, child, root)];
  const send = () =>
    service.http.request('POST', '/otel/traces', {
      json: { resourceSpans: [{ scopeSpans: [{ spans }] }] },
      headers: { project: run.projectId, logstream: run.runId },
    });
  for (const _repeat of [1, 2]) {
    const answer = await send();
    expect(answer.status).toBe(200);
    expect(answer.body.partialSuccess).toEqual({
      rejectedSpans: '2',
      errorMessage: expect.stringContaining(`the id ${takesTrace.id} is that of a span of this run`),
    });
  }
  const found = await everything(space);
  expect(found).toEqual(expect.arrayContaining(stored));
  expect(found.map(({ id }) => id).sort()).toEqual(
    [
      ...stored.map(({ id }) => id),
      ...[traceRecordId(run, one), spanRecordId(run, one, root), spanRecordId(run, one, child), spanRecordId(run, two, child)],
    ].sort(),
  );
  // Stored from each request: the first trace with two spans and the child of the second; refused: a span, and a root with its trace.
  expect(await counters(space)).toEqual({ stored: 2 + 2 * 4, rejected: 2 * 3 });
});
