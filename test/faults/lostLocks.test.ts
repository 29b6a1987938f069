import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import type { RecordStore } from '../../shared/records/recordStore.ts';
import { newestVersions } from '../../shared/stores/clickhouse/tables/newestVersions.ts';
import { gate, openDeletionStores } from '../support/deletionStores.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from '../support/postgresServer.ts';

const trace = (id: string, output: string) => ({ type: 'trace', id, input: 'q', output, spans: [] });

describeWithServer('a process that loses its locks while it writes', postgresProgram, (program) => {
  let server: PostgresServer;
  let embedded: Awaited<ReturnType<typeof openDeletionStores>>;
  let over: Awaited<ReturnType<typeof openDeletionStores>>;
  beforeAll(async () => {
    server = await startPostgresServer(program);
    embedded = await openDeletionStores();
    over = await openDeletionStores(undefined, { clickhouse: embedded.clickhouse, postgresUrl: server.url });
  });
  afterAll(async () => {
    await over?.close();
    await embedded?.close();
    await server?.remove();
  });

  /** As Postgres does when it hears nothing: the transactions that have locks end. */
  const endLocks = () =>
    over.database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()",
    );
  /** Outputs of the rows of a record that readers find. */
  const outputs = async (run: RunRef, id: string) => {
    const { from, stale } = await newestVersions(over.clickhouse, run);
    const rows = await over.clickhouse.query({
      name: 'rows of a record',
      sql: `SELECT output, created_at, version FROM ${from} WHERE run_id = {run:UUID} AND id = {id:UUID}`,
      params: { run: run.runId, id },
      row: (row) => row as { output: string; created_at: string; version: string },
    });
    const isStale = (row: (typeof rows)[number]) =>
      stale.some((one) => one.id === id && one.createdAt === row.created_at && one.version === Number(row.version));
    return rows.filter((row) => !isStale(row)).map(({ output }) => output);
  };
  /** Holds up the first block before it is sent, before or after its locks are confirmed. */
  const heldBlock = (confirmed: boolean) => {
    const held = gate();
    let isFirst = true;
    const store = (real: RecordStore): RecordStore => ({
      ...real,
      block(rows) {
        const block = real.block(rows);
        return {
          async send(confirm) {
            if (!isFirst) return block.send(confirm);
            isFirst = false;
            await held.pass();
            await block.send(confirmed ? undefined : confirm);
          },
        };
      },
    });
    return { held, store };
  };

  test('writes nothing when it comes back, and says 503', async () => {
    const { held, store } = heldBlock(false);
    const [late, other] = [over.processOf({ store }), over.processOf()];
    const run = await over.run();
    const id = newId();
    const written = late.log(run, [trace(id, 'late')]);
    written.catch(() => undefined);
    await held.arrived;
    await endLocks();
    await other.log(run, [trace(id, 'other')]);
    held.open();
    await expect(written).rejects.toMatchObject({ code: 'Unavailable', retryAfterSeconds: 1 });
    expect(await outputs(run, id)).toEqual(['other']);
  });

  test('what was on its way to the store all the same is settled with what was written meanwhile: one record', async () => {
    const { held, store } = heldBlock(true);
    const [late, other] = [over.processOf({ store }), over.processOf()];
    const run = await over.run();
    const [id, fresh] = [newId(), newId()];
    const written = late.log(run, [trace(id, 'late'), { ...trace(fresh, 'fresh') }]);
    await held.arrived;
    await endLocks();
    await new Promise((resolve) => setTimeout(resolve, 20)); // another time than that of the first
    await other.log(run, [trace(id, 'other')]);
    held.open();
    expect((await written).traceIds.sort()).toEqual([id, fresh].sort());
    expect(await outputs(run, id)).toHaveLength(1);
    expect(await outputs(run, fresh)).toEqual(['fresh']);
  });

  test('locks that are in use outlive the time after which idle transactions end; others write meanwhile', async () => {
    const { held, store } = heldBlock(false);
    const [slow, other] = [over.processOf({ store }), over.processOf()];
    const [run, free] = [await over.run(), await over.run()];
    const id = newId();
    const written = slow.log(run, [trace(id, 'slow')]);
    await held.arrived;
    const waiting = other.log(run, [trace(id, 'next')]);
    const begun = Date.now();
    while (Date.now() - begun < 16_000) {
      await other.log(free, [trace(newId(), 'free')]);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect(other.writer.waitingMs.locked).toBeGreaterThan(10_000);
    held.open();
    await written;
    await waiting;
    expect(other.writer.waitingMs).toEqual({ stored: 0, locked: 0 });
    expect(await outputs(run, id)).toEqual(['next']);
  });
});
