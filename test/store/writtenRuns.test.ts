import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RecordChange } from '../../shared/records/recordChange.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { Binder } from '../../shared/stores/clickhouse/binder.ts';
import { scopeOf } from '../../shared/stores/clickhouse/filters/columnSql.ts';
import { RunVersions } from '../../shared/stores/clickhouse/reads/runVersions.ts';
import { byMerging, type NewestVersions } from '../../shared/stores/clickhouse/tables/newestVersions.ts';
import { clickhouseRecordEraser } from '../../shared/stores/clickhouse/writes/recordDeletion.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { openRecordTables } from '../support/recordRun.ts';

let tables: Awaited<ReturnType<typeof openRecordTables>>;
beforeAll(async () => {
  // So few that nearly every run has some in the table.
  tables = await openRecordTables({ namedVersions: 2 });
});
afterAll(() => tables[Symbol.asyncDispose]());

/** A write, a failed one, a deletion or a merge, of a few records of one trace and of one session. */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('log' as const), of: fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('update' as const), of: fc.array(fc.nat(5), { minLength: 1, maxLength: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('fail' as const), of: fc.array(fc.nat(5), { minLength: 1, maxLength: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('session' as const), of: fc.constant([0]) }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('delete' as const), of: fc.array(fc.nat(5), { minLength: 1, maxLength: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('merge' as const), of: fc.constant([0]) }) },
);

test('what is known of a run without asking is what the engine would say, after any writes, failures and deletions', async () => {
  const { clickhouse } = tables;
  let [failures, isTransient] = [0, false];
  const failing = new Proxy(clickhouse, {
    get(of, key) {
      const value: unknown = Reflect.get(of, key, of);
      if (typeof value !== 'function') return value;
      if (key !== 'insertInOrder') return value.bind(of) as unknown;
      return async (...args: unknown[]) => {
        await value.apply(of, args);
        if (failures-- > 0)
          throw isTransient ? new ServiceError('Unavailable', 'the answer was lost') : new Error('the answer was lost');
      };
    },
  });
  const store = clickhouseRecordStore(failing);
  const seen = { kept: 0, listed: 0 };
  for (const table of ['records', 'record_keys', 'trace_members'])
    await clickhouse.command({ name: 'merges', sql: `SYSTEM START MERGES ${table}` }); // deletions wait for them
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const run = { projectId: newId(), runId: newId() };
      const ids = Array.from({ length: 6 }, newId);
      const [traceId, sessionId] = [ids[0] as string, newId()];
      const writer = new RecordWriter({ store });
      const versions = new RunVersions(clickhouse);
      const logged = (n: number): RecordChange =>
        ({
          action: Math.random() < 0.3 ? 'replace' : 'log',
          record:
            n === 0
              ? { id: traceId, type: 'trace', trace_id: traceId, input: `trace ${Math.random()}` }
              : {
                  id: ids[n] as string,
                  type: Math.random() < 0.5 ? 'llm' : 'tool',
                  trace_id: traceId,
                  parent_id: traceId,
                  input: 'in',
                  metrics: { num_total_tokens: n },
                },
        }) as unknown as RecordChange;
      await versions.ofRecords(run);
      for (const { does, of } of steps) {
        const write = (changes: RecordChange[]) => writer.write(run, changes).catch(() => {});
        if (does === 'log') await Promise.all(of.map((n) => write([logged(n)])));
        if (does === 'update')
          await Promise.all(
            of.map((n) =>
              write([
                {
                  action: 'update',
                  id: ids[n] as string,
                  of: n === 0 ? 'trace' : 'span',
                  update: { tags: [`t${Math.random()}`] },
                } as RecordChange,
              ]),
            ),
          );
        if (does === 'fail') {
          [failures, isTransient] = [1, of.length === 1];
          await write(of.map(logged));
          failures = 0;
        }
        if (does === 'session')
          await write([
            {
              action: 'log',
              record: { id: traceId, type: 'trace', trace_id: traceId, session_id: sessionId, input: 'x' },
            } as unknown as RecordChange,
          ]);
        if (does === 'delete') {
          const keys = await store.keys(
            run,
            of.map((n) => ids[n] as string),
          );
          const stored = (await store.records(run, keys)).map((record) => ({ ...record }));
          if (stored.length > 0) await (await clickhouseRecordEraser(clickhouse).erase(run, stored)).gone;
        }
        if (does === 'merge') await clickhouse.command({ name: 'merge', sql: 'OPTIMIZE TABLE records' });
        const isKept = clickhouse.written?.get(run) !== undefined;
        const known = await versions.ofRecords(run);
        if (isKept && known.newest.stale.length > 0) seen.kept++;
        if (known.newest.areListed) seen.listed++;
        const params = { project: run.projectId, run: run.runId };
        const counts = await clickhouse.query({
          name: 'counts',
          sql: 'SELECT type, toUInt32(count()) AS held FROM records FINAL WHERE project_id = {project:UUID} AND run_id = {run:UUID} GROUP BY type',
          params,
          row: (row) => Object.values(row as { type: string; held: number }) as [string, number],
        });
        const held = await versions.count(run, known.newest); // kept from now on
        expect([...(held ?? [])].sort()).toEqual(counts.toSorted());
        if (known.counts) expect([...known.counts].filter(([, held]) => held !== 0).sort()).toEqual(counts.sort());
        const rowsOf = (newest: NewestVersions) => {
          const binder = new Binder();
          const { from, newest: where } = scopeOf(binder.bind, run, newest);
          const sql = `SELECT id, toString(version) AS version FROM ${from} WHERE ${where} ORDER BY id, version`;
          return clickhouse.query({ name: 'rows', sql, params: binder.params, row: (row) => row });
        };
        expect(await rowsOf(known.newest)).toEqual(await rowsOf(byMerging));
      }
    }),
    { numRuns: propertyRuns(14), endOnFailure: true },
  );
  expect(seen.kept).toBeGreaterThan(20);
  expect(seen.listed).toBeGreaterThan(5);
});
