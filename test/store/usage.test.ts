import { fc, test as propertyTest } from '@fast-check/vitest';
import { afterAll, beforeAll, expect } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { openPrices } from '../../shared/prices/openPrices.ts';
import { countedUsage, usageNode, usageOf } from '../../shared/records/countedUsage.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { startRecordService } from '../support/recordService.ts';

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService({ prices: openPrices({ list: async () => [] }) });
});
afterAll(() => service[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: answers as they come over the wire
type Json = any;

const metrics = fc.record(
  {
    num_input_tokens: fc.nat({ max: 10_000 }),
    num_output_tokens: fc.nat({ max: 1_000 }),
    cost: fc.constantFrom(0, 0.25, 2),
  },
  { requiredKeys: [] },
);
const place = fc.record({ trace: fc.nat({ max: 2 }), span: fc.nat({ max: 3 }) });
const step = fc.oneof(
  fc.record({
    what: fc.constant('span' as const),
    at: place,
    to: fc.nat({ max: 2 }),
    /** The span that it is below, which may not be there; absent: the trace. */
    below: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
    model: fc.constantFrom('gpt-4o', 'home-made', ''),
    type: fc.constantFrom('llm', 'llm', 'agent', 'tool'),
    metrics,
  }),
  fc.record({ what: fc.constant('trace' as const), at: place, session: fc.constantFrom('one', 'two', undefined) }),
  fc.record({ what: fc.constant('update' as const), at: place, metrics }),
  fc.record({ what: fc.constant('delete span' as const), at: place }),
  fc.record({ what: fc.constant('delete trace' as const), at: place }),
  fc.record({ what: fc.constant('forget' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const call = (span: number): Step => ({
  what: 'span',
  at: { trace: 0, span },
  to: 0,
  below: undefined,
  model: 'home-made',
  type: 'llm',
  metrics: { num_input_tokens: 5 },
});
const aTrace: Step = { what: 'trace', at: { trace: 0, span: 0 }, session: undefined };
const aCallOfEachRelease: Step[] = [aTrace, call(0), { what: 'forget' }, call(1)];

propertyTest.prop([fc.array(step, { minLength: 1, maxLength: 14 })], {
  numRuns: propertyRuns(12),
  examples: [[aCallOfEachRelease]],
})(
  'the sums over what counts are those of their traces and sessions, whatever was logged, updated and deleted by this release or a former one',
  async (steps) => {
    const { post, patch } = service.space();
    const traces = Array.from({ length: 3 }, newId);
    const spans = traces.map(() => Array.from({ length: 4 }, newId));
    const byId = (id: string) => ({ filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: id }] });
    const take = async (one: Step): Promise<{ status: number }> => {
      if (one.what === 'forget') {
        // The rows that a former release wrote.
        const sql = "ALTER TABLE trace_members UPDATE usage = map() WHERE type = 'llm' SETTINGS mutations_sync = 1";
        await service.clickhouse.command({ name: 'forget', sql });
        return { status: 200 };
      }
      const trace = traces[one.at.trace] as string;
      const span = spans[one.at.trace]?.[one.at.span] as string;
      switch (one.what) {
        case 'span': {
          // A span may be logged again in another trace.
          const parent = traces[one.to] as string;
          const { type, model, metrics: given } = one;
          const logged = { type, id: span, input: 'q', output: 'a', metrics: given, ...(type === 'llm' && { model }) };
          const above = one.below === undefined || one.below === one.at.span ? parent : spans[one.to]?.[one.below];
          return post('/spans', { trace_id: parent, parent_id: above, spans: [logged] });
        }
        case 'trace':
          return post('/traces', { session_external_id: one.session, traces: [{ id: trace, input: 'q' }] });
        case 'update':
          return patch(`/spans/${span}`, { span_id: span, metrics: one.metrics });
        case 'delete span':
          return post('/spans/delete', byId(span));
        case 'delete trace':
          return post('/traces/delete', byId(trace));
      }
    };
    for (const one of steps) expect((await take(one)).status, one.what).toBeOneOf(one.what === 'update' ? [200, 404] : [200]);

    const all = async (kind: string): Promise<Json[]> => (await post(`/${kind}/search`, { limit: 100 })).body.records;
    const records = await all('spans');
    const counted = new Map(
      [...Map.groupBy(records, ({ trace_id }) => trace_id).values()].flatMap((ofTrace) => [
        ...countedUsage(ofTrace.map((record) => usageNode(record, usageOf(record)))),
      ]),
    );
    for (const { id, counted_usage } of records) expect(counted_usage).toBe(counted.get(id) ?? null);
    const counts = ({ id }: Json, figure: string) => ['all', figure].includes(counted.get(id) ?? 'none');
    for (const [kind, key] of [
      ['traces', 'trace_id'],
      ['sessions', 'session_id'],
    ] as const) {
      for (const { id, metrics: sums } of await all(kind)) {
        const below = records.filter((record) => record[key] === id);
        for (const name of ['num_input_tokens', 'num_output_tokens', 'cost']) {
          const ofFigure = below.filter((record) => counts(record, name === 'cost' ? 'cost' : 'tokens'));
          const known = ofFigure.flatMap((record) => record.metrics[name] ?? []);
          const sum = known.reduce((total, one) => total + one, 0);
          if (known.length === 0) expect(sums).not.toHaveProperty(name);
          else expect(sums[name]).toBeCloseTo(sum, 9);
        }
        const priced = below.filter((record) => counts(record, 'cost'));
        const unknown = priced.filter((record) => record.metrics.cost === undefined).length;
        expect(sums.num_spans_without_cost).toBe(priced.length === 0 ? undefined : unknown);
        const atLeast = { type: 'number', column_id: 'metrics/cost', operator: 'gte', value: (sums.cost ?? 0) - 1e-9 };
        const found = (await post(`/${kind}/search`, { filters: [atLeast], sort: { column_id: 'metrics/cost' } })).body.records;
        expect(found.some((one: Json) => one.id === id)).toBe(sums.cost !== undefined);
        const costs = found.map((one: Json) => one.metrics.cost);
        expect(costs).toEqual([...costs].sort((a, b) => a - b));
      }
    }
  },
  120_000,
);
