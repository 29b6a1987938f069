import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { runExperiment } from '../../client/runExperiment.ts';
import { buildClient } from '../../tools/packages/buildClient.ts';
import { buildCommand } from '../../tools/packages/buildCommand.ts';
import { buildService } from '../../tools/packages/buildService.ts';
import { describeWithServer } from '../support/describeWithServer.ts';

// Packages are installed, from the network where no cache has them.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 1_800_000 });

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

let folder: string;
let clientPackage: string;
let clientTarball: string;
let commandPackage: string;
let node20: string;
let service: InstalledService;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-packages-'));
  clientPackage = join(folder, 'client');
  commandPackage = join(folder, 'cli');
  const servicePackage = join(folder, 'assay');
  [node20] = await Promise.all([installedNode('20.9.0'), buildClient(root, clientPackage)]);
  await buildCommand(root, commandPackage, clientPackage);
  await buildService(root, servicePackage, clientPackage);
  clientTarball = await packed(clientPackage);
  const runners = join(folder, 'runners');
  await mkdir(runners);
  await writeFile(join(runners, 'upper.js'), 'export default (input) => input.toUpperCase();');
  service = await installedService(await packed(servicePackage), { RUNNERS_DIR: runners });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

interface InstalledService {
  url: string;
  apiKey: string;
  /** Path of its data folder. */
  dataDir: string;
  client: ServiceClient;
  /** Ends it with SIGTERM. @returns its exit code */
  stop(): Promise<number | null>;
}

/** `npx assay start` in an empty folder, on a machine with Node.js 20. */
async function installedService(tarball: string, environment: Record<string, string>): Promise<InstalledService> {
  const path = await project('service', {}, [tarball]);
  const ports = { PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' };
  const child = spawn(node20, [join(path, 'node_modules/.bin/assay'), 'start'], {
    cwd: path,
    env: { ...process.env, ...ports, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      said += chunk;
      const [, found] = / {2}API docs +(\S+)\/docs$/m.exec(said) ?? [];
      if (found) resolve(found);
    });
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    child.once('close', (code) => reject(new Error(`assay start ended with ${code}: ${said}`)));
  });
  const dataDir = join(path, '.assay');
  const { api_key: apiKey } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')) as { api_key: string };
  const client = new ServiceClient({ apiUrl: url, apiKey });
  await client.send('/projects', { body: { name: 'first' } });
  return {
    ...{ url, apiKey, dataDir, client },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

async function installedNode(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  return join(await project(`node-${version}`, {}, [`${name}@${version}`]), 'node_modules', name, 'bin/node');
}

async function packed(path: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', path], { cwd: folder });
  return join(folder, (JSON.parse(stdout) as [{ filename: string }])[0].filename);
}

/** An empty project with these packages in it. */
async function project(name: string, files: Record<string, string>, packages: string[]): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text);
  if (!files['package.json']) await writeFile(join(path, 'package.json'), '{"private": true}');
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], { cwd: path });
  return path;
}

/** Returns what a program prints that reaches the service by its environment, as the README says. */
async function printed(cwd: string, program: string, args: string[]): Promise<string> {
  const env = { ...process.env, SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey };
  const { stdout, stderr } = await run(program, args, { cwd, env });
  expect(stderr).toBe('');
  return stdout;
}

/** `first.ts` of the README, and what it prints there. */
function example(): { source: string; output: string } {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const source = /^```ts\n(\/\/ first\.ts\n.*?)^```$/ms.exec(readme)?.[1] as string;
  const output = readme.slice(readme.indexOf('npx node first.ts')).match(/^```text\n(.*?)^```$/ms)?.[1] as string;
  return { source: source.replace('./client/index.ts', '@assay/client'), output };
}

/** The examples of the pages about the client, as modules. */
function pageExamples(): Record<string, string> {
  const pages = ['docs/client.md', 'docs/datasets.md', 'client/README.md'].map((path) => readFileSync(join(root, path), 'utf8'));
  const found = pages.flatMap((page) => [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code));
  expect(found.length).toBeGreaterThan(3);
  return Object.fromEntries(found.map((code, index) => [`example${index}.ts`, code]));
}

const asCommonJs = (source: string): string =>
  `${source.replace(/^import (.*) from ('.*');$/m, 'const $1 = require($2);\n(async () => {')}\n})();\n`;

/** The same version as this repository's. */
const like = (name: string): string => {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string };
  return `${name}@${version}`;
};

describe('the package of the client', () => {
  test('is small, depends on nothing, and has maps that lead to its sources', async () => {
    // Twice the code with its maps, for two module formats, with all that an editor shows of 100 operations: the declarations of zod would be a fifth more.
    expect((await stat(clientTarball)).size).toBeLessThanOrEqual(240 * 1024);
    const manifest = JSON.parse(await readFile(join(clientPackage, 'package.json'), 'utf8')) as object;
    expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
    const files = readdirSync(clientPackage);
    const text = (name: string) => readFileSync(join(clientPackage, name), 'utf8');
    for (const { code, types } of [
      { code: '.mjs', types: '.d.mts' },
      { code: '.js', types: '.d.ts' },
    ]) {
      const ofCode = files.filter((name) => name.endsWith(code));
      // The files for every runtime import nothing of Node; those for Node do so in one module alone.
      expect(ofCode.filter((name) => /['"]node:/.test(text(name).replace(/getBuiltinModule.*/g, '')))).toEqual([
        `asyncStorage${code}`,
      ]);
      const ofTypes = files.filter((name) => name.endsWith(types));
      expect(ofTypes).toContain(`index${types}`);
      expect(ofTypes.filter((name) => /\bfrom ?['"](?!\.\/)|\bimport ?\(?['"](?!\.\/)/.test(text(name)))).toEqual([]);
      for (const name of ofCode.filter((one) => one !== `asyncStorage${code}`)) {
        expect(files).toContain(`${name}.map`);
        const { sources } = JSON.parse(text(`${name}.map`)) as { sources: string[] };
        for (const source of sources) expect(source).toMatch(/\/(client|shared\/wire)\/\w+(\.portable)?\.ts$/);
      }
    }
  });

  test('is published as publint and attw want it', async () => {
    const program = (name: string) => join(root, 'node_modules/.bin', name);
    const lint = await run(program('publint'), ['run', '--strict', clientPackage]);
    expect(lint.stdout).toContain('All good!');
    const types = await run(program('attw'), [clientTarball, '--format', 'json']);
    expect(JSON.parse(types.stdout)).toMatchObject({ problems: {} });
  });

  test('runs the example of the README as an ES module and as CommonJS, on Node.js 20, too', async () => {
    const { source, output } = example();
    const script = stripTypeScriptTypes(source);
    const path = await project('scripts', { 'first.mjs': script, 'first.cjs': asCommonJs(script) }, [clientTarball]);
    for (const program of [process.execPath, node20])
      for (const file of ['first.mjs', 'first.cjs']) expect(await printed(path, program, [file])).toBe(output);
    const { exports } = JSON.parse(await readFile(join(clientPackage, 'package.json'), 'utf8')) as { exports: object };
    for (const entry of Object.keys(exports).filter((name) => name !== './package.json')) {
      const names = `((entry) => import(entry).then((esm) => console.log(Object.keys(esm).join() > '', Object.keys(esm).sort().join() === Object.keys(require(entry)).sort().join())))`;
      const imported = `${names}('${join('@assay/client', entry)}')`;
      expect(await printed(path, process.execPath, ['-e', imported])).toBe('true true\n');
    }
  });

  test.each([
    { name: 'with the types of Node.js', lib: ['es2022'], types: ['node'], packages: [like('@types/node')] },
    { name: 'with those of a browser', lib: ['es2022', 'dom'], types: [], packages: [] },
  ])('compiles in a strict project $name', async ({ name, lib, types, packages }) => {
    const { source, output } = example();
    const options = {
      ...{ strict: true, skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      ...{ noImplicitOverride: true, isolatedModules: true },
      ...{ module: 'nodenext', target: 'es2022', outDir: 'out', lib, types },
    };
    const path = await project(
      name.replaceAll(' ', '-'),
      {
        'package.json': '{"private": true, "type": "module"}',
        'tsconfig.json': JSON.stringify({ compilerOptions: options, include: ['*.ts', '*.cts'] }),
        'first.ts': source,
        ...(types.includes('node') ? pageExamples() : {}),
        'required.cts': `import client = require('@assay/client');\nexport const done: Promise<unknown> = client.getExperiments({ projectName: 'first' });\n`,
        'plain.ts': `import type { DatasetResponse, ExperimentResponse } from '@assay/client';
// An any would take both.
export const name = (experiment: ExperimentResponse, dataset: DatasetResponse): [string, string] => [experiment.name, dataset.name];
// @ts-expect-error
export const wrong = (experiment: ExperimentResponse): number => experiment.name;
`,
      },
      [clientTarball, like('typescript'), ...packages],
    );
    const compiled = await run('npx', ['tsc', '-p', '.'], { cwd: path }).catch((err: { stdout: string }) => err);
    expect(compiled.stdout).toBe('');
    expect(await printed(path, process.execPath, ['out/first.js'])).toBe(output);
  });

  test('can be bundled for Node.js and for a browser', async () => {
    const { source, output } = example();
    const path = await project('bundled', { 'first.ts': source }, [clientTarball, 'esbuild@0.28.2']);
    for (const platform of ['node', 'browser']) {
      const out = `${platform}.mjs`;
      const args = [
        'esbuild',
        'first.ts',
        '--bundle',
        '--format=esm',
        `--platform=${platform}`,
        `--outfile=${out}`,
        '--log-level=warning',
      ];
      // Messages of npm about its own settings do not concern the bundle.
      const { stdout, stderr } = await run('npx', ['--loglevel=error', ...args], { cwd: path });
      expect(stdout + stderr).toBe('');
      expect(await printed(path, process.execPath, [out])).toBe(output);
    }
    const used = `import { ValueError } from '@assay/client'; console.log(new ValueError('x').name);`;
    await writeFile(join(path, 'used.ts'), used);
    await run('npx', ['esbuild', 'used.ts', '--bundle', '--format=esm', '--platform=browser', '--outfile=used.mjs'], {
      cwd: path,
    });
    // Importing has no side effects: what is not used is left out.
    expect((await stat(join(path, 'used.mjs'))).size).toBeLessThan(1_000);
  });
});

const program = '/usr/bin/chromium';
describeWithServer('in a browser', { name: 'chromium', path: existsSync(program) ? program : undefined }, (executablePath) => {
  test('the client logs traces and reads experiments', async () => {
    const source = `
      import { getExperiments, log, Logger, ServiceClient } from '@assay/client';
      export async function look(apiUrl, apiKey, projectId) {
        const client = new ServiceClient({ apiUrl, apiKey });
        const logger = new Logger({ client, projectId, logStream: 'browser' });
        const shout = log({ kind: 'tool', name: 'shout' }, (text) => text.toUpperCase());
        await logger.trace('hello', () => shout('hello'));
        await logger.flush();
        return (await getExperiments({ client, projectId })).length;
      }`;
    const path = await project('page', { 'page.js': source }, [clientTarball, 'esbuild@0.28.2']);
    const args = ['esbuild', 'page.js', '--bundle', '--format=iife', '--global-name=assay', '--outfile=out.js'];
    await run('npx', args, { cwd: path });
    const { id } = await service.client.send<{ id: string }>('/projects', { body: { name: 'of a page' } });
    const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
    try {
      const page = await browser.newPage();
      await page.route(`${service.url}/page`, (route) =>
        route.fulfill({ contentType: 'text/html', body: '<title>page</title>' }),
      );
      await page.goto(`${service.url}/page`);
      await page.addScriptTag({ path: join(path, 'out.js') });
      const call = `assay.look(${JSON.stringify(service.url)}, ${JSON.stringify(service.apiKey)}, ${JSON.stringify(id)})`;
      expect(await page.evaluate(call)).toBe(0);
    } finally {
      await browser.close();
    }
    const streams = await service.client.send<{ id: string; name: string }[]>(`/projects/${id}/log_streams`);
    const search = { log_stream_id: streams.find(({ name }) => name === 'browser')?.id };
    expect(await service.client.send(`/v2/projects/${id}/spans/search`, { body: search })).toMatchObject({
      records: [{ type: 'tool', name: 'shout', input: 'hello', output: 'HELLO' }],
    });
  });
});

describe('the package of the command', () => {
  test('is small, and holds the licences of what is inside it', async () => {
    const path = await project('command-alone', {}, [await packed(commandPackage)]);
    const installed = readdirSync(join(path, 'node_modules'), { recursive: true, withFileTypes: true });
    const sizes = await Promise.all(
      installed.filter((file) => file.isFile()).map((file) => stat(join(file.parentPath, file.name))),
    );
    expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(5_000_000);
    expect(readdirSync(join(path, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@assay']);
    const licenses = await readFile(join(path, 'node_modules/@assay/cli/THIRD_PARTY_LICENSES'), 'utf8');
    for (const name of ['commander', 'zod', 'csv-parse', 'hyparquet'])
      expect(licenses).toContain(`${name} ${like(name).split('@').at(-1)}\n`);
  });

  test('runs and gates experiments of a service that is elsewhere, with Node.js 22.18, and says what start needs', async () => {
    const quality = `import { defineExperiment, log } from '@assay/client';
const shout = log({ kind: 'tool', name: 'shout' }, (text: string) => text.toUpperCase());
export default defineExperiment<string, string>({
  dataset: [{ input: 'a', output: 'A' }],
  function: (text) => shout(text),
  metrics: ['exact_match'],
  gate: { metrics: { exact_match: { min: 1 } } },
});
`;
    const path = await project('command', { 'quality.ts': quality, 'package.json': '{"private": true, "type": "module"}' }, [
      await packed(commandPackage),
    ]);
    const node22 = await installedNode('22.18.0');
    const script = `
      assay() { ${node22} node_modules/.bin/assay "$@"; }
      assay run quality.ts --project first > run.txt 2> progress.txt; echo $?
      assay gate quality --project first --min exact_match=1 > gate.txt; echo $?
      assay logs search --project first --experiment quality --kind span --json 2>/dev/null | grep -c '"shout"'
      assay start; echo $?
      ${process.execPath} --input-type=module -e "import { log } from '@assay/cli/client'; console.log(typeof log)"`;
    const env = {
      PATH: process.env.PATH,
      HOME: path,
      NO_COLOR: '1',
      SERVICE_API_URL: service.url,
      SERVICE_API_KEY: service.apiKey,
    };
    const { stdout, stderr } = await run('bash', ['-c', script], { cwd: path, env });
    expect(stdout.split('\n')).toEqual(['0', '0', '1', '1', 'function', '']);
    expect(stderr).toContain('the service is not installed here: the package assay has it');
  });
});

describe('the package of the service', () => {
  test('starts on any Node.js with its data in the folder, and runs what is a process of its own', async () => {
    expect(readdirSync(service.dataDir)).toEqual(expect.arrayContaining(['clickhouse', 'postgres', 'temporal.sqlite']));
    const { progress, experiment } = await runExperiment({
      client: service.client,
      projectName: 'first',
      experimentName: 'in a module',
      dataset: [{ input: 'hello', output: 'HELLO' }],
      module: 'upper',
      metrics: ['exact_match'],
    });
    expect([progress.rows_failed, experiment.aggregate_metrics.exact_match]).toEqual([0, 1]);
  });

  test('its command runs experiments, moves data and completes words, on Node.js 20 and of what is in the folder alone', async () => {
    const cwd = join(service.dataDir, '..');
    await writeFile(
      join(cwd, 'upper.mjs'),
      `export default { dataset: 'words', function: (input) => input.toUpperCase(), metrics: ['exact_match'] };`,
    );
    await writeFile(join(cwd, 'words.csv'), 'input,output\na,A\nb,x\n');
    const script = `
      set -e
      assay() { ${node20} node_modules/.bin/assay "$@"; }
      assay doctor > doctor.txt
      assay datasets import words.csv
      assay run upper.mjs --project first > run.txt 2> progress.txt
      grep exact_match run.txt | tr -s ' '
      assay logs search --project first --experiment upper --filter 'metrics/exact_match = true' --json | wc -l
      assay export --project first --experiment upper --output rows.parquet 2> said.txt
      assay datasets import rows.parquet --name rows | cut -d, -f1
      source <(assay completion bash)
      complete -p assay`;
    const { stdout } = await run('bash', ['-c', script], { cwd, env: { PATH: process.env.PATH, HOME: cwd, NO_COLOR: '1' } });
    expect(stdout.split('\n')).toEqual([
      ...['"words" has 2 rows (version 1), columns: input, output', 'exact_match 0.5 0 0.5 0.95 1 2', '1'],
      ...['"rows" has 2 rows (version 1)', 'complete -o default -F _assay assay', ''],
    ]);
  });

  test('ends with SIGTERM', async () => {
    expect(await service.stop()).toBe(0);
    await expect(fetch(service.url)).rejects.toThrow();
  });
});
