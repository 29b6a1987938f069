// A service of its own: it is about starts: settings, folders, ports, signals.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lockFolder } from '../../shared/stores/folderLock.ts';
import { ownPort } from '../support/ownPort.ts';
import { processTree, stillRunning, untilGone } from '../support/processTree.ts';
import { seedPostgres } from '../support/seedPostgres.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

const ROOT = join(import.meta.dirname, '../..');
const temporary = mkdtempSync(join(tmpdir(), 'assay-start-'));
const dataDir = join(temporary, 'data');
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

interface Answer {
  status: number;
  retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: replies of every shape; a wrong guess fails the test
  body: any;
}

async function ask(url: string, path: string, apiKey?: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url + path, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...(apiKey ? { 'Service-API-Key': apiKey } : {}) },
    signal: AbortSignal.timeout(20_000),
  });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
}

/** The answer of the first moment in which somebody answers. */
async function firstAnswer(url: string): Promise<Answer> {
  for (;;) {
    const answer = await ask(url, '/healthcheck').catch(() => undefined);
    if (answer) return answer;
    await delay(20);
  }
}

describe('the service on one folder', () => {
  let folder: ServiceFolder;
  let service: ServiceProcess;
  beforeAll(async () => {
    folder = await serviceFolder(dataDir, { ADMIN_API_KEY: '' }, { empty: true });
  });
  afterAll(() => service?.kill('SIGKILL'));

  const kept = () => JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));

  test('the first start answers 503 until it is ready, prints credentials that work, and keeps them for its owner only', async () => {
    const starting = folder.start();
    const early = await firstAnswer(`http://127.0.0.1:${folder.environment.PORT}`);
    expect(early).toMatchObject({ status: 503, retryAfter: '1', body: { detail: expect.stringContaining('starting') } });
    service = await starting;
    expect(await ask(service.url, '/healthcheck')).toMatchObject({ status: 200, body: { message: 'ready', version: '0.1.0' } });
    const { email, password, api_key } = kept();
    for (const credential of [email, password, api_key]) expect(service.output()).toContain(credential);
    expect(statSync(join(dataDir, 'credentials.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'secret_keys')).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(await ask(service.url, '/current_user', api_key)).toMatchObject({ status: 200, body: { email } });
    expect((await ask(service.url, '/login/api_key', undefined, { api_key })).status).toBe(200);
  });

  test('another service on the same folder is refused, and this one goes on', async () => {
    const other = await serviceFolder(dataDir);
    await expect(other.start()).rejects.toThrow(`the data folder ${dataDir} is in use by another process`);
    expect((await ask(service.url, '/healthcheck')).status).toBe(200);
  });

  test('the loss of Temporal is named, concerns only what needs it, and heals', async () => {
    const { api_key } = kept();
    const project = (await ask(service.url, '/projects', api_key, { name: 'without Temporal' })).body.id;
    const temporal = (await processTree(service.child.pid as number)).find(({ command }) => command.includes('start-dev'));
    process.kill(temporal?.pid as number, 'SIGSTOP'); // a killed one is back before anybody could look
    try {
      await expect.poll(async () => (await ask(service.url, '/healthcheck')).body.message).toContain('not answering: Temporal');
      expect((await ask(service.url, '/healthcheck')).status).toBe(200);
      expect((await ask(service.url, '/projects?limit=1', api_key)).status).toBe(200);
      const run = { name: 'waits', dataset: null };
      const experiment = (await ask(service.url, `/projects/${project}/experiments`, api_key, run)).body.id;
      const start = await ask(service.url, `/projects/${project}/experiments/${experiment}/run`, api_key, {
        runner: { kind: 'dataset_outputs' },
        records: [{ input: 'a', generated_output: 'b' }],
      });
      expect(start).toMatchObject({
        status: 503,
        retryAfter: expect.any(String),
        body: { detail: expect.stringContaining('Temporal') },
      });
    } finally {
      process.kill(temporal?.pid as number, 'SIGKILL');
    }
    await expect.poll(async () => (await ask(service.url, '/healthcheck')).body.message).toBe('ready');
  });

  test('SIGTERM ends it and its Temporal server cleanly', async () => {
    const processes = await processTree(service.child.pid as number);
    expect(processes.map(({ command }) => command).join()).toContain('start-dev');
    const began = performance.now();
    await service.kill('SIGTERM');
    expect(service.child.exitCode).toBe(0);
    console.log(`SIGTERM: ended after ${Math.round(performance.now() - began)} ms`);
    expect(await stillRunning(processes)).toEqual([]);
  });

  test('the second start knows its folder, closes it and does not show the credentials again', async () => {
    chmodSync(dataDir, 0o755); // as earlier releases left it
    const began = performance.now();
    service = await folder.start();
    console.log(`second start: ready after ${Math.round(performance.now() - began)} ms`);
    const { email, password, api_key } = kept();
    expect(service.output()).toContain(email);
    for (const secret of [password, api_key]) expect(service.output()).not.toContain(secret);
    expect((await ask(service.url, '/current_user', api_key)).status).toBe(200);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  test('SIGKILL leaves no process behind, and the folder starts again', async () => {
    const processes = await processTree(service.child.pid as number);
    await service.kill('SIGKILL');
    await untilGone(processes);
    service = await folder.start('npm');
    expect((await ask(service.url, '/current_user', kept().api_key)).status).toBe(200);
  });

  test('SIGKILL of npm alone leaves no process behind', async () => {
    const processes = await processTree(service.child.pid as number);
    expect(processes.map(({ command }) => command).join()).toMatch(/npm.*start\.ts.*start-dev/);
    await service.kill('SIGKILL');
    await untilGone(processes);
  });

  test('a key file that was damaged is named, and nothing starts', async () => {
    const path = join(dataDir, 'secret_keys');
    const before = readFileSync(path);
    writeFileSync(path, 'damaged');
    await expect(folder.start()).rejects.toThrow(`${path}, the key of the stored secrets, cannot be read`);
    writeFileSync(path, before);
  });
});

test('in a folder that another process has just taken nothing is started', async () => {
  const taken = join(temporary, 'taken');
  mkdirSync(taken, { mode: 0o700 });
  const lock = lockFolder(taken);
  try {
    const late = await serviceFolder(taken);
    await expect(late.start()).rejects.toThrow(`the data folder ${taken} is in use by another process`);
    expect(readdirSync(taken).filter((name) => name.startsWith('temporal'))).toEqual([]);
  } finally {
    lock.release();
  }
});

test('the administrator of ADMIN_* is created, and nothing of it is printed or kept', async () => {
  const own = join(temporary, 'own');
  const given = { ADMIN_EMAIL: 'ada@example.com', ADMIN_PASSWORD: 'Lovelace-1815', ADMIN_API_KEY: 'a-key-of-her-own-choice' };
  const service = await (await serviceFolder(own, given)).start();
  try {
    const login = await fetch(`${service.url}/login`, {
      method: 'POST',
      body: new URLSearchParams({ username: given.ADMIN_EMAIL, password: given.ADMIN_PASSWORD }),
    });
    expect(login.status).toBe(200);
    expect(await ask(service.url, '/current_user', given.ADMIN_API_KEY)).toMatchObject({ body: { email: given.ADMIN_EMAIL } });
    for (const secret of [given.ADMIN_PASSWORD, given.ADMIN_API_KEY]) expect(service.output()).not.toContain(secret);
    expect(() => statSync(join(own, 'credentials.json'))).toThrow('ENOENT');
  } finally {
    await service.kill('SIGTERM');
  }
});

describe('what cannot start says why in one sentence', () => {
  const nobody = 'http://127.0.0.1:1';
  const keys = `k1:${Buffer.alloc(32, 1).toString('base64')}`;
  type Case = [string, Record<string, string>, string];
  const cases: Case[] = [
    ['a wrong PORT', { PORT: 'abc' }, 'wrong settings: PORT must be a port number, 0 to 65535'],
    [
      'two wrong settings',
      { LOG_LEVEL: 'loud', CLICKHOUSE_URL: 'here' },
      'CLICKHOUSE_URL must be a URL that starts with http:// or https://; LOG_LEVEL must be one of trace',
    ],
    [
      'folders that are none',
      { RUNNERS_DIR: join(temporary, 'runners'), HANDLERS_DIR: import.meta.filename },
      'wrong settings: RUNNERS_DIR must be a folder that exists; HANDLERS_DIR must be a folder that exists',
    ],
    [
      'wrong settings of workers',
      { WORKER_QUEUES: 'rows,columns', WORKER_SLOTS: 'rows:0', WORKER_POLLERS: 'workflows:1', POSTGRES_CONNECTIONS: 'ten' },
      [
        'wrong settings: WORKER_QUEUES must be one or more of control, rows, scoring, maintenance, comma separated',
        'WORKER_SLOTS must be pairs of name:number, comma separated, of workflows, control, rows, scoring, maintenance, each 1 to 10000 (workflows: at least 2)',
        'WORKER_POLLERS must be pairs of name:number, comma separated, of workflows, control, rows, scoring, maintenance, each 1 to 100 (workflows: at least 2)',
        'POSTGRES_CONNECTIONS must be a number, 2 to 1000',
      ].join('; '),
    ],
    [
      'a build without its deployment',
      { TEMPORAL_BUILD_ID: '1' },
      'wrong settings: TEMPORAL_BUILD_ID needs TEMPORAL_DEPLOYMENT_NAME',
    ],
    ['a HOST that is not ours', { HOST: '192.0.2.1' }, 'HOST 192.0.2.1 is not an address of this machine'],
    ['no ClickHouse', { CLICKHOUSE_URL: nobody }, 'cannot reach ClickHouse at 127.0.0.1:1: start it or correct CLICKHOUSE_URL'],
    [
      'no Postgres',
      { DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/db' },
      'cannot reach Postgres at 127.0.0.1:1: start it or correct DATABASE_URL',
    ],
    ['no Redis', { REDIS_URL: 'redis://:secret@127.0.0.1:1' }, 'REDIS_URL: no Redis answers at redis://127.0.0.1:1'],
    ['no Temporal', { TEMPORAL_ADDRESS: '127.0.0.1:1' }, 'no Temporal server answers at 127.0.0.1:1'],
    ['SECRET_KEYS that are no keys', { SECRET_KEYS: 'k1:c2VjcmV0' }, 'SECRET_KEYS: the key "k1" has 6 bytes; it must have 32'],
    ['a folder that cannot be', { DATA_DIR: '/dev/null/assay' }, 'the data folder /dev/null/assay cannot be written'],
    // Where an existing folder says that it does not exist, a recursive mkdir never ends.
    ...(process.platform === 'linux'
      ? [['a folder in /proc', { DATA_DIR: '/proc/assay/data' }, 'the data folder /proc/assay/data cannot be written'] as Case]
      : []),
    [
      'a folder that holds other things',
      { DATA_DIR: ROOT },
      `the data folder ${ROOT} is open to other users and holds things of`,
    ],
    ['a network that is none', { OUTBOUND_ALLOW: '10.0.0.0/99' }, 'OUTBOUND_ALLOW'],
  ];
  let folders = 0;
  /** A data folder of its own whose Postgres is there: seven of the starts below get as far as that, and to create one takes 4 s of CPU. */
  const common = async () => {
    const folder = join(temporary, `refused ${folders++}`);
    await seedPostgres(join(folder, 'postgres'));
    return { DATA_DIR: folder, PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' };
  };
  const run = async (entry: string, environment: Record<string, string>) => {
    const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
    const child = spawn(process.execPath, [join(ROOT, entry)], {
      env: { PATH, HOME, NODE_COMPILE_CACHE, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 280_000,
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [status] = await once(child, 'close');
    return { status, stderr };
  };

  // Beside each other: most of them wait for somebody who does not answer.
  test.concurrent.each(cases)('%s', async (_what, environment, sentence) => {
    const { status, stderr } = await run('start.ts', { ...(await common()), ...environment });
    expect(stderr).toContain(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).not.toContain('secret@');
    expect(status).toBe(1);
  });

  test.runIf(process.getuid?.() === 0)('a folder of another user (only root can make one for the test)', async () => {
    const folder = join(temporary, 'theirs');
    mkdirSync(folder);
    chownSync(folder, 65_534, 65_534);
    const { status, stderr } = await run('start.ts', { ...(await common()), DATA_DIR: folder });
    expect(stderr).toBe(
      `the data folder ${folder} belongs to another user (id 65534), who can read and change what is in it: set DATA_DIR to a folder of your own\n`,
    );
    expect(status).toBe(1);
  });

  /** Starts the service beside a listener of this process; `environment` gets the listener's port. */
  async function startBeside(environment: (port: number) => Record<string, string>) {
    const listener = createServer((socket) => void socket.on('error', () => undefined).end('not TLS')).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { port: number };
    const { status, stderr } = await run('start.ts', { ...(await common()), ...environment(port) });
    listener.close();
    return { port, said: stderr, code: status };
  }

  test.concurrent('a server with a key for Temporal that does not speak TLS', async () => {
    const { port, said, code } = await startBeside((at) => ({ TEMPORAL_ADDRESS: `127.0.0.1:${at}`, TEMPORAL_API_KEY: 'key' }));
    expect(said).toMatch(new RegExp(`^no Temporal server answers at 127\\.0\\.0\\.1:${port}[^\n]*\n$`));
    expect(code).toBe(1);
  });

  // Each waits until the service has started as far as that port, beside two others.
  test.concurrent.each(['PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'])('a taken %s', async (name) => {
    const { port, said, code } = await startBeside((at) => ({ [name]: String(at) }));
    expect(said).toContain(`port ${port} on 127.0.0.1 is taken`);
    expect(said).toContain(`set ${name}`);
    expect(said.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });

  test.concurrent.each(['api/main.ts', 'workers/main.ts'])('%s without its servers', async (entry) => {
    const alone = await run(entry, { PORT: '0' });
    expect(alone.stderr).toBe(
      'not set: CLICKHOUSE_URL, DATABASE_URL, REDIS_URL, TEMPORAL_ADDRESS, SECRET_KEYS. A process of its own needs servers that it can share; "npm start" runs everything in one process without any\n',
    );
    expect(alone.status).toBe(1);
    const servers = {
      CLICKHOUSE_URL: nobody,
      DATABASE_URL: 'postgres://127.0.0.1:1',
      REDIS_URL: 'redis://127.0.0.1:1',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    };
    expect((await run(entry, { PORT: String(await ownPort()), ...servers })).stderr).toMatch(/^not set: SECRET_KEYS\./);
    expect((await run(entry, { PORT: '0', ...servers, SECRET_KEYS: keys })).stderr).toMatch(
      /^.*(CLICKHOUSE_URL|DATABASE_URL|REDIS_URL).*\n$/,
    );
  });
});
