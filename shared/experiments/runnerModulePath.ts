import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../errors/errors.ts';

/**
 * Where a registered runner lies.
 * @param name as requests may give it: without separators
 * @throws ServiceError `Conflict` when no folder is configured, `NotFound` for an unknown name.
 */
export async function runnerModulePath(runnersDir: string | undefined, name: string): Promise<string> {
  if (!runnersDir) throw new ServiceError('Conflict', 'this service runs no registered runners: RUNNERS_DIR is not set');
  for (const file of /\.(ts|mts|js|mjs)$/.test(name) ? [name] : [`${name}.ts`, `${name}.js`, `${name}.mjs`]) {
    const path = join(runnersDir, file);
    const found = await access(path).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  throw new ServiceError('NotFound', `no runner "${name}" in RUNNERS_DIR`);
}
