import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { childEnvironment, type Environment } from '../../shared/childEnvironment.ts';
import type { Config } from '../../shared/config.ts';

/** What a runner module's process is started with, in the words of Node's `fork`. */
export interface ModuleIsolation {
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
}

/** `nobody` on Linux. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/**
 * A module sees no setting of the service, only the variables that `RUNNER_ENV` names. Where the service runs as root, the module's process is
 * another user's, who can read neither the environment of the service's processes nor its data folder.
 * @throws Error when the user of `RUNNER_USER` cannot read what a module's process needs
 */
export function moduleIsolation(
  { RUNNER_ENV, RUNNER_USER, RUNNERS_DIR }: Pick<Config, 'RUNNER_ENV' | 'RUNNER_USER' | 'RUNNERS_DIR'>,
  environment: Environment,
  log: Logger,
): ModuleIsolation {
  // With Node's compile cache the process is ready in half the time.
  const env = childEnvironment(environment, ['NODE_COMPILE_CACHE', ...RUNNER_ENV]);
  const user = RUNNER_USER ?? (process.getuid?.() === 0 ? NOBODY : undefined);
  if (RUNNERS_DIR === undefined || user === undefined || user.uid === 0) return { env };
  const { HOME: _, ...others } = env; // the service's own
  if (mayRead(user, RUNNERS_DIR)) return { env: others, ...user };
  const problem = `user ${user.uid} cannot read this service's program, or RUNNERS_DIR ${RUNNERS_DIR}`;
  if (RUNNER_USER) throw new Error(`RUNNER_USER: ${problem}`);
  log.warn(`${problem}: runner modules run as root, and can read the service's environment and data. See RUNNER_USER`);
  return { env };
}

/** Tried by a process of that user, since rights of all folders above count. */
function mayRead(user: { uid: number; gid: number }, runnersDir: string): boolean {
  const look = `const { accessSync, constants } = require('node:fs');
    accessSync(process.argv[1], constants.R_OK);
    accessSync(process.argv[2], constants.R_OK | constants.X_OK);`;
  const program = join(import.meta.dirname, 'moduleHost.ts');
  return spawnSync(process.execPath, ['-e', look, program, runnersDir], { ...user, env: {}, stdio: 'ignore' }).status === 0;
}
