import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { usageError } from '../terminal/commandError.ts';
import type { Terminal } from '../terminal/terminal.ts';

const Login = z.union([
  z.object({ api_key: z.string() }),
  z.object({ token: z.string(), email: z.string(), expires_at: z.iso.datetime() }),
]);
/** How one service is logged in to. A token ends by itself. */
export type Login = z.output<typeof Login>;

const LoginFile = z.object({ current: z.string(), services: z.record(z.string(), Login) });
export type LoginFile = z.output<typeof LoginFile>;

export function loginPath({ environment }: Pick<Terminal, 'environment'>): string {
  const config = environment.XDG_CONFIG_HOME || (environment.APPDATA ?? join(environment.HOME || homedir(), '.config'));
  return join(config, 'assay', 'credentials.json');
}

/** @throws CommandError for a file that is not as `assay login` leaves it. */
export async function readLogins(path: string): Promise<LoginFile | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
  try {
    return LoginFile.parse(JSON.parse(text));
  } catch (cause) {
    throw usageError(`${path} is damaged: remove it and log in again with assay login`, { cause });
  }
}

/** Only its owner can read it, from its first byte on; a crash leaves the old one or the new one. */
export async function writeLogin(path: string, apiUrl: string, login: Login): Promise<void> {
  const known = await readLogins(path);
  const file: LoginFile = { current: apiUrl, services: { ...known?.services, [apiUrl]: login } };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${process.pid}`;
  await rm(fresh, { force: true });
  await writeFile(fresh, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await chmod(fresh, 0o600);
  await rename(fresh, path);
}
