import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { buildClient } from '../../tools/packages/buildClient.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { startTestService, type TestService } from '../support/service.ts';

vi.setConfig({ testTimeout: 120_000 });

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

let folder: string;
let clientPackage: string;
let clientTarball: string;
let service: TestService;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-packages-'));
  clientPackage = join(folder, 'client');
  const [started] = await Promise.all([startTestService(), buildClient(root, clientPackage)]);
  service = started;
  clientTarball = await packed(clientPackage);
  await service.request('POST', '/projects', { name: 'first' });
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

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

/** What a program prints that reaches the service by its environment, as the README says. */
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

const asCommonJs = (source: string): string =>
  `${source.replace(/^import (.*) from ('.*');$/m, 'const $1 = require($2);\n(async () => {')}\n})();\n`;

/** The same version as this repository's. */
const like = (name: string): string => {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string };
  return `${name}@${version}`;
};

describe('the package of the client', () => {
  test('is small, depends on nothing, and has maps that lead to its sources', async () => {
    expect((await stat(clientTarball)).size).toBeLessThanOrEqual(60_000);
    const manifest = JSON.parse(await readFile(join(clientPackage, 'package.json'), 'utf8')) as object;
    expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
    for (const format of ['esm', 'cjs']) {
      const files = readdirSync(join(clientPackage, format));
      const text = (name: string) => readFileSync(join(clientPackage, format, name), 'utf8');
      // What every runtime loads needs nothing of Node; what Node loads has it in one module alone.
      expect(
        files.filter((name) => name.endsWith('.js') && /['"]node:/.test(text(name).replace(/getBuiltinModule.*/g, ''))),
      ).toEqual(['asyncStorage.js']);
      expect(
        files.filter((name) => name.endsWith('.d.ts') && /\bfrom ['"](?!\.\/)|\bimport\(['"](?!\.\/)/.test(text(name))),
      ).toEqual([]);
      for (const name of files.filter((one) => one.endsWith('.js') && one !== 'asyncStorage.js'))
        expect(files).toContain(`${name}.map`);
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
    const node20 = `node-${process.platform}-${process.arch}`;
    const path = await project('scripts', { 'first.mjs': script, 'first.cjs': asCommonJs(script) }, [
      clientTarball,
      `${node20}@20.9.0`,
    ]);
    const old = join(path, 'node_modules', node20, 'bin/node');
    for (const program of [process.execPath, old])
      for (const file of ['first.mjs', 'first.cjs']) expect(await printed(path, program, [file])).toBe(output);
    const both = `import('@assay/client').then((esm) => console.log(Object.keys(esm).sort().join() === Object.keys(require('@assay/client')).sort().join()))`;
    expect(await printed(path, process.execPath, ['-e', both])).toBe('true\n');
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
    const path = await project('bundled', { 'first.ts': source }, [clientTarball, like('esbuild')]);
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
      const { stdout, stderr } = await run('npx', args, { cwd: path });
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
    const path = await project('page', { 'page.js': source }, [clientTarball, like('esbuild')]);
    const args = ['esbuild', 'page.js', '--bundle', '--format=iife', '--global-name=assay', '--outfile=out.js'];
    await run('npx', args, { cwd: path });
    const { id } = await service.project();
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
    const streams = (await service.request('GET', `/projects/${id}/log_streams`)).body as { id: string; name: string }[];
    const search = { log_stream_id: streams.find(({ name }) => name === 'browser')?.id };
    const { body } = await service.request('POST', `/v2/projects/${id}/spans/search`, search);
    expect(body).toMatchObject({ records: [{ type: 'tool', name: 'shout', input: 'hello', output: 'HELLO' }] });
  });
});
