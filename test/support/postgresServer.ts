import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { ownPort } from './ownPort.ts';
import { findProgram, type ServerProcess, serverProcess, startServer, untilUp } from './serverProcess.ts';

const debianFolder = '/usr/lib/postgresql'; // one folder per major version, none of them on PATH
const debianVersions = existsSync(debianFolder) ? readdirSync(debianFolder).sort((a, b) => Number(b) - Number(a)) : [];

export const postgresProgram = {
  name: 'postgres',
  path: findProgram(
    'postgres',
    debianVersions.map((version) => join(debianFolder, version, 'bin')),
  ),
};

export interface PostgresServer extends ServerProcess {
  /** URL of a database that is empty at first. */
  url: string;
  query(sql: string): Promise<pg.QueryResultRow[]>;
  /** Starts it again on the same data after `stop` or `kill`, at the same URL. */
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** A cluster of its own in a temporary folder. */
export async function startPostgresServer(program: string): Promise<PostgresServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-postgres-'));
  await giveToPostgres(dataDir);
  await finished(join(dirname(program), 'initdb'), [
    '--pgdata',
    dataDir,
    '--username',
    'assay',
    '--auth',
    'trust',
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    '--no-sync',
  ]);
  const port = await ownPort();
  const url = `postgres://assay@127.0.0.1:${port}/postgres`;
  let running = await startCluster(program, dataDir, port, url);
  return {
    url,
    get pid() {
      return running.pid;
    },
    stop: () => running.stop(),
    kill: () => running.kill(),
    async query(sql) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        return (await client.query(sql)).rows;
      } finally {
        await client.end();
      }
    },
    async restart() {
      running = await startCluster(program, dataDir, port, url);
    },
    async remove() {
      await running.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function startCluster(program: string, dataDir: string, port: number, url: string): Promise<ServerProcess> {
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off', max_connections: 200 };
  const args = ['-D', dataDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const deadline = Date.now() + 20_000;
  for (;;) {
    const child = startServer(program, args, { user: 'postgres' });
    try {
      await untilUp(child, () => answers(url));
      return serverProcess(child, 'SIGINT'); // "fast" shutdown: does not wait for clients to leave
    } catch (err) {
      // After a SIGKILL the killed server's own children take a moment to notice, and hold its shared memory until then.
      if (Date.now() > deadline || !String(err).includes('shared memory')) throw err;
    }
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Postgres refuses to run as root, so as root everything runs as Debian's `postgres` user, who must own the data. */
async function giveToPostgres(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const entry = (await readFile('/etc/passwd', 'utf8')).split('\n').find((line) => line.startsWith('postgres:'));
  const [, , uid, gid] = entry?.split(':') ?? [];
  await chown(path, Number(uid), Number(gid));
}

async function finished(command: string, args: string[]): Promise<void> {
  const child = startServer(command, args, { user: 'postgres' });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} failed:\n${said}`);
}
