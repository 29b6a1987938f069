import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RecordChange } from '../../shared/records/recordChange.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import type { RecordKey } from '../../shared/records/searchRecords.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { clickhouseRecordEraser } from '../../shared/stores/clickhouse/writes/recordDeletion.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { openRecordTables } from '../support/recordRun.ts';

let tables: Awaited<ReturnType<typeof openRecordTables>>;
beforeAll(async () => {
  tables = await openRecordTables();
  for (const table of ['records', 'record_keys', 'trace_members'])
    await tables.clickhouse.command({ name: 'merges', sql: `SYSTEM START MERGES ${table}` }); // deletions wait for them
});
afterAll(() => tables[Symbol.asyncDispose]());

const span = fc.record({
  id: fc.nat({ max: 4 }),
  trace: fc.nat({ max: 2 }),
  below: fc.option(fc.nat({ max: 4 }), { nil: undefined }),
  type: fc.constantFrom('llm', 'llm', 'agent', 'tool'),
  metrics: fc.record({ num_total_tokens: fc.nat({ max: 9 }), cost: fc.constantFrom(0, 0.25, 2) }, { requiredKeys: [] }),
});
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('log' as const), spans: fc.array(span, { minLength: 1, maxLength: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('trace' as const), id: fc.nat({ max: 2 }), session: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('update' as const), id: fc.nat({ max: 4 }), tokens: fc.nat({ max: 9 }) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), id: fc.nat({ max: 4 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('fail' as const), spans: fc.array(span, { minLength: 1, maxLength: 2 }) }),
  },
);

test('what is known of traces is what their rows say, after any writes, moves, failures and deletions', async () => {
  const { clickhouse } = tables;
  let failures = 0;
  const reading = (change: Partial<Record<keyof ClickHouse, unknown>>) =>
    new Proxy(clickhouse, {
      get(of, key) {
        if (Object.hasOwn(change, key)) return change[key as keyof ClickHouse];
        const value: unknown = Reflect.get(of, key, of);
        return typeof value === 'function' ? value.bind(of) : value;
      },
    });
  const store = clickhouseRecordStore(
    reading({
      async insertInOrder(...args: Parameters<ClickHouse['insertInOrder']>) {
        await clickhouse.insertInOrder(...args);
        if (failures-- > 0) throw new Error('the answer was lost');
      },
    }),
  );
  const knowing = clickHouseRecordReads(clickhouse);
  const asking = clickHouseRecordReads(reading({ writtenTraces: undefined }));
  const seen = { known: 0, changed: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const run = { projectId: newId(), runId: newId() };
      const [traces, spans] = [Array.from({ length: 3 }, newId), Array.from({ length: 5 }, newId)];
      const writer = new RecordWriter({ store });
      const write = (changes: unknown[]) => writer.write(run, changes as RecordChange[]).catch(() => {});
      const logged = ({ id, trace, below, type, metrics }: typeof span extends fc.Arbitrary<infer S> ? S : never) => {
        const parent_id = below === undefined || below === id ? traces[trace] : spans[below];
        const record = { id: spans[id], type, trace_id: traces[trace], parent_id, input: 'in', metrics };
        return { action: 'log', record };
      };
      // The ids of the run are read at its first write; until then no trace is known to be new.
      const written = async () => {
        const id = newId();
        await write([{ action: 'log', record: { id, type: 'trace', trace_id: id, input: 'first' } }]);
        return clickhouse.writtenTraces?.get(run, id);
      };
      await expect.poll(written, { interval: 20 }).toBeDefined();
      for (const one of steps) {
        if (one.does === 'log') await Promise.all(one.spans.map((of) => write([logged(of)])));
        if (one.does === 'trace') {
          const id = traces[one.id];
          await write([
            {
              action: 'log',
              record: { id, type: 'trace', trace_id: id, input: 'in', ...(one.session && { session_id: newId() }) },
            },
          ]);
        }
        if (one.does === 'update') {
          const update = { metrics: { num_total_tokens: one.tokens } };
          await write([{ action: 'update', id: spans[one.id], of: 'span', update }]);
        }
        if (one.does === 'delete') {
          const stored = await store.records(run, await store.keys(run, [spans[one.id] as string]));
          if (stored.length > 0) await (await clickhouseRecordEraser(clickhouse).erase(run, stored)).gone;
        }
        if (one.does === 'fail') {
          failures = 1;
          await write(one.spans.map(logged));
          failures = 0;
        }
        const createdAt = '2026-01-01T00:00:00.000000Z';
        const keys: RecordKey[] = [
          ...traces.map((id) => ({ id, type: 'trace' as const, createdAt, traceId: id })),
          ...spans.map((id) => ({ id, type: 'agent' as const, createdAt, traceId: traces[0] as string })),
        ];
        const known = traces.filter((id) => clickhouse.writtenTraces?.get(run, id));
        seen.known += known.length;
        if (one.does !== 'log') seen.changed += known.length;
        const shown = async ({ family }: Pick<typeof knowing, 'family'>) => {
          const { storedTraces, parents, usage } = await family(run, keys);
          const sums = traces.map((id) => usage.get(id) ?? {});
          return { stored: [...storedTraces].sort(), parents: keys.flatMap(({ id }) => (parents.has(id) ? id : [])), sums };
        };
        expect(await shown(knowing)).toEqual(await shown(asking));
      }
    }),
    { numRuns: 15, endOnFailure: true },
  );
  expect(seen.known).toBeGreaterThan(15);
  expect(seen.changed).toBeGreaterThan(5);
});
