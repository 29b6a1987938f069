import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { deleteRecords, finishDeletions } from '../../shared/records/delete.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { HeldUpdate } from '../../shared/records/heldUpdates.ts';
import type { RecordUpdate } from '../../shared/records/recordChange.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { openDeletionStores } from '../support/deletionStores.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from '../support/postgresServer.ts';

let folder: string;
let clickhouse: ClickHouse;
let stores: Awaited<ReturnType<typeof openDeletionStores>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-held-'));
  stores = await openDeletionStores(folder);
  clickhouse = stores.clickhouse;
  await migrateTables(clickhouse);
});
afterAll(async () => {
  await stores.close();
  await rm(folder, { recursive: true, force: true });
});

type Process = ReturnType<typeof stores.processOf>;

const update = ({ writer }: Process, run: RunRef, id: string, change: RecordUpdate) =>
  writer.write(run, [{ action: 'update', id, of: 'trace', update: change }]);

async function recordOf(run: RunRef, id: string) {
  const store = clickhouseRecordStore(clickhouse);
  return (await store.records(run, await store.keys(run, [id])))[0];
}

test('an update that was applied and could not be released is not applied again, nor to a record that is logged anew', async () => {
  const run = await stores.run();
  const dying = stores.processOf({ held: (real) => ({ ...real, release: () => Promise.reject(new Error('killed')) }) });
  const next = stores.processOf();
  const id = newId();
  await update(dying, run, id, { output: 'held', tags: ['held'] });
  await dying.log(run, [{ id, input: 'q' }]);
  expect(await recordOf(run, id)).toMatchObject({ output: 'held', tags: ['held'] });
  expect(await next.held.usage(run.projectId)).toMatchObject({ updates: 1 });

  await update(next, run, id, { output: 'later' });
  await next.log(run, [{ id, input: 'fuller' }]);
  expect(await recordOf(run, id)).toMatchObject({ input: 'fuller', output: 'later' });
  expect(await next.held.usage(run.projectId)).toMatchObject({ updates: 0 });

  const other = newId();
  await update(dying, run, other, { output: 'held' });
  await dying.log(run, [{ id: other, input: 'q' }]);
  await next.deleteTraces(run, [other]);
  await next.log(run, [{ id: other, input: 'q' }]);
  expect((await recordOf(run, other))?.output ?? null).toBeNull();
  expect(await next.held.usage(run.projectId)).toMatchObject({ updates: 0 });
});

test('an update that cannot be held is refused; what is written beside it is stored', async () => {
  const run = await stores.run();
  const away = new ServiceError('Unavailable', 'away');
  const process = stores.processOf({ held: (real) => ({ ...real, hold: () => Promise.reject(away) }) });
  const id = newId();
  const results = await Promise.allSettled([
    process.log(run, [{ id, input: 'q' }]),
    update(process, run, newId(), { output: 'lost' }),
    update(process, run, id, { output: 'done' }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await recordOf(run, id)).toMatchObject({ output: 'done' });
  expect(process.writer.counters.of(run.projectId)).toEqual({ accepted: 3, stored: 2, held: 0, dropped: 0, rejected: 1 });
});

test('after a day an update that waits counts for nothing', async () => {
  const run = await stores.run();
  const process = stores.processOf();
  const [id, other] = [newId(), newId()];
  await update(process, run, id, { output: 'held' });
  await update(process, run, other, { output: 'held' });
  await stores.database.query("UPDATE held_updates SET held_at = now() - interval '1 day' WHERE record_id = $1", [id]);
  expect(await process.held.usage(run.projectId)).toMatchObject({ updates: 1 });
  await process.log(run, [
    { id, input: 'q' },
    { id: other, input: 'q' },
  ]);
  expect((await recordOf(run, id))?.output ?? null).toBeNull();
  expect(await recordOf(run, other)).toMatchObject({ output: 'held' });
  expect(await process.held.removeExpired()).toEqual([run.projectId]);
});

test('an update that comes before its record in one request is applied to it', async () => {
  const run = await stores.run();
  const process = stores.processOf();
  const id = newId();
  await process.writer.write(run, [
    { action: 'update', id, of: 'trace', update: { output: 'done' } },
    { action: 'log', record: { id, type: 'trace', trace_id: id, input: 'q', output: 'begun' } },
    { action: 'update', id, of: 'trace', update: { tags: ['last'] } },
  ]);
  expect(await recordOf(run, id)).toMatchObject({ input: 'q', output: 'done', tags: ['last'] });
  expect(await process.held.usage(run.projectId)).toMatchObject({ updates: 0 });
});

const age = (run: RunRef, ids: readonly string[]) =>
  stores.database.query("UPDATE held_updates SET held_at = now() - interval '1 hour' WHERE run_id = $1 AND record_id = ANY($2)", [
    run.runId,
    [...ids],
  ]);

test('in a project that is full, the oldest updates that have waited long make room for new ones', async () => {
  const run = await stores.run();
  const process = stores.processOf();
  const ids = Array.from({ length: 100 }, () => newId());
  await Promise.all(ids.map((id) => update(process, run, id, { output: 'held' })));
  await expect(update(process, run, newId(), { output: 'late' })).rejects.toMatchObject({ code: 'Unavailable' });
  await age(run, ids.slice(0, 3));
  const [first, second] = [newId(), newId()];
  await update(process, run, first, { output: 'late' });
  await update(process, run, second, { output: 'late' });
  expect(await process.held.usage(run.projectId)).toMatchObject({ updates: 100 });
  expect(process.writer.counters.of(run.projectId)).toMatchObject({ held: 102, rejected: 1, dropped: 2 });
  await process.log(
    run,
    [...ids.slice(0, 4), first, second].map((id) => ({ id, input: 'q' })),
  );
  const outputs = await Promise.all(
    [...ids.slice(0, 4), first, second].map(async (id) => (await recordOf(run, id))?.output ?? null),
  );
  expect(outputs).toEqual([null, null, 'held', 'held', 'late', 'late']);
});

test('an update too large for the room that is left is refused alone, and drops nothing where that would not help', async () => {
  const run = await stores.run();
  const process = stores.processOf();
  const held = (bytes: number): HeldUpdate => ({ id: newId(), of: 'trace', update: { output: 'x'.repeat(bytes) } });
  const [old, recent] = [held(300_000), held(500_000)];
  expect(await process.held.hold(run, [old, recent])).toEqual({ refused: [], dropped: 0 });
  await age(run, [old.id]);
  const [tooLarge, far, small] = [held(2_000_000), held(600_000), held(1_000)];
  expect(await process.held.hold(run, [tooLarge, far, small])).toEqual({ refused: [tooLarge, far], dropped: 0 });
  // The service drops no more than it needs.
  const fits = held(400_000);
  expect(await process.held.hold(run, [fits])).toEqual({ refused: [], dropped: 1 });
  expect(
    (
      await process.held.of(
        run,
        [old, recent, small, fits].map(({ id }) => id),
      )
    ).map(({ id }) => id),
  ).toEqual([recent, small, fits].map(({ id }) => id));
});

const deletionOf = (run: RunRef, id: string) => ({
  run,
  kinds: ['trace'] as const,
  filter: { filter: { type: 'id', column_id: 'id', operator: 'one_of', value: [id] } } as const,
  findColumn: columnFinder([]),
});

test('a deletion that cannot be noted drops no update that waits', async () => {
  const run = await stores.run();
  const process = stores.processOf();
  const [id, early] = [newId(), newId()];
  await process.log(run, [{ id, input: 'q' }]);
  await update(process, run, early, { output: 'held' });
  const away = new ServiceError('Unavailable', 'away');
  const deps = { ...process.deps, requests: { ...process.deps.requests, add: () => Promise.reject(away) } };
  await expect(deleteRecords(deps, { ...deletionOf(run, id), filter: { and: [] } })).rejects.toBe(away);
  expect(await process.held.usage(run.projectId)).toMatchObject({ updates: 1 });
  expect(await recordOf(run, id)).toMatchObject({ input: 'q' });
});

test('a deletion that was cut off drops the updates that waited when it was asked for, and no later ones', async () => {
  const run = await stores.run();
  const process = stores.processOf();
  const [id, early, late] = [newId(), newId(), newId()];
  await process.log(run, [{ id, input: 'q' }]);
  await update(process, run, early, { output: 'held' });
  const dies = new ServiceError('Unavailable', 'killed');
  const deps = { ...process.deps, forgetHeldUpdates: () => Promise.reject(dies) };
  await expect(deleteRecords(deps, { ...deletionOf(run, id), filter: { and: [] } })).rejects.toBe(dies);
  await update(process, run, late, { output: 'held' });
  await finishDeletions({ ...process.deps, findColumn: async () => columnFinder([]) }, 0, new AbortController().signal);
  expect((await process.held.of(run, [early, late])).map((one) => one.id)).toEqual([late]);
  expect(await recordOf(run, id)).toBeUndefined();
});

test('while nothing is held in a run, no write looks for updates', async () => {
  const run = await stores.run();
  let looks = 0;
  const process = stores.processOf({
    held: (real) => ({
      ...real,
      of: (of, ids) => {
        looks++;
        return real.of(of, ids);
      },
    }),
  });
  const [id, early] = [newId(), newId()];
  await Promise.all([process.log(run, [{ id }]), process.log(run, [{ id: newId() }])]);
  await process.log(run, [{ id }]);
  expect(looks).toBe(0);
  await update(process, run, early, { output: 'held' });
  await process.log(run, [{ id: early }]);
  expect(looks).toBe(1);
  await process.log(run, [{ id: newId() }]);
  expect(looks).toBe(1);
});

describeWithServer('several processes', postgresProgram, (program) => {
  let server: PostgresServer;
  let shared: Awaited<ReturnType<typeof openDeletionStores>>;
  beforeAll(async () => {
    server = await startPostgresServer(program);
    shared = await openDeletionStores(folder, { clickhouse, postgresUrl: server.url });
  });
  afterAll(async () => {
    await shared.close();
    await server.remove();
  });

  test('an update and its record that come to different processes meet, whichever is first', async () => {
    const run = await shared.run();
    const [one, two] = [shared.processOf(), shared.processOf()];
    const ids = Array.from({ length: 30 }, () => newId());
    await Promise.all(
      ids.map(async (id, index) => {
        const steps = [() => update(one, run, id, { output: 'done' }), () => two.log(run, [{ id, input: 'q' }])];
        await Promise.all((index % 2 === 0 ? steps : steps.reverse()).map((step) => step()));
      }),
    );
    for (const id of ids) expect(await recordOf(run, id)).toMatchObject({ input: 'q', output: 'done' });
    expect(await one.held.usage(run.projectId)).toMatchObject({ updates: 0 });
  });

  test('the bound of a project holds over its runs and processes', async () => {
    const run = await shared.run();
    const processes = Array.from({ length: 4 }, () => shared.processOf());
    const results = await Promise.allSettled(
      Array.from({ length: 120 }, (_, i) => update(processes[i % 4] as Process, run, newId(), { output: 'held' })),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
    expect(await processes[0]?.held.usage(run.projectId)).toMatchObject({ updates: 100, updatesLimit: 100 });
  });
});
