import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModuleFormat, Plugin } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import ts from 'typescript';
import { type Bundled, bundleParts } from './bundleParts.ts';
import { clientEntries } from './clientEntries.ts';

/** Those that resolvers which know no `exports` find by a folder. */
const further = Object.keys(clientEntries).filter((name) => name !== 'index');

const formats: Record<string, ModuleFormat> = { esm: 'es', cjs: 'cjs' };

/**
 * Makes the package `@assay/client` in a folder, to be packed or installed from there: both module formats, each with its declarations and maps.
 * @param root the checkout
 * @param declarations those of the client
 */
export async function buildClient(root: string, to: string, declarations: ReadonlyMap<string, string>): Promise<void> {
  const client = join(root, 'client');
  const code = await bundleParts(compiled(client), formats);
  for (const [path, text] of code)
    if (path.startsWith('cjs/')) code.set(path, text.replaceAll("'#asyncStorage'", "'./asyncStorage.js'"));
  code.set('cjs/asyncStorage.js', CHOICE_AT_RUN_TIME);
  code.delete('cjs/asyncStorage.js.map');
  const types = await bundleParts(declared(declarations), { esm: 'es', cjs: 'es' });
  rmSync(to, { recursive: true, force: true });
  for (const folder of ['esm', 'cjs']) mkdirSync(join(to, folder), { recursive: true });
  for (const [path, text] of code) writeFileSync(join(to, path), text);
  for (const [path, text] of types) writeFileSync(join(to, path), withLibraries(text));
  for (const name of further) {
    mkdirSync(join(to, name));
    writeFileSync(join(to, name, 'package.json'), json({ main: `../cjs/${name}.js`, types: `../cjs/${name}.d.ts` }));
  }
  writeFileSync(join(to, 'cjs/package.json'), json({ type: 'commonjs', sideEffects: false }));
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>;
  writeFileSync(join(to, 'package.json'), json(manifest({ version, license })));
  // The notice of the licence with its address: the whole text would be a fifteenth of the package.
  const notice = readFileSync(join(root, 'LICENSE'), 'utf8').split(/^ *(?=Licensed under the Apache License)/m)[1] as string;
  writeFileSync(join(to, 'LICENSE'), notice.replaceAll(/^ {3}/gm, ''));
  copyFileSync(join(client, 'README.md'), join(to, 'README.md'));
}

/** A folder with a format of its own has no `imports`, and CommonJS can look for a module when it runs. */
const CHOICE_AT_RUN_TIME = `'use strict';
let found;
try {
  found = require('node:async_hooks');
} catch {
  found = require('./asyncStorage.portable.js');
}
exports.AsyncLocalStorage = found.AsyncLocalStorage;
`;

/** Adds references to the libraries that a project for older runtimes does not load by itself. */
const withLibraries = (declaration: string): string =>
  declaration.includes('Symbol.asyncDispose') ? `/// <reference lib="esnext.disposable" />\n${declaration}` : declaration;

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const manifest = (ofService: object) => ({
  name: '@assay/client',
  ...ofService,
  description: 'Client of Assay: log what an application of generative AI does, run experiments, read the results',
  type: 'module',
  main: './cjs/index.js',
  module: './esm/index.js',
  types: './esm/index.d.ts',
  exports: {
    ...Object.fromEntries(
      Object.entries(clientEntries).map(([name, path]) => [
        path,
        {
          import: { types: `./esm/${name}.d.ts`, default: `./esm/${name}.js` },
          require: { types: `./cjs/${name}.d.ts`, default: `./cjs/${name}.js` },
        },
      ]),
    ),
    './package.json': './package.json',
  },
  // The module that differs between runtimes.
  imports: { '#asyncStorage': { node: './esm/asyncStorage.js', default: './esm/asyncStorage.portable.js' } },
  sideEffects: false,
  files: ['esm', 'cjs', ...further],
  engines: { node: '>=20' },
});

function compiled(folder: string): Bundled {
  const plugin: Plugin = {
    name: 'compiled',
    resolveId: (source, importer) => {
      if (!importer) return null;
      if (source === './asyncStorage.ts') return { id: '#asyncStorage', external: true };
      return source.startsWith('node:') ? { id: source, external: true } : null;
    },
    transform(code, id) {
      const { outputText, sourceMapText } = ts.transpileModule(code, {
        fileName: id,
        compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, removeComments: true, sourceMap: true },
      });
      return { code: outputText, map: sourceMapText ?? null };
    },
  };
  const names = [...Object.keys(clientEntries), 'asyncStorage', 'asyncStorage.portable'];
  const input = Object.fromEntries(names.map((name) => [name, join(folder, `${name}.ts`)]));
  return { input, plugins: [plugin], extension: '.js' };
}

function declared(declarations: ReadonlyMap<string, string>): Bundled {
  const pathOf = (name: string) => `/declarations/${name}.d.ts`;
  const plugin: Plugin = {
    name: 'declared',
    resolveId: (source) => pathOf(source.replace(/^.*\/|\.(js|d\.ts)$/g, '')),
    load: (id) => declarations.get(id.slice('/declarations/'.length)) ?? null,
  };
  const input = Object.fromEntries(Object.keys(clientEntries).map((name) => [name, pathOf(name)]));
  return { input, plugins: [plugin, dts()], extension: '.d.ts' };
}
