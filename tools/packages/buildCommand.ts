import { cpSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'tsdown';
import { clientEntries } from './clientEntries.ts';

/**
 * Makes the package `@assay/cli` in a folder: the command and the client, with everything that they need inside, so that a build which runs
 * experiments and gates installs 2 MB and no dependency. The service is the package `assay`.
 * @param root the checkout
 * @param client the package of the client, which has the declarations
 */
export async function buildCommand(root: string, to: string, client: string): Promise<void> {
  const entries = ['cli/main', ...Object.keys(clientEntries).map((name) => `client/${name}`)];
  const bundles = await build({
    config: false,
    cwd: root,
    entry: Object.fromEntries(entries.map((name) => [name, `${name}.ts`])),
    outDir: to,
    // The command imports what one of its subcommands needs when it runs, and the client is in it once.
    outputOptions: { chunkFileNames: 'parts/[name]-[hash].js', comments: false },
    outExtensions: () => ({ js: '.js' }),
    platform: 'node',
    target: 'node22.18',
    deps: { alwaysBundle: /^/, onlyBundle: false },
    dts: false,
    checks: { pluginTimings: false },
    logLevel: 'warn',
  });
  cpSync(join(root, 'bin'), join(to, 'bin'), { recursive: true });
  for (const path of globSync('*.d.mts', { cwd: client })) cpSync(join(client, path), join(to, 'client', path));
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'));
  const modules = bundles.flatMap(({ chunks }) => chunks.flatMap((chunk) => ('moduleIds' in chunk ? chunk.moduleIds : [])));
  writeFileSync(join(to, 'THIRD_PARTY_LICENSES'), licenses(modules));
  writeFileSync(join(to, 'README.md'), README);
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest(root), null, 2)}\n`);
}

const README = `# @assay/cli

\`assay\`, the command of Assay, with its client library: it runs experiments, gates builds, and reads and moves data of a service that runs elsewhere.

\`\`\`
npm install --save-dev @assay/cli
npx assay login --api-url https://assay.example.com
npx assay run quality.ts --project shop
\`\`\`

Needs Node.js 22.18 or newer. \`assay start\`, the service itself, needs the package \`assay\` beside it.
`;

/** The licences of the packages whose code is in the bundle, each under its name and version. */
function licenses(modules: string[]): string {
  const folders = new Set(modules.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? []));
  const parts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
    const file = ['LICENSE', 'LICENSE.md', 'license', 'LICENSE.txt'].find((one) => existsSync(join(folder, one)));
    if (!file) throw new Error(`${name} has no file with its licence (${license}): it may not be bundled`);
    return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  return parts.join(`\n${'-'.repeat(80)}\n\n`);
}

interface Manifest {
  name: string;
  version: string;
  license: string;
}

function manifest(root: string): object {
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  return {
    name: '@assay/cli',
    version,
    license,
    description: 'The command of Assay: runs experiments, gates builds and reads results of a service that runs elsewhere',
    type: 'module',
    bin: { assay: './bin/assay.js' },
    exports: {
      ...Object.fromEntries(
        Object.keys(clientEntries).map((name) => [
          name === 'index' ? './client' : `./client/${name}`,
          { types: `./client/${name}.d.mts`, default: `./client/${name}.js` },
        ]),
      ),
      './package.json': './package.json',
    },
    engines: { node: '>=22.18' },
  };
}
