import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../errors.ts';

/**
 * Where a registered runner lies. Names are plain: no separators, so nothing outside the folder can be named.
 * @throws ServiceError `Conflict` when no folder is configured, `BadRequest` for a name that is a path, `NotFound` for an unknown one.
 */
export async function runnerModulePath(runnersDir: string | undefined, name: string): Promise<string> {
  if (!runnersDir) throw new ServiceError('Conflict', 'this service runs no registered runners: RUNNERS_DIR is not set');
  if (!/^[\w-][\w.-]*$/.test(name))
    throw new ServiceError('BadRequest', 'a runner is named by its file name alone, without a path');
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
