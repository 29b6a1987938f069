import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig, settingNames } from '../../shared/config/config.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { findProgram } from '../support/serverProcess.ts';

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const given = {
  SECRET_KEYS: 'k1:AAAA',
  ADMIN_EMAIL: 'admin@example.com',
  ADMIN_PASSWORD: 'eight characters',
  CLICKHOUSE_PASSWORD: 'of-clickhouse',
  POSTGRES_PASSWORD: 'of-postgres',
  REDIS_PASSWORD: 'of-redis',
};

describeWithServer('docker-compose.yml', { name: 'docker-compose', path: findProgram('docker-compose') }, (program) => {
  const config = async (environment: Record<string, string>) => {
    const { stdout } = await promisify(execFile)(program, ['--project-directory', '.', 'config'], {
      cwd: new URL('../..', import.meta.url),
      env: { PATH: process.env.PATH, ...environment },
    });
    return stdout;
  };

  test('is valid, and publishes ports on loopback only', async () => {
    const resolved = await config(given);
    const published =
      resolved
        .match(/^ {4}ports:\n(?: {4}- .+\n)+/gm)
        ?.join('')
        .match(/ {4}- .+/g) ?? [];
    expect(published).toHaveLength(2);
    for (const port of published) expect(port).toMatch(/ - 127\.0\.0\.1:\d+:\d+\/tcp$/);
  });

  test('bounds every service: no new privileges, memory, capabilities', async () => {
    const { services } = parse(await config(given)) as {
      services: Record<string, { security_opt?: string[]; cap_drop?: string[]; mem_limit?: string; read_only?: boolean }>;
    };
    expect(Object.keys(services).length).toBe(7);
    for (const [name, service] of Object.entries(services)) {
      expect([name, service.security_opt, service.cap_drop]).toEqual([name, ['no-new-privileges:true'], ['ALL']]);
      expect(service.mem_limit, name).toBeTruthy();
    }
    for (const ours of ['api', 'worker']) expect(services[ours]?.read_only).toBe(true);
  });

  test('hands what an operator sets to the API and the worker, and otherwise leaves the defaults', async () => {
    const set = {
      PUBLIC_URL: 'https://assay.example.com',
      TRUSTED_PROXIES: '10.0.0.0/8',
      BODIES_MB: '256',
      DATASET_ROWS: '1000',
    };
    const environments = async (environment: Record<string, string>) => {
      const { services } = parse(await config(environment)) as { services: Record<string, { environment: object }> };
      return ['api', 'worker'].map((name) => services[name]?.environment);
    };
    for (const environment of await environments({ ...given, ...set })) expect(environment).toMatchObject(set);
    const unset = Object.fromEntries(Object.keys(set).map((name) => [name, '']));
    for (const environment of await environments(given)) expect(environment).toMatchObject(unset);
    expect(readConfig(unset)).toEqual(readConfig({}));
  });

  test('takes what the documented command writes, which is another each time and never overwritten', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'assay-env-'));
    try {
      await mkdir(join(folder, 'docker'));
      await copyFile(new URL('../../docker/makeEnv.sh', import.meta.url), join(folder, 'docker/makeEnv.sh'));
      const make = () =>
        promisify(execFile)('sh', [join(folder, 'docker/makeEnv.sh')], {
          env: { PATH: process.env.PATH, ADMIN_EMAIL: 'admin@example.com' },
        });
      await make();
      const path = join(folder, '.env');
      const first = await readFile(path, 'utf8');
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      const written = Object.fromEntries(
        first
          .trim()
          .split('\n')
          .map((line) => line.split(/=(.*)/s).slice(0, 2)),
      );
      expect(Object.keys(written).sort()).toEqual(Object.keys(given).sort());
      expect(readConfig({ ADMIN_EMAIL: written.ADMIN_EMAIL, ADMIN_PASSWORD: written.ADMIN_PASSWORD })).toBeTruthy();
      const resolved = await config(written);
      for (const value of Object.values(written)) expect(resolved).toContain(value);
      await expect(make()).rejects.toMatchObject({ stderr: expect.stringContaining('there already') });
      await rm(path);
      await make();
      const again = await readFile(path, 'utf8');
      for (const value of Object.values(written)) if (value !== 'admin@example.com') expect(again).not.toContain(value);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test.each(Object.keys(given))('without %s it is refused by that name', async (name) => {
    const rest = Object.fromEntries(Object.entries(given).filter(([key]) => key !== name));
    await expect(config(rest)).rejects.toMatchObject({ stderr: expect.stringContaining(`set ${name} to `) });
  });
});

test('docker-compose.yml sets only settings that exist', async () => {
  const environment = /environment:\n((?: {4}.+\n)+)/.exec(await read('docker-compose.yml'))?.[1] ?? '';
  const names = [...environment.matchAll(/^ {4}(\w+):/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(5);
  expect(settingNames).toEqual(expect.arrayContaining(names));
});

test('the image holds every folder that its two commands import from', async () => {
  const copied = [...(await read('Dockerfile')).matchAll(/^COPY (\w+) \.\/\1$/gm)].map(([, folder]) => folder);
  const allowed = [...(await read('.dockerignore')).matchAll(/^!(\w+)$/gm)].map(([, folder]) => folder);
  const folders = [...new Set(copied)].sort();
  expect(folders).toEqual(allowed.sort());
  expect(folders).toEqual(['api', 'client', 'console', 'shared', 'workers', 'workflows']);
});

test('every way to start the service leads through the entry that has its settings', async () => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
  const [image, compose] = [await read('Dockerfile'), await read('docker-compose.yml')];
  const entries = { start: 'start.ts', demo: 'demo/main.ts', api: 'api/main.ts', worker: 'workers/main.ts' };
  for (const [name, entry] of Object.entries(entries)) {
    expect(scripts[name]).toBe(`exec node ${entry}`);
    expect(await read(entry)).toContain('\napplyNodeSettings(');
  }
  expect(image).toContain('CMD ["node", "api/main.ts"]');
  expect(compose).toContain('command: [node, workers/main.ts]');
});
