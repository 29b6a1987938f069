import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { oddSpans } from '../support/oddSpans.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { startRecordService } from '../support/recordService.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  // It checks every answer with the schemas of the interface, and gives 500 for one that does not fit.
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

// JSON.stringify writes nothing this deep.
const deepOnes: Record<string, string> = {
  '<deep>': `${'['.repeat(70)}1${']'.repeat(70)}`,
  '<deeper>': `${'{"spans":['.repeat(600)}"x"${']}'.repeat(600)}`,
};
const { odd, maybe, span } = oddSpans(Object.keys(deepOnes));
const textOf = (body: object): string =>
  JSON.stringify(body).replaceAll(/"<deep(er)?>"/g, (name) => deepOnes[JSON.parse(name)] as string);

const trace = fc.oneof(
  { weight: 1, arbitrary: odd },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        span,
        fc.record(
          {
            id: maybe(fc.uuid({ version: 4 })),
            session_id: maybe(fc.uuid({ version: 4 })),
            dataset_metadata: odd,
            spans: maybe(fc.array(span, { maxLength: 4 })),
          },
          { requiredKeys: [] },
        ),
      )
      .map(([fields, others]) => (typeof fields === 'object' && !Array.isArray(fields) ? { ...fields, ...others } : fields)),
  },
);

/** Sends a body that may hold anything. @returns what it answers, which must be a success */
async function sent(projectId: string, path: string, body: object, method = 'POST'): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.http.url}/projects/${projectId}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: textOf(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  expect([response.status, answer]).toMatchObject([200, {}]);
  return answer;
}

async function readable(projectId: string, runId: string, kept: readonly string[]) {
  const ids: string[] = [];
  for (const what of ['traces', 'spans']) {
    const found = await sent(projectId, `/${what}/search`, { log_stream_id: runId, filters: [], limit: 10_000 });
    await sent(projectId, `/${what}/partial_search`, {
      log_stream_id: runId,
      filters: [],
      limit: 10_000,
      select_columns: {},
    });
    for (const { id, type } of found.records as { id: string; type: string }[]) {
      ids.push(id);
      if (type !== 'trace') continue;
      const response = await fetch(`${service.http.url}/projects/${projectId}/traces/${id}`);
      expect([response.status, await response.json()]).toMatchObject([200, {}]);
    }
  }
  expect(ids).toEqual(expect.arrayContaining([...kept]));
  return ids.length;
}

const textOfId = (id: unknown): string => (typeof id === 'object' ? JSON.stringify(id) : String(id));

/** Ids that anything nested in a value gives itself, as text. */
function spanIdsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(spanIdsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { id, spans } = value as { id?: unknown; spans?: unknown };
  return [...(id === undefined || id === null ? [] : [textOfId(id)]), ...spanIdsIn(spans)];
}

test.prop([trace, trace], { numRuns: propertyRuns(8), endOnFailure: true })(
  'whatever JSON is in a trace of a batch, the others are stored and every answer has the form of the interface',
  async (one, other) => {
    const { projectId, runId } = service.space().run;
    const kept = Array.from({ length: 3 }, newId) as [string, string, string];
    const [first, second, third] = kept.map((id) => ({ id, input: 'q', output: 'a' }));
    const answer = await sent(projectId, '/traces', { log_stream_id: runId, traces: [first, one, second, other, third] });
    expect(await readable(projectId, runId, kept)).toBe(answer.records_count);
    const counters = (await service.http.request('GET', `/projects/${projectId}/ingest_counters`)).body;
    expect(counters).toMatchObject({ rejected_records: answer.refused_count ?? 0 });
    // Two logs under one id are one record, and count as two accepted ones.
    const ids = spanIdsIn([one, other]);
    const repeated = new Set(ids).size < ids.length;
    if (repeated) expect(counters.stored_records).toBeGreaterThanOrEqual(answer.records_count as number);
    else expect(counters.stored_records).toBe(answer.records_count);
    expect(counters.accepted_records).toBe(counters.stored_records + counters.rejected_records);
  },
);

test.prop([fc.array(span, { minLength: 1, maxLength: 3 })], { numRuns: propertyRuns(8), endOnFailure: true })(
  'whatever JSON is in a span, those beside it and below it are stored',
  async (spans) => {
    const { projectId, runId } = service.space().run;
    const traceId = newId();
    const kept = Array.from({ length: 4 }, newId);
    const [first, second, third, last] = kept.map((id) => ({ type: 'tool', id, input: 'i', output: 'o' }));
    const below = spans.map((one, index) =>
      typeof one === 'object' && one !== null && !Array.isArray(one) && index === 0 ? { ...one, spans: [second] } : one,
    );
    const isBelow = !Object.is(below[0], spans[0]);
    await sent(projectId, '/traces', { log_stream_id: runId, traces: [{ id: traceId, spans: [first, ...below] }] });
    await sent(projectId, '/spans', {
      log_stream_id: runId,
      trace_id: traceId,
      parent_id: traceId,
      spans: [third, ...spans, last],
    });
    await readable(projectId, runId, isBelow ? kept : [kept[0], kept[2], kept[3]].map(String));
  },
);

const anyOf = (...names: string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, odd])), { requiredKeys: [], noNullPrototype: true });
const ofClient = anyOf(
  'logging_method',
  'client_version',
  'reliable',
  'is_complete',
  'include_trace_ids',
  'session_id',
  'session_external_id',
);
const updated = anyOf('input', 'output', 'status_code', 'tags', 'duration_ns', 'metrics', 'is_complete', 'reliable');

test.prop([ofClient, updated, anyOf('name', 'external_id', 'previous_session_id', 'user_metadata')], {
  numRuns: propertyRuns(12),
  endOnFailure: true,
})(
  'whatever JSON is in the fields of a request or of an update, the records are stored and can be read',
  async (client, update, session) => {
    const { projectId, runId } = service.space().run;
    const [traceId, ...spanIds] = Array.from({ length: 7 }, newId) as [string, ...string[]];
    const spans = ['llm', 'tool', 'retriever', 'workflow', 'agent', 'control'].map((type, at) => ({ type, id: spanIds[at] }));
    await sent(projectId, '/traces', { ...client, log_stream_id: runId, traces: [{ id: traceId, spans }] });
    await sent(projectId, '/sessions', { ...session, log_stream_id: runId });
    const changes = { ...update, log_stream_id: runId };
    const path = `/traces/${traceId}`;
    expect(await sent(projectId, path, { ...changes, trace_id: traceId }, 'PATCH')).toMatchObject({ records_count: 1 });
    for (const id of spanIds)
      expect(await sent(projectId, `/spans/${id}`, { ...changes, span_id: id }, 'PATCH')).toMatchObject({ records_count: 1 });
    await sent(projectId, '/sessions/search', { log_stream_id: runId, filters: [] });
    expect(await readable(projectId, runId, [traceId, ...spanIds])).toBe(7);
  },
);
