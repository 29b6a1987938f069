import type { z } from 'zod';
import { HttpStatusError, ServiceClient } from '../../client/index.ts';
import type { Token, User } from '../../shared/wire/accounts.ts';
import { checkService, type ServiceOptions, versionProblem } from '../credentials/connect.ts';
import { findService } from '../credentials/findService.ts';
import { findLocalService } from '../credentials/localService.ts';
import { type Login, loginPath, writeLogin } from '../credentials/loginFile.ts';
import { askSecret } from '../terminal/askSecret.ts';
import { CommandError } from '../terminal/commandError.ts';
import { exitCodes } from '../terminal/exitCodes.ts';
import { remark, say, sayJson, type Terminal } from '../terminal/terminal.ts';

export interface LoginOptions extends ServiceOptions {
  email?: string;
  json?: boolean;
}

/** Keeps credentials that the service has accepted, and no others. */
export async function login(terminal: Terminal, options: LoginOptions): Promise<void> {
  const found = await findService(terminal, options.apiUrl);
  const { apiUrl } = found;
  const problem = versionProblem(apiUrl, await checkService(found, terminal.signal));
  if (problem) throw new CommandError(exitCodes.unreachable, problem);
  const kept = options.email
    ? await byPassword(apiUrl, options.email, await askSecret(terminal, `Password of ${options.email} at ${apiUrl}: `))
    : await byKey(terminal, apiUrl, await askSecret(terminal, `API key for ${apiUrl}: `));
  const path = loginPath(terminal);
  await writeLogin(path, apiUrl, kept.login);
  const expiresAt = 'expires_at' in kept.login ? kept.login.expires_at : null;
  if (options.json) await sayJson(terminal, { api_url: apiUrl, email: kept.email, expires_at: expiresAt, file: path });
  else await say(terminal, `Logged in to ${apiUrl} as ${kept.email}${expiresAt ? ` until ${expiresAt}` : ''}; kept in ${path}`);
  await remarkWhatWins(terminal, apiUrl);
}

async function byKey(terminal: Terminal, apiUrl: string, apiKey: string): Promise<{ login: Login; email: string }> {
  try {
    const client = new ServiceClient({ apiUrl, apiKey });
    const { email } = await client.send<z.output<typeof User>>('/current_user', { signal: terminal.signal });
    return { login: { api_key: apiKey }, email };
  } catch (err) {
    if (err instanceof HttpStatusError && err.status === 401)
      throw new CommandError(exitCodes.credentials, `${apiUrl} does not know this API key: check that all of it was given`, {
        cause: err,
      });
    // A key for one project belongs to no session of a user.
    if (err instanceof HttpStatusError && err.status === 403)
      return { login: { api_key: apiKey }, email: 'a key of one project' };
    throw err;
  }
}

async function byPassword(apiUrl: string, email: string, password: string): Promise<{ login: Login; email: string }> {
  const response = await fetch(`${apiUrl}/login`, { method: 'POST', body: new URLSearchParams({ username: email, password }) });
  const body = (await response.json().catch(() => ({}))) as Partial<z.output<typeof Token>> & { detail?: unknown };
  if (response.status === 401)
    throw new CommandError(exitCodes.credentials, `${apiUrl} does not accept this e-mail address and password: try again`);
  if (response.status === 429)
    throw new CommandError(
      exitCodes.credentials,
      `too many failed logins: wait ${response.headers.get('retry-after') ?? 'some'} seconds, then try again`,
    );
  if (!response.ok || !body.access_token)
    throw new CommandError(
      exitCodes.failed,
      `${apiUrl} answered the login with ${response.status}: try again, or use an API key`,
    );
  return { login: { token: body.access_token, email, expires_at: endOf(body.access_token) }, email };
}

function endOf(token: string): string {
  const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number };
  return new Date(payload.exp * 1_000).toISOString();
}

/** Warns of a login that the next command would not use. */
async function remarkWhatWins(terminal: Terminal, apiUrl: string): Promise<void> {
  const local = await findLocalService(terminal);
  const now = await findService(terminal, undefined);
  if (now.apiUrl !== apiUrl && local && now.apiUrl === local.url)
    await remark(
      terminal,
      `In this folder the local service at ${local.url} goes first: add --api-url ${apiUrl} to reach the other.`,
    );
  else if (now.apiUrl !== apiUrl) await remark(terminal, `${now.urlFrom} is set and goes first: unset it to use this login.`);
  else if (now.credentials && 'ofEnvironment' in now.credentials)
    await remark(terminal, `${now.credentialsFrom} is set and goes first: unset it to use this login.`);
}
