import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { searchAttributes } from '../../shared/experiments/workflow.ts';
import { connectTemporal, connectTemporalWorker, ensureSearchAttributes } from '../../shared/stores/temporal/connect.ts';
import { startTemporalDevServer, type TemporalDevServer } from '../../shared/stores/temporal/devServer.ts';
import { defaultCacheDir, findTemporal } from '../../shared/stores/temporal/findTemporal.ts';
import { processIdentity } from '../../shared/stores/temporal/processIdentity.ts';
import { temporalArchive, temporalRelease, temporalVersion } from '../../shared/stores/temporal/temporalRelease.ts';

const cacheDir = defaultCacheDir(process.env.XDG_CACHE_HOME);
const owner = fileURLToPath(new URL('../support/temporalOwner.ts', import.meta.url));

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'assay-temporal-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function program(path: string, text: string): Promise<string> {
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

const aTemporal = 'echo "temporal version 9.9.9"';

const until = (condition: () => boolean | Promise<boolean>, what: string) =>
  expect.poll(condition, { message: what, interval: 25 }).toBe(true);

const isGone = async (pid: number) => (await processIdentity(pid, process.platform)) === undefined;

async function releases(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('finding a Temporal server', () => {
  const archiveName = temporalArchive(process.platform, process.arch);
  const pinned = (sha256: string | undefined): Record<string, string> => (sha256 === undefined ? {} : { [archiveName]: sha256 });
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  const nothing: RequestListener = (_request, response) => response.writeHead(404).end();

  async function find(options: {
    path?: string;
    dataDir?: string;
    cacheDir?: string;
    answer?: RequestListener;
    sha256?: string | undefined;
  }) {
    const asked: string[] = [];
    const progress: string[] = [];
    const downloads = await releases((request, response) => {
      asked.push(request.url ?? '');
      (options.answer ?? nothing)(request, response);
    });
    const found = await findTemporal({
      dataDir: options.dataDir ?? (await folder()),
      cacheDir: options.cacheDir ?? (await folder()),
      environment: { ...process.env, PATH: options.path },
      release: { downloads, sha256: 'sha256' in options ? pinned(options.sha256) : temporalRelease.sha256 },
      onProgress: (line) => progress.push(line),
    });
    return { found, asked, progress };
  }

  test('the one on PATH comes first, and a program of this name that is something else is passed over', async () => {
    const [other, right, cache] = [await folder(), await folder(), await folder()];
    const installed = await program(join(right, 'temporal'), aTemporal);
    const kept = await program(join(cache, `temporal-${temporalVersion}`), aTemporal);
    await program(join(other, 'temporal'), 'echo "a calendar"');
    expect((await find({ path: right, cacheDir: cache })).found).toBe(installed);
    const second = await find({ path: other, cacheDir: cache });
    expect(second.found).toBe(kept);
    expect(second.progress).toEqual([expect.stringContaining(join(other, 'temporal'))]);
  });

  test('the copy kept in the data folder comes before the one in the cache, and a broken copy is passed over', async () => {
    const [data, cache] = [await folder(), await folder()];
    const inData = await program(join(data, `temporal-${temporalVersion}`), aTemporal);
    const inCache = await program(join(cache, `temporal-${temporalVersion}`), aTemporal);
    expect((await find({ dataDir: data, cacheDir: cache })).found).toBe(inData);
    await writeFile(inData, 'half a file');
    const second = await find({ dataDir: data, cacheDir: cache });
    expect(second).toMatchObject({ found: inCache, asked: [] });
  });

  test('a download is unpacked and kept, so that the next start asks for none', async () => {
    const [source, cache] = [await folder(), await folder()];
    await program(join(source, 'temporal'), aTemporal);
    const archive = execFileSync('tar', ['-czf', '-', '-C', source, 'temporal']);
    const answer: RequestListener = (_request, response) => response.end(archive);
    const first = await find({ cacheDir: cache, answer, sha256: sha256(archive) });
    expect(first.found).toBe(join(cache, `temporal-${temporalVersion}`));
    expect(first.asked).toEqual([`/v${temporalVersion}/${archiveName}`]);
    expect(first.progress[0]).toContain('downloading');
    expect(await readdir(cache)).toEqual([`temporal-${temporalVersion}`]);
    expect((await find({ cacheDir: cache })).asked).toEqual([]);
  });

  test('a download with another checksum is neither unpacked nor run, and one without a known checksum is not asked for', async () => {
    const [source, cache, tools] = [await folder(), await folder(), await folder()];
    const hasRun = join(tools, 'has run');
    await program(join(source, 'temporal'), `touch '${hasRun}'; ${aTemporal}`);
    const archive = execFileSync('tar', ['-czf', '-', '-C', source, 'temporal']);
    await program(join(tools, 'go'), 'echo "no module proxy" >&2; exit 1');
    const refused = async (expected: string | undefined) => {
      let asked = 0;
      const answer: RequestListener = (_request, response) => {
        asked++;
        response.end(archive);
      };
      const reason = await find({ path: tools, cacheDir: cache, answer, sha256: expected }).then(
        () => undefined,
        (err: Error) => err.message,
      );
      return { reason, asked };
    };
    expect(await refused('0'.repeat(64))).toEqual({
      reason: expect.stringContaining(`has the SHA-256 checksum ${sha256(archive)}, not ${'0'.repeat(64)}`),
      asked: 1,
    });
    expect(await refused(undefined)).toEqual({
      reason: expect.stringContaining(`no checksum of ${archiveName} is known`),
      asked: 0,
    });
    expect(await readdir(tools)).toEqual(['go']);
    expect(await readdir(cache)).toEqual([]);
  });

  test('the checksums are those of the pinned version, for every platform that the service runs on', () => {
    const platforms = ['linux', 'darwin'].flatMap((platform) => ['x64', 'arm64'].map((arch) => temporalArchive(platform, arch)));
    expect(Object.keys(temporalRelease.sha256).sort()).toEqual(platforms.sort());
    for (const digest of Object.values(temporalRelease.sha256)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });

  test('without a download it is built with Go from the pinned module', async () => {
    const [tools, cache] = [await folder(), await folder()];
    // Stands in for the compiler (the real build takes minutes): writes what it was asked for to the file after -o.
    await program(
      join(tools, 'go'),
      `pwd >&2; while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\\n${aTemporal}\\n' > "$2"; /bin/chmod +x "$2"`,
    );
    const { found, progress } = await find({ path: tools, cacheDir: cache });
    expect(found).toBe(join(cache, `temporal-${temporalVersion}`));
    expect(progress).toEqual([
      expect.stringContaining('downloading'),
      expect.stringContaining('404'),
      expect.stringContaining('building'),
      expect.stringContaining('kept'),
    ]);
  });

  test('the pinned module builds the version that the code names', async () => {
    const module = await readFile(new URL('../../tools/temporal/go.mod', import.meta.url), 'utf8');
    expect(module).toContain('tool github.com/temporalio/cli/cmd/temporal');
    expect(module).toContain(`github.com/temporalio/cli v${temporalVersion} `);
  });

  test('when nothing works, one message says why and what to do, and no leftovers stay', async () => {
    const [tools, cache] = [await folder(), await folder()];
    await program(join(tools, 'go'), 'echo "no module proxy" >&2; exit 1');
    const refused = find({ path: tools, cacheDir: cache, answer: (_request, response) => response.end('not an archive') });
    await expect(refused).rejects.toMatchObject({ name: 'ServiceError', code: 'Unavailable' });
    await expect(refused).rejects.toThrow(/download: .*build: .*no module proxy.*install.*TEMPORAL_ADDRESS/);
    expect(await readdir(cache)).toEqual([]);
  });

  test('an interrupt ends a build at once, the compiler too', async () => {
    const [tools, cache] = [await folder(), await folder()];
    const pidFile = join(tools, 'pid');
    await program(join(tools, 'go'), `echo $$ > ${pidFile}; exec sleep 60`);
    const interrupt = new AbortController();
    const downloads = await releases(nothing);
    const finding = findTemporal({
      dataDir: cache,
      cacheDir: cache,
      environment: { ...process.env, PATH: `${tools}:/bin:/usr/bin` },
      release: { ...temporalRelease, downloads },
      onProgress: () => {},
      signal: interrupt.signal,
    });
    const refused = expect(finding).rejects.toMatchObject({ name: 'AbortError' });
    const compiler = async () => Number(await readFile(pidFile, 'utf8').catch(() => 0));
    await until(async () => (await compiler()) > 0, 'the compiler runs');
    const pid = await compiler();
    interrupt.abort();
    await refused;
    await until(() => isGone(pid), 'the compiler is gone');
  });
});

describe('a Temporal dev server', () => {
  let path: string;
  const said: string[] = [];
  const log = { info: (line: string) => said.push(line), warn: (line: string) => said.push(line) };
  const opened: string[] = [];

  beforeAll(async () => {
    const options = {
      dataDir: cacheDir,
      cacheDir,
      environment: process.env,
      release: temporalRelease,
      onProgress: (line: string) => console.info(line),
    };
    path = await findTemporal(options);
  }, 20 * 60_000);
  afterAll(() => Promise.all(opened.map((dir) => rm(dir, { recursive: true, force: true }))));

  async function dataFolder(): Promise<string> {
    const dataDir = await mkdtemp(join(tmpdir(), 'assay-temporal-'));
    opened.push(dataDir); // removed after the server's end, not before
    return dataDir;
  }

  async function start(dataDir: string, ports: { port?: number; uiPort?: number } = {}): Promise<TemporalDevServer> {
    const server = await startTemporalDevServer({
      path,
      dataDir,
      ip: '127.0.0.1',
      port: 0,
      uiPort: 0,
      namespace: 'assay-test',
      environment: process.env,
      log,
      ...ports,
    });
    onTestFinished(() => server.stop());
    return server;
  }

  async function connect(address: string) {
    const connected = await connectTemporal({ address, namespace: 'assay-test' });
    onTestFinished(() => connected.connection.close());
    return connected;
  }

  const startWorkflow = async (address: string, workflowId: string) => {
    const { client } = await connect(address);
    await client.workflow.start('aWorkflow', {
      workflowId,
      taskQueue: 'without-workers',
      searchAttributes: { AssayProject: ['p-1'], AssayExperiment: ['e-1'], AssayGroup: ['g-1'], AssayStatus: ['running'] },
    });
  };
  const workflowStatus = async (address: string, workflowId: string) => {
    const { client } = await connect(address);
    return (await client.workflow.getHandle(workflowId).describe()).status.name;
  };

  test('answers for its namespace, finds workflows by our search attributes, shows its pages, and is gone after stop', async () => {
    const server = await start(await dataFolder());
    const { connection, client } = await connect(server.address);
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: 'assay-test' });
    expect(namespaceInfo?.name).toBe('assay-test');
    expect(await ensureSearchAttributes(connection, 'assay-test')).toEqual([]);
    await startWorkflow(server.address, 'searched');
    await until(
      async () => (await client.workflow.count("AssayExperiment = 'e-1' AND AssayStatus = 'running'")).count === 1,
      'found by attribute',
    );
    expect((await fetch(server.uiUrl)).status).toBe(200);
    await (await connectTemporalWorker({ address: server.address })).close();
    const { pid, watchdogPid } = server;
    await server.stop();
    await server.exited;
    expect([await isGone(pid), await isGone(watchdogPid)]).toEqual([true, true]);
  });

  test('a namespace that the server lacks is named with TEMPORAL_NAMESPACE', async () => {
    const server = await start(await dataFolder());
    await expect(connectTemporal({ address: server.address, namespace: 'elsewhere' })).rejects.toThrow(
      /no namespace elsewhere: .*TEMPORAL_NAMESPACE/,
    );
  });

  test('search attributes are added to a namespace that lacks them', async () => {
    const server = await start(await dataFolder());
    const { connection } = await connect(server.address);
    await connection.operatorService.removeSearchAttributes({
      namespace: 'assay-test',
      searchAttributes: Object.keys(searchAttributes),
    });
    expect(await ensureSearchAttributes(connection, 'assay-test')).toEqual([]);
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'assay-test' });
    expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(Object.keys(searchAttributes)));
  });

  test('a second start on the same folder keeps what the first one stored', async () => {
    const dataDir = await dataFolder();
    const first = await start(dataDir);
    await startWorkflow(first.address, 'kept');
    await first.stop();
    const second = await start(dataDir);
    expect(await workflowStatus(second.address, 'kept')).toBe('RUNNING');
  });

  test('a folder that a live process uses is refused', async () => {
    const dataDir = await dataFolder();
    await start(dataDir);
    await expect(start(dataDir)).rejects.toThrow(new RegExp(`process ${process.pid} already runs.*DATA_DIR`));
  });

  test.each([
    ['port', 'TEMPORAL_PORT'],
    ['uiPort', 'TEMPORAL_UI_PORT'],
  ])('a taken %s is named in one sentence with %s', async (option, variable) => {
    const taken = Number(new URL(await releases((_request, response) => response.end())).port);
    const refused = start(await dataFolder(), { [option]: taken });
    await expect(refused).rejects.toThrow(new RegExp(`^port ${taken} on 127.0.0.1 is taken: .*${variable}`));
  });

  test('a server that dies at its start is reported with the end of its log', async () => {
    const dataDir = await dataFolder();
    const other = new DatabaseSync(join(dataDir, 'temporal.sqlite')); // tables, but none of Temporal's
    other.exec('CREATE TABLE other (x)');
    other.close();
    await expect(start(dataDir)).rejects.toThrow(/ended at its start \(exit code 1\).*temporal\.log:\n.+/s);
    expect(await readdir(dataDir)).not.toContain('temporal-state.json');
  });

  test('killed alone, the server comes back on the same port with what it had', async () => {
    const server = await start(await dataFolder());
    await startWorkflow(server.address, 'healed');
    const killed = server.pid;
    process.kill(killed, 'SIGKILL');
    await until(() => server.pid !== killed, 'a new server');
    expect(await workflowStatus(server.address, 'healed')).toBe('RUNNING');
  });

  test('a killed guard is replaced, the server goes on, and ends with the new guard', async () => {
    const server = await start(await dataFolder());
    const { pid, watchdogPid } = server;
    process.kill(watchdogPid, 'SIGKILL');
    await until(() => server.watchdogPid !== watchdogPid, 'a new guard');
    expect(server.pid).toBe(pid);
    const replaced = server.watchdogPid;
    await server.stop();
    expect([await isGone(pid), await isGone(replaced)]).toEqual([true, true]);
  });

  async function startOwner(dataDir: string) {
    const child = spawn(process.execPath, [owner, dataDir, cacheDir], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return { child, ...(JSON.parse(line) as { address: string; serverPid: number; watchdogPid: number }) };
  }

  test.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '5 s after %s of the process that started it nothing is left',
    async (signal) => {
      const goneAfter = async () => {
        const { child, serverPid, watchdogPid } = await startOwner(await dataFolder());
        const killed = performance.now();
        child.kill(signal);
        await until(async () => (await isGone(serverPid)) && (await isGone(watchdogPid)), 'server and guard are gone');
        return performance.now() - killed;
      };
      // A machine that stalls may take longer now and then.
      let soonest = await goneAfter();
      for (let tries = 1; tries < 3 && soonest >= 5_000; tries++) soonest = Math.min(soonest, await goneAfter());
      expect(soonest).toBeLessThan(5_000);
    },
  );

  test('a killed guard and then a killed owner leave nothing either', async () => {
    const { child, serverPid, watchdogPid } = await startOwner(await dataFolder());
    process.kill(watchdogPid, 'SIGKILL');
    const ofOwner = () =>
      execFileSync('ps', ['-o', 'pid=', '--ppid', `${child.pid}`], { encoding: 'utf8' })
        .split('\n')
        .map(Number);
    const hasNext = () => ofOwner().some((pid) => pid !== 0 && pid !== serverPid && pid !== watchdogPid);
    await until(async () => (await isGone(watchdogPid)) && hasNext(), 'the next guard is there');
    child.kill('SIGKILL');
    await until(() => isGone(serverPid), 'the server is gone');
  });

  test('a server left by a kill of owner and guard together is ended by the next start', async () => {
    const dataDir = await dataFolder();
    const { child, serverPid, watchdogPid } = await startOwner(dataDir);
    process.kill(child.pid ?? 0, 'SIGSTOP'); // so that it cannot replace its guard in between
    process.kill(watchdogPid, 'SIGKILL');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await isGone(serverPid)).toBe(false);
    await start(dataDir);
    expect(await isGone(serverPid)).toBe(true);
    expect(said).toContainEqual(expect.stringContaining(`process ${serverPid}`));
  });
});

test('a dead address is one sentence that names TEMPORAL_ADDRESS', async () => {
  const address = new URL(await releases((_request, response) => response.end())).host; // answers, but not as Temporal does
  const each = [address, '127.0.0.1:1'].flatMap((dead) =>
    [connectTemporal({ address: dead, namespace: 'default' }), connectTemporalWorker({ address: dead })].map((connecting) =>
      expect(connecting).rejects.toThrow(new RegExp(`^no Temporal server answers at ${dead}: .*TEMPORAL_ADDRESS`)),
    ),
  );
  await Promise.all(each);
});

test('a process is known by start time and command line, from /proc and from ps', async () => {
  const child = spawn('/bin/sleep', ['61'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  for (const platform of [process.platform, 'darwin' as const]) {
    const identify = () => processIdentity(child.pid ?? 0, platform);
    // A process that was begun just now has no command line for a moment, also when `spawn` has returned.
    await expect.poll(identify).toEqual({ startedAt: expect.stringMatching(/\d/), command: '/bin/sleep 61' });
    expect(await identify()).toEqual(await identify());
  }
  child.kill('SIGKILL');
  await once(child, 'exit');
  for (const platform of [process.platform, 'darwin' as const])
    expect(await processIdentity(child.pid ?? 0, platform)).toBeUndefined();
});
