import { gzipSync } from 'node:zlib';
import { fc } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { TraceOutline } from '../../shared/wire/traceOutline.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

interface Node {
  id: string;
  type: string;
  name: string;
  created_at: string;
  spans?: Node[];
}
/** Each record with the id of the one above it, before those below it. */
const rowsOf = (nodes: Node[], above: string | null = null): (string | null)[][] =>
  nodes.flatMap((node) => [[node.id, above, node.type, node.name], ...rowsOf(node.spans ?? [], node.id)]);
const rowsIn = ({ columns: { id, parent, type, name } }: TraceOutline) =>
  id.map((own, n) => [own, id[parent[n] as number] ?? null, type[n], name[n]]);

test('an outline has the figures and the failures of the trace and its spans', async () => {
  const { post, get } = service.space();
  const [id, call] = [newId(), newId()];
  await post('/traces', {
    traces: [
      {
        ...{ id, name: 'answer', input: 'q', created_at: '2026-03-01T10:00:00.000002Z' },
        spans: [
          {
            ...{ type: 'llm', id: call, name: 'call', input: 'q', output: 'a', model: 'm-1', status_code: 429 },
            created_at: '2026-03-01T10:00:01.000001Z',
            metrics: { duration_ns: 5_000, num_total_tokens: 12, cost: 0.5 },
          },
          { type: 'tool', name: 'early', input: 'x', created_at: '2026-03-01T10:00:00Z' },
        ],
      },
    ],
  });
  const { status, body } = await get(`/traces/${id}/outline`);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body).toMatchObject({ trace_id: id, is_complete: true, start_time: '2026-03-01T10:00:00.000002Z' });
  const { id: ids, ...columns } = body.columns;
  expect(ids[2]).toBe(call);
  expect(columns).toEqual({
    parent: [-1, 0, 0],
    type: ['trace', 'tool', 'llm'],
    name: ['answer', 'early', 'call'],
    start_us: [0, -2, 999_999],
    duration_ns: [null, null, 5_000],
    num_total_tokens: [12, null, 12],
    cost: [0.5, null, 0.5],
    model: [null, null, 'm-1'],
    status_code: [null, null, 429],
    failed: [false, false, true],
  });
  expect((await get(`/traces/${newId()}/outline`)).status).toBe(404);
  expect((await service.space().get(`/traces/${id}/outline`)).status).toBe(404);
  await post('/traces/delete', { filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: id }] });
  expect((await get(`/traces/${id}/outline`)).status).toBe(404);
});

test('the rows of an outline are the tree of the trace, whatever it looks like', async () => {
  const span = fc.record({ above: fc.nat(6), type: fc.constantFrom('workflow', 'llm', 'tool', 'agent'), at: fc.nat(3) });
  await fc.assert(
    fc.asyncProperty(fc.array(span, { minLength: 1, maxLength: 12 }), fc.boolean(), async (spans, hasTrace) => {
      const { post, get } = service.space();
      const traceId = newId();
      const ids = spans.map(newId);
      if (hasTrace)
        await post('/traces', { traces: [{ id: traceId, name: 't', input: 'q', created_at: '2026-03-01T10:00:01Z' }] });
      for (const [n, { above, type, at }] of spans.entries()) {
        const one = { type, id: ids[n], name: `s${n}`, input: 'x', created_at: `2026-03-01T10:00:0${at}Z` };
        await post('/spans', { trace_id: traceId, parent_id: ids[above] ?? traceId, spans: [one] });
      }
      const tree = (await get(`/traces/${traceId}`)).body as Node;
      const outline = (await get(`/traces/${traceId}/outline`)).body as TraceOutline;
      expect(rowsIn(outline)).toEqual(rowsOf(tree.type === 'stub_trace' ? (tree.spans ?? []) : [tree]));
    }),
    { numRuns: 8 },
  );
});

test('an outline of 10,000 spans is small', async () => {
  const { post, get } = service.space();
  const id = newId();
  const spans = Array.from({ length: 10_000 }, (_, n) => ({
    ...{ type: n % 3 ? 'tool' : 'workflow', name: `step ${n % 40}`, input: `input ${n}`, output: `output ${n}` },
    created_at: new Date(Date.UTC(2026, 1, 1) + n * 7).toISOString(),
    metrics: { duration_ns: (n * 7_919) % 1_000_000_000 },
  }));
  await post('/traces', { traces: [{ id, name: 't', input: 'q', created_at: '2026-02-01T00:00:00Z', spans }] });
  const { body } = await get(`/traces/${id}/outline`);
  expect(body.columns.id).toHaveLength(10_001);
  expect(gzipSync(JSON.stringify(body)).length).toBeLessThan(300 * 1024);
});
