import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newId } from '../shared/identifiers/ids.ts';

const project = join(import.meta.dirname, '..');
/** Workflow code is bundled from these: our own files, and the packages that npm has installed. */
const SOURCES = ['workflows', 'shared', 'node_modules/.package-lock.json'];
const KEPT_IN = join(project, 'node_modules/.cache/assay');
/** The package of the service has it, as its sources are. */
const BUILT = join(project, 'workflows/bundle.js');
/** Far more than the 2 MB that it has. */
const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;
/** Ends a file that was written to its end, whatever became of the machine since. */
const WHOLE = '\n// whole\n';

/**
 * The workflow code as the worker's sandbox loads it. Making it takes a second of CPU at every start, so it is kept beside the installed packages
 * under a name with a hash of its sources; where nothing can be kept, as in an image, it is made anew.
 */
export async function workflowBundle(folder = KEPT_IN): Promise<{ code: string }> {
  const built = await readFile(BUILT, 'utf8').catch(() => undefined);
  if (built !== undefined) return { code: built };
  const name = `workflows-${await fingerprint()}.js`;
  const kept = await readFile(join(folder, name), 'utf8').catch(() => '');
  if (kept.endsWith(WHOLE)) return { code: kept.slice(0, -WHOLE.length) };
  const code = await bundled();
  await keep(folder, name, code).catch(() => undefined);
  return { code };
}

/** Made by a process of its own: the bundler takes 60 MB that this one would not give back. */
async function bundled(): Promise<string> {
  const program = join(import.meta.dirname, 'bundleWorkflows.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program], { maxBuffer: MAX_BUNDLE_BYTES });
  return stdout;
}

async function keep(folder: string, name: string, code: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const unfinished = join(folder, `${newId()}.unfinished`);
  await writeFile(unfinished, code + WHOLE);
  await rename(unfinished, join(folder, name)); // another process may keep the same at this moment
  for (const other of await readdir(folder))
    if (other.startsWith('workflows-') && other !== name) await rm(join(folder, other), { force: true });
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    const at = join(project, source);
    const files = source.endsWith('.json')
      ? [at]
      : (await readdir(at, { recursive: true }))
          .filter((name) => name.endsWith('.ts'))
          .sort()
          .map((name) => join(at, name));
    const contents = await Promise.all(files.map((file) => readFile(file)));
    for (const [position, content] of contents.entries()) hash.update(`${files[position]} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 32);
}
