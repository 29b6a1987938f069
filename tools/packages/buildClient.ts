import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'tsdown';
import { clientEntries } from './clientEntries.ts';
import { plainDeclarations } from './plainDeclarations.ts';

/**
 * Makes the package `@assay/client` in a folder, to be packed or installed from there: both module formats, each with its declarations and maps.
 * The files of CommonJS have the plain extensions, for resolvers that know no `exports`.
 * @param root the checkout
 */
export async function buildClient(root: string, to: string): Promise<void> {
  const entries = Object.keys(clientEntries);
  const modules = [...entries, 'asyncStorage', 'asyncStorage.portable'];
  const declarations = plainDeclarations(root);
  await build({
    config: false,
    cwd: root,
    entry: Object.fromEntries(modules.map((name) => [name, `client/${name}.ts`])),
    outDir: to,
    format: ['esm', 'cjs'],
    outExtensions: ({ format }) => (format === 'cjs' ? { js: '.js', dts: '.d.ts' } : { js: '.mjs', dts: '.d.mts' }),
    hash: false,
    platform: 'neutral',
    target: 'es2022',
    sourcemap: true,
    outputOptions: {
      comments: false,
      sourcemapExcludeSources: true,
      // A file of their own for the constants of the interface: a bundler then leaves them out where nothing needs them.
      codeSplitting: { groups: [{ name: 'wire', test: /\/shared\/.*(?<!\.d)\.ts$/ }] },
    },
    dts: { entry: entries.map((name) => `client/${name}.ts`) },
    // For `Symbol.asyncDispose`, in projects for older runtimes.
    banner: { dts: '/// <reference lib="esnext.disposable" />' },
    deps: { neverBundle: ['node:async_hooks'] },
    plugins: [asyncStorage],
    // Not in `plugins`, which the build of CommonJS's declarations leaves out.
    inputOptions: (options) => ({ ...options, plugins: [declarations, options.plugins] }),
    checks: { pluginTimings: false },
    logLevel: 'warn',
  });
  for (const path of globSync('*.d.{ts,mts}', { cwd: to })) {
    const file = join(to, path);
    // The bundler names maps of declarations, but writes none.
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/m, ''));
  }
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>;
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest({ version, license }), null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(to, 'LICENSE'));
  copyFileSync(join(root, 'client/README.md'), join(to, 'README.md'));
}

/** The module that differs between runtimes: the manifest says which is taken. */
const asyncStorage = {
  name: 'async-storage',
  resolveId: (source: string) => (source === './asyncStorage.ts' ? { id: '#asyncStorage', external: true } : null),
};

/** Both formats of a module, the types first as TypeScript wants them. */
const formats = (name: string) => ({
  import: { types: `./${name}.d.mts`, default: `./${name}.mjs` },
  require: { types: `./${name}.d.ts`, default: `./${name}.js` },
});

const manifest = (ofService: object) => ({
  name: '@assay/client',
  ...ofService,
  description: 'Client of Assay: log what an application of generative AI does, run experiments, read the results',
  type: 'commonjs',
  main: './index.js',
  module: './index.mjs',
  types: './index.d.ts',
  exports: {
    ...Object.fromEntries(Object.entries(clientEntries).map(([name, path]) => [path, formats(name)])),
    './package.json': './package.json',
  },
  imports: {
    '#asyncStorage': {
      node: { import: './asyncStorage.mjs', require: './asyncStorage.js' },
      default: { import: './asyncStorage.portable.mjs', require: './asyncStorage.portable.js' },
    },
  },
  sideEffects: false,
  engines: { node: '>=20' },
});
