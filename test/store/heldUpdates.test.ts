import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import type { RecordUpdate } from '../../shared/records/recordChange.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { openDeletionStores } from '../support/deletionStores.ts';
import { propertyRuns } from '../support/propertyRuns.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

let stores: Awaited<ReturnType<typeof openDeletionStores>>;
let process: ReturnType<typeof stores.processOf>;
beforeAll(async () => {
  stores = await openDeletionStores();
  process = stores.processOf();
});
afterAll(() => stores.close());

type Step =
  | { action: 'log'; fields: object }
  | { action: 'update'; of: 'trace' | 'span'; update: RecordUpdate }
  | { action: 'delete' };

const word = fc.constantFrom('a', 'b', 'c');
const metrics = fc.dictionary(fc.constantFrom('score', 'depth', 'duration_ns'), fc.nat({ max: 9 }));
const statusCode = fc.constantFrom(200, 500);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      action: fc.constant('log' as const),
      fields: fc.record(
        { input: word, output: word, tags: fc.array(word), status_code: statusCode, metrics },
        { requiredKeys: [] },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      action: fc.constant('update' as const),
      of: fc.constantFrom('trace' as const, 'span' as const),
      update: fc.record(
        { input: word, output: word, tags: fc.array(word), status_code: statusCode, duration_ns: fc.nat(), metrics },
        { requiredKeys: [] },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ action: fc.constant('delete' as const) }) },
);

/** The same steps as a client sends them that waits for its records: no update of a record that was deleted, none before its record. */
function inOrder(steps: readonly Step[]): Step[] {
  const ordered: Step[] = [];
  let state: 'new' | 'stored' | 'deleted' = 'new';
  let waiting: Step[] = [];
  for (const one of steps) {
    if (one.action === 'log') {
      ordered.push(one, ...waiting);
      [state, waiting] = ['stored', []];
    } else if (one.action === 'delete') {
      if (state === 'stored') ordered.push(one);
      // By its id the deletion takes what waits for the trace, not what waits for spans, which it does not name.
      waiting = waiting.filter((update) => state === 'new' && update.action === 'update' && update.of === 'span');
      if (state === 'stored') state = 'deleted';
    } else if (state === 'stored') ordered.push(one);
    else if (state === 'new') waiting.push(one);
  }
  return ordered;
}

async function afterwards(run: RunRef, steps: readonly Step[]) {
  const [id, spanId] = [newId(), newId()];
  const created_at = '2026-01-01T00:00:00Z';
  for (const one of steps) {
    if (one.action === 'log')
      await process.log(run, [
        { id, created_at, name: 't', ...one.fields, spans: [{ type: 'workflow', id: spanId, created_at, ...one.fields }] },
      ]);
    else if (one.action === 'delete') await process.deleteTraces(run, [id]);
    else
      await process.writer
        .write(run, [{ action: 'update', id: one.of === 'trace' ? id : spanId, of: one.of, update: one.update }])
        .catch((err: unknown) => {
          if (!(err instanceof ServiceError && err.code === 'NotFound')) throw err;
        });
  }
  const store = clickhouseRecordStore(stores.clickhouse);
  const found = new Map((await store.records(run, await store.keys(run, [id, spanId]))).map((record) => [record.id, record]));
  const values = await process.values.of(run, [id, spanId]);
  return [id, spanId].map((of) => {
    const record = found.get(of);
    if (!record) return undefined;
    const { input, output, tags, status_code, metrics: stored, error_message, updated_fields } = record;
    const scores = values.filter(({ recordId }) => recordId === of).map(({ metric, value }) => `${metric} ${value}`);
    return {
      ...{ input, output, tags, status_code, metrics: stored, error_message },
      updated: [...(updated_fields ?? [])].sort(),
      scores: scores.sort(),
    };
  });
}

test.prop([fc.array(step, { minLength: 2, maxLength: 7 })], { numRuns: propertyRuns(8) })(
  'whatever comes first, records end as if each had been logged before its updates',
  async (steps) => {
    const run = await stores.run();
    expect(await afterwards(run, steps)).toEqual(await afterwards(run, inOrder(steps)));
  },
  120_000,
);
