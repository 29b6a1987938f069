import { execFile } from 'node:child_process';
import { existsSync, globSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
/** Files that the console is built from: its own source, and the code that it shares with the client and the command. */
const SOURCES = [
  'console/{src/**/*,index.html,vite.config.ts}',
  'client/*.ts',
  'shared/{figures,filterText,records,wire}/*.ts',
  'package-lock.json',
];
const BUILDER = join(ROOT, 'node_modules/vite/bin/vite.js');
const BUILT = join(ROOT, 'console/dist');
const STAMP = join(BUILT, 'built');

/**
 * Builds the console in a checkout whose sources are newer than the last build, which takes a few seconds. An image and a package have it built.
 * @param say a line for the person who waits
 * @throws Error with what the builder said
 */
export async function buildConsole(say: (line: string) => void): Promise<void> {
  if (!existsSync(join(ROOT, 'console/src')) || !existsSync(BUILDER) || isUpToDate()) return;
  const [began, begunAt] = [performance.now(), Date.now()];
  await promisify(execFile)(process.execPath, [BUILDER, 'build', '-c', 'console/vite.config.ts'], { cwd: ROOT });
  const before = globSync('assets/*', { cwd: BUILT }).map((file) => join(BUILT, file));
  for (const file of before)
    if ((statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? begunAt) < begunAt) rmSync(file, { force: true });
  writeFileSync(STAMP, '');
  say(`The console was built in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
}

function isUpToDate(): boolean {
  const built = statSync(STAMP, { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return false;
  return globSync(SOURCES, { cwd: ROOT }).every((file) => statSync(join(ROOT, file)).mtimeMs <= built);
}
