import { readEnvironment } from '../../client/environment.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { findLocalService } from './localService.ts';
import { type Login, loginPath, readLogins } from './loginFile.ts';

/** The service that a command talks to, its credentials, and the source of both. */
export interface FoundService {
  apiUrl: string;
  urlFrom: string;
  credentials: ({ apiKey: string } | { token: string; expiresAt: string } | { ofEnvironment: true }) | undefined;
  credentialsFrom: string;
}

const LOCAL_API_URL = 'http://127.0.0.1:8088';
const credentialVariables = ['SERVICE_API_KEY', 'SERVICE_JWT_TOKEN'] as const;

/**
 * The nearest word counts: the command line, the environment, the local service of the current folder, the last login. Credentials are only ever
 * taken for the service that they were given for.
 */
export async function findService(terminal: Terminal, given: string | undefined): Promise<FoundService> {
  const { environment } = terminal;
  const [local, logins] = await Promise.all([findLocalService(terminal), readLogins(loginPath(terminal))]);
  const inEnvironment = (['SERVICE_API_URL', 'SERVICE_CONSOLE_URL'] as const).find((name) => environment[name]);
  const [apiUrl, urlFrom] = given
    ? [given, '--api-url']
    : inEnvironment
      ? [readEnvironment().apiUrl, inEnvironment]
      : local
        ? [local.url, local.folder]
        : logins
          ? [logins.current, loginPath(terminal)]
          : [LOCAL_API_URL, 'the default'];
  const url = normalized(apiUrl);
  const named = credentialVariables.find((name) => environment[name]);
  const byPassword = environment.SERVICE_USERNAME && environment.SERVICE_PASSWORD;
  if (named ?? byPassword)
    return {
      apiUrl: url,
      urlFrom,
      credentials: { ofEnvironment: true },
      credentialsFrom: environment.SERVICE_API_KEY ? 'SERVICE_API_KEY' : byPassword ? 'SERVICE_USERNAME' : (named as string),
    };
  if (local?.apiKey && isSame(local.url, url))
    return { apiUrl: url, urlFrom, credentials: { apiKey: local.apiKey }, credentialsFrom: local.folder };
  const login = Object.entries(logins?.services ?? {}).find(([one]) => isSame(one, url))?.[1];
  return {
    apiUrl: url,
    urlFrom,
    credentials: login && credentialsOf(login),
    credentialsFrom: login ? loginPath(terminal) : 'nowhere',
  };
}

const credentialsOf = (login: Login) =>
  'api_key' in login ? { apiKey: login.api_key } : { token: login.token, expiresAt: login.expires_at };

export const normalized = (url: string): string => url.replace(/\/+$/, '');

/** `localhost` and `127.0.0.1` are the same service. */
const isSame = (one: string, other: string): boolean =>
  normalized(one).replace('//localhost', '//127.0.0.1') === normalized(other).replace('//localhost', '//127.0.0.1');
