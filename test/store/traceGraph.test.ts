import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import type { AggregatedTraceView } from '../../shared/wire/traceGraph.ts';
import { startSearchService } from '../support/searchService.ts';

let service: Awaited<ReturnType<typeof startSearchService>>;
beforeAll(async () => {
  service = await startSearchService();
});
afterAll(() => service[Symbol.asyncDispose]());

const at = (seconds: number) => `2026-03-01T12:00:${String(seconds).padStart(2, '0')}.000000Z`;

async function graphOf(records: StoredRecord[], body: object = {}): Promise<AggregatedTraceView> {
  await service.store(records);
  const ids = records.map(({ id }) => id);
  const answer = await service.post('traces/aggregated', {
    filters: [{ type: 'id', column_id: 'id', operator: 'one_of', value: ids }],
    ...body,
  });
  expect(answer.status).toBe(200);
  return answer.body;
}

const nodeOf = ({ graph }: AggregatedTraceView, name: string) => graph.nodes.find((node) => node.name === name);
const edgesOf = ({ graph }: AggregatedTraceView) => {
  const names = new Map(graph.nodes.map(({ id, name, type }) => [id, name ?? type]));
  return graph.edges.map(({ source, target, occurrences, trace_count, weight }) => [
    `${names.get(source)} > ${names.get(target)}`,
    occurrences,
    trace_count,
    weight,
  ]);
};

test('a view that leaves steps out says that it is cut', async () => {
  const trace = service.record({ name: 'of many steps' });
  const steps = Array.from({ length: 1_000 }, (_, n) =>
    service.record({ type: 'tool', name: `step ${n}`, trace_id: trace.id, parent_id: trace.id, session_id: trace.session_id }),
  );
  await service.store(steps);
  const view = await graphOf([trace]);
  expect(view).toMatchObject({ num_traces: 1, has_all_traces: false });
  expect(view.graph.nodes).toHaveLength(1_000);
});

test('traces that take the same steps are one path, and each step is counted', async () => {
  const session = newId();
  const traces = [0, 1].map((n) =>
    service.record({ name: `question ${n}`, session_id: session, created_at: at(n), metrics: { duration_ns: (n + 1) * 100 } }),
  );
  const [first, second] = traces as [StoredRecord, StoredRecord];
  const step = (trace: StoredRecord, type: StoredRecord['type'], name: string, parent: StoredRecord, seconds: number) =>
    service.record({ type, name, trace_id: trace.id, parent_id: parent.id, session_id: session, created_at: at(seconds) });
  const plan = traces.map((trace) => step(trace, 'agent', 'plan', trace, 2)) as [StoredRecord, StoredRecord];
  const calls = [
    step(first, 'llm', 'call', plan[0], 3),
    step(first, 'tool', 'search', plan[0], 4),
    step(first, 'llm', 'call', plan[0], 5),
    step(second, 'llm', 'call', plan[1], 3),
  ];
  // Its parent has not come: it hangs below its trace, behind what came before it.
  const lost = { ...step(second, 'tool', 'lost', second, 9), parent_id: newId() };
  await service.store(calls.slice(0, 1).map((one) => ({ ...one, name: 'an older version', version: 0 })));
  for (const [n, call] of calls.entries()) {
    await service.score(call, 'toxicity', { status_type: 'success', value: n / 4 } as never, 1);
    await service.score(call, 'polite', { status_type: 'success', value: n > 0 } as never, 1);
  }
  const view = await graphOf([...traces, ...plan, ...calls, lost]);
  expect(view).toMatchObject({ num_traces: 2, num_sessions: 1, start_time: at(0), end_time: at(1), has_all_traces: true });
  expect(edgesOf(view)).toEqual(
    expect.arrayContaining([
      ['trace > plan', 2, 2, 1],
      ['plan > call', 2, 2, 1],
      ['call > search', 1, 1, 0.5],
      ['search > call', 1, 1, 0.5],
      ['plan > lost', 1, 1, 0.5],
    ]),
  );
  expect(view.graph.edges).toHaveLength(5);
  expect(view.graph.edges.find(({ occurrences, trace_count }) => occurrences === 1 && trace_count === 1)?.trace_ids).toHaveLength(
    1,
  );
  const root = view.graph.nodes.find(({ type }) => type === 'trace');
  expect(root).toMatchObject({ name: null, parent_id: null, occurrences: 2, has_children: true, weight: 1 });
  expect(root?.metrics.duration_ns).toMatchObject({ unit: 'nano_seconds', mean: 150, median: 150, min: 100, max: 200, p95: 195 });
  expect(nodeOf(view, 'plan')).toMatchObject({ parent_id: root?.id, type: 'agent', occurrences: 2, trace_count: 2 });
  const call = nodeOf(view, 'call');
  expect(call).toMatchObject({ parent_id: nodeOf(view, 'plan')?.id, occurrences: 3, trace_count: 2, has_children: false });
  expect(call?.metrics.polite).toEqual({
    aggregation_type: 'categorical',
    name: 'polite',
    label: 'polite',
    category_counts: { true: 2, false: 1 },
  });
  expect(call?.metrics.toxicity).toMatchObject({ label: 'Toxicity', unit: 'percentage', min: 0, max: 0.75 });
  const toxicity = call?.metrics.toxicity;
  expect(toxicity?.aggregation_type === 'numeric' && toxicity.histogram.buckets.map(({ count }) => count)).toEqual([
    1, 0, 0, 0, 0, 0, 1, 0, 0, 1,
  ]);
  expect(view.graph.edge_occurrences_histogram).toMatchObject({ total: 5, strategy: 'fixed' });
});

test('spans in a circle hold nothing up', async () => {
  const trace = service.record({ name: 't', created_at: at(20) });
  const [a, b] = [newId(), newId()];
  const below = { type: 'tool', trace_id: trace.id, session_id: trace.id, created_at: at(21) } as const;
  const view = await graphOf([
    trace,
    service.record({ ...below, id: a, parent_id: b }),
    service.record({ ...below, id: b, parent_id: a }),
  ]);
  expect(view.graph.nodes).toMatchObject([{ name: 't', occurrences: 1 }]);
});

test('more traces than the view holds are said to be more', async () => {
  const many = Array.from({ length: 1001 }, (_, n) => service.record({ name: 'many', created_at: at(30 + (n % 20)) }));
  const view = await graphOf(many);
  expect(view).toMatchObject({ num_traces: 1000, num_sessions: 0, has_all_traces: false });
  expect(nodeOf(view, 'many')).toMatchObject({ occurrences: 1000, has_children: false });
});

test('nothing that matches is an empty graph', async () => {
  const none = await graphOf([], { filters: [{ type: 'id', column_id: 'id', value: newId() }] });
  expect(none).toEqual({
    graph: { nodes: [], edges: [], edge_occurrences_histogram: null },
    ...{ num_traces: 0, num_sessions: 0, start_time: null, end_time: null, has_all_traces: true },
  });
  expect((await service.post('traces/aggregated', { log_stream_id: null })).status).toBe(422);
  expect((await service.post('traces/aggregated', { log_stream_id: newId() })).status).toBe(404);
});

test('a cost that was logged counts once', async () => {
  const trace = service.record({ name: 'paid', created_at: at(30) });
  const call = service.record({ type: 'llm', name: 'call', trace_id: trace.id, parent_id: trace.id, metrics: { cost: 0.5 } });
  await service.score(call, 'cost', { status_type: 'success', value: 0.5 } as never, 1);
  const node = nodeOf(await graphOf([trace, call]), 'call');
  expect(node?.metrics.cost).toMatchObject({ histogram: { total: 1 } });
});
