import { spawnSync } from 'node:child_process';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { childEnvironment, type Environment } from './childEnvironment.ts';

/** Options of a process that runs an operator's code, in the words of Node's `fork`. */
export interface CodeIsolation {
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
}

/** The user `nobody` of Linux. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** Code of the operator that runs in child processes. */
export interface OperatorCode {
  /** Name of the code for messages: `runner modules`. */
  what: string;
  /** The setting that names its folder. */
  setting: 'RUNNERS_DIR' | 'HANDLERS_DIR';
  /** Path of the program that loads it. */
  program: string;
}

/**
 * A runner module or a handler class sees no setting of the service, only the variables that `RUNNER_ENV` names. Where the service runs as root, its
 * process is another user's, who can read neither the environment of the service's processes nor its data folder.
 * @throws Error when the user of `RUNNER_USER` cannot read what the process needs
 */
export function codeIsolation(
  { what, setting, program }: OperatorCode,
  config: Pick<Config, 'RUNNER_ENV' | 'RUNNER_USER' | OperatorCode['setting']>,
  environment: Environment,
  log: Logger,
): CodeIsolation {
  // With Node's compile cache the process is ready in half the time.
  const env = childEnvironment(environment, ['NODE_COMPILE_CACHE', ...config.RUNNER_ENV]);
  const user = userOf(config);
  const folder = config[setting];
  if (folder === undefined || user === undefined || user.uid === 0) return { env };
  const { HOME: _, ...others } = env; // the service's own
  if (mayRead(user, program, folder)) return { env: others, ...user };
  const problem = `user ${user.uid} cannot read this service's program, or ${setting} ${folder}`;
  if (config.RUNNER_USER) throw new Error(`RUNNER_USER: ${problem}`);
  log.warn(`${problem}: ${what} run as root, and can read the service's environment and data. See RUNNER_USER`);
  return { env };
}

/** The user that runs code of others: the one of the setting, else another than root. */
const userOf = ({ RUNNER_USER }: Pick<Config, 'RUNNER_USER'>) => RUNNER_USER ?? (process.getuid?.() === 0 ? NOBODY : undefined);

/**
 * The user of a process with the code of users, which needs no file but these.
 * @throws Error when the user of `RUNNER_USER` cannot read them
 */
export function otherUser(
  config: Pick<Config, 'RUNNER_USER'>,
  { program, folders }: { program: string; folders: readonly string[] },
) {
  const user = userOf(config);
  if (user === undefined || user.uid === 0 || folders.every((folder) => mayRead(user, program, folder))) return user;
  if (config.RUNNER_USER) throw new Error(`RUNNER_USER: user ${user.uid} cannot read this service's program`);
  return undefined;
}

/** Tried by a process of that user, since rights of all folders above count. */
function mayRead(user: { uid: number; gid: number }, program: string, folder: string): boolean {
  const look = `const { accessSync, constants } = require('node:fs');
    accessSync(process.argv[1], constants.R_OK);
    accessSync(process.argv[2], constants.R_OK | constants.X_OK);`;
  return spawnSync(process.execPath, ['-e', look, program, folder], { ...user, env: {}, stdio: 'ignore' }).status === 0;
}
