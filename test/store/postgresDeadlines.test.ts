import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../shared/config/config.ts';
import { openStores } from '../../shared/stores/open.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from '../support/postgresServer.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';

const unavailable = { code: 'Unavailable', retryAfterSeconds: 2 };

describeWithServer('a statement of a Postgres server that takes too long', postgresProgram, (program) => {
  let server: PostgresServer;
  let database: Database;
  const late: string[] = [];
  const lost: Error[] = [];
  const waits: number[] = [];
  beforeAll(async () => {
    server = await startPostgresServer(program);
    database = await openDatabase({
      url: server.url,
      connections: 2,
      // Far more than a machine that stalls takes from one statement to the next.
      limits: { statementMs: 2_500, silentMs: 6_000, idleMs: 2_500 },
      onLost: (err) => lost.push(err),
      onWait: (seconds) => waits.push(seconds),
      onLate: (sql, err) => late.push(`${sql}: ${err.message}`),
    });
    await database.exec('CREATE TABLE things (name text)');
  });
  afterAll(async () => {
    await database?.close();
    await server?.remove();
  });

  const names = async () => (await database.query('SELECT name FROM things ORDER BY name')).map(({ name }) => name);
  const write = (name: string, then: (pid: number) => Promise<unknown>) =>
    database.transaction(async (tx) => {
      await tx.query('INSERT INTO things VALUES ($1)', [name]);
      const backend = await tx.maybeOne('SELECT pg_backend_pid() AS pid');
      await then(Number(backend?.pid));
      await tx.query('SELECT $1::text AS after', [name]);
    });

  test('a connection that is not free is waited for, which is timed', async () => {
    await Promise.all([database.query('SELECT 1'), database.query('SELECT 1')]);
    expect(waits.splice(0)).toEqual([]);
    await Promise.all(Array.from({ length: 4 }, () => database.query('SELECT 1')));
    await Promise.all(Array.from({ length: 3 }, () => database.transaction((tx) => tx.query('SELECT 1'))));
    const waited = waits.splice(0);
    expect(waited).toHaveLength(3);
    expect(Math.min(...waited)).toBeGreaterThan(0);
  });

  test('is ended by the server and undone; who waits hears of it, and so does the log, without its values', async () => {
    await expect(database.query('SELECT pg_sleep(60), $1::text', ['a secret'])).rejects.toMatchObject(unavailable);
    expect(late.splice(0)).toEqual(['SELECT pg_sleep(60), $1::text: canceling statement due to statement timeout']);
    await expect(write('slow', () => database.transaction((tx) => tx.query('SELECT pg_sleep(60)')))).rejects.toMatchObject(
      unavailable,
    );
    expect(late.splice(0)).toHaveLength(1);
    expect(await names()).toEqual([]);
  });

  test('a wait for a lock is one', async () => {
    const held = Promise.withResolvers<void>();
    const holder = database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(1)');
      held.resolve();
      await expect(database.query('SELECT pg_advisory_xact_lock(1)')).rejects.toMatchObject(unavailable);
    });
    await held.promise;
    await holder.catch(() => undefined); // it may have idled too long itself
    late.splice(0);
    await database.query('SELECT pg_advisory_xact_lock(1)');
  });

  test('a connection on which nothing is heard is closed, and others are used', async () => {
    let stopped = 0;
    try {
      const silent = write('unheard', async (pid) => {
        process.kill(pid, 'SIGSTOP');
        stopped = pid;
      });
      await expect(silent).rejects.toMatchObject(unavailable);
      expect(late.splice(0)).toEqual(['SELECT $1::text AS after: Query read timeout']);
      expect(await names()).toEqual([]);
    } finally {
      if (stopped) process.kill(stopped, 'SIGCONT');
    }
    await write('kept', async () => undefined);
    expect(await names()).toEqual(['kept']);
  });

  test('a transaction that waits for its next statement for too long is ended, and its lost connection is heard of', async () => {
    lost.splice(0);
    const ended = write('idle', async (pid) => {
      const backends = 'SELECT 1 FROM pg_stat_activity WHERE pid = $1';
      await expect.poll(async () => (await database.query(backends, [pid])).length).toBe(0);
    });
    await expect(ended).rejects.toMatchObject(unavailable);
    expect(lost.map(({ message }) => message)).toContain('terminating connection due to idle-in-transaction timeout');
    expect(await names()).toEqual(['kept']);
  });

  test('a server that does not let us in any more is away, and its reason is not for callers', async () => {
    await database.transaction(async (tx) => {
      await tx.exec('ALTER ROLE assay NOLOGIN');
      await tx.exec('COMMIT; BEGIN');
      try {
        await tx.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
        );
        const refused = await database.query('SELECT 1').catch((err: unknown) => err);
        expect(refused).toMatchObject({ ...unavailable, message: expect.not.stringContaining('assay') });
      } finally {
        await tx.exec('ALTER ROLE assay LOGIN');
      }
    });
    expect(await names()).toEqual(['kept']);
  });

  describe('a transaction whose connection broke, of which the server does not hear', () => {
    let proxy: TcpProxy;
    let behind: Database;
    beforeAll(async () => {
      proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(server.url).port) }, 60_000);
      const url = new URL(server.url);
      url.port = String(proxy.port);
      behind = await openDatabase({
        url: url.href,
        connections: 3,
        limits: { statementMs: 15_000, silentMs: 18_000, idleMs: 2_500 },
      });
    });
    afterAll(async () => {
      await behind?.close();
      await proxy?.close();
    });

    /** Breaks its connection, for longer than a transaction may idle. */
    const breakLinks = async () => {
      proxy.set('reset');
      await new Promise((resolve) => setTimeout(resolve, 2_700));
    };

    test('its locks are free at once, though every connection of the pool waits for them', async () => {
      // It does not idle: the server would leave it its lock for 15 s.
      const broken = behind.transaction((tx) => tx.query('SELECT pg_advisory_xact_lock(2), pg_sleep(15)'));
      const isFree = async () => (await database.maybeOne('SELECT pg_try_advisory_lock(2) AS is, pg_advisory_unlock(2)'))?.is;
      await expect.poll(isFree).toBe(false);
      const ended = expect(broken).rejects.toMatchObject(unavailable);
      await breakLinks();
      await ended;
      expect(await isFree()).toBe(false);
      proxy.set('open');
      await Promise.all(Array.from({ length: 3 }, () => behind.transaction((tx) => tx.query('SELECT pg_advisory_xact_lock(2)'))));
    });

    test('it is ended while it waits for a lock itself: it would hold it in turn', async () => {
      const holding = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const held = openDatabase({ url: server.url }).then(async (other) => {
        await other.transaction(async (tx) => {
          await tx.query('SELECT pg_advisory_xact_lock(3)');
          holding.resolve();
          await release.promise;
        });
        await other.close();
      });
      await holding.promise;
      const waiting = async () =>
        (await database.maybeOne("SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))?.n;
      const broken = behind.transaction((tx) => tx.query('SELECT pg_advisory_xact_lock(3)'));
      const ended = expect(broken).rejects.toMatchObject(unavailable);
      await expect.poll(waiting).toBe(1);
      await breakLinks();
      await ended;
      expect(await waiting()).toBe(1);
      proxy.set('open');
      await expect.poll(waiting).toBe(0);
      release.resolve();
      await held;
    });
  });

  test('an idle connection that breaks is heard of, and made anew', async () => {
    lost.splice(0);
    await server.stop();
    await expect.poll(() => lost.length).toBeGreaterThan(0);
    await server.restart();
    expect(await names()).toEqual(['kept']);
  });

  test('the service logs it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'assay-lost-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const logged: { level: number; msg: string; err: Error }[] = [];
    const log = pino(
      {},
      new Writable({
        write(line, _encoding, done) {
          logged.push(JSON.parse(String(line)));
          done();
        },
      }),
    );
    const environment = { DATABASE_URL: server.url, DATA_DIR: directory };
    await using stores = new AsyncDisposableStack();
    const { database: metadata, close } = await openStores(readConfig(environment), log);
    stores.defer(close);
    const backend = await metadata.maybeOne('SELECT pg_backend_pid() AS pid');
    await database.query('SELECT pg_terminate_backend($1)', [backend?.pid]);
    await expect.poll(() => logged.length).toBeGreaterThan(0);
    expect(logged[0]).toMatchObject({
      ...{ level: pino.levels.values.warn, err: { message: 'terminating connection due to administrator command' } },
      msg: 'a connection to the metadata store broke; it is made anew when it is needed',
    });
    expect(await metadata.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
