import { ServiceClient } from '../../client/index.ts';
import { VERSION } from '../../shared/config/version.ts';
import { CommandError } from '../terminal/commandError.ts';
import { exitCodes } from '../terminal/exitCodes.ts';
import { quoted, type Terminal } from '../terminal/terminal.ts';
import { type FoundService, findService } from './findService.ts';

export interface ServiceOptions {
  apiUrl?: string;
}

/** Milliseconds for the first answer: what is there answers at once, and a firewall that drops packets never does. */
const FIRST_ANSWER_MS = 10_000;

/**
 * The client of the service that `findService` finds, after a look that one of this version answers there. What was found is put into the
 * environment, where the functions of an experiment file find it, too.
 * @throws CommandError that says what to do
 */
export async function connect(terminal: Terminal, options: ServiceOptions): Promise<ServiceClient> {
  const found = await findService(terminal, options.apiUrl);
  checkAddress(found);
  useCredentials(terminal, found);
  const problem = versionProblem(found.apiUrl, await checkService(found, terminal.signal));
  if (problem) throw new CommandError(exitCodes.unreachable, problem);
  return new ServiceClient({ apiUrl: found.apiUrl, logger: { warn: (line: string) => void terminal.stderr.write(`${line}\n`) } });
}

export function useCredentials({ environment }: Terminal, { apiUrl, credentials, credentialsFrom }: FoundService): void {
  environment.SERVICE_API_URL = apiUrl;
  if (!credentials)
    throw new CommandError(
      exitCodes.credentials,
      `no credentials for ${apiUrl}: log in with assay login --api-url ${quoted(apiUrl)}, or set SERVICE_API_KEY`,
    );
  if ('apiKey' in credentials) environment.SERVICE_API_KEY = credentials.apiKey;
  if ('token' in credentials) {
    if (Date.parse(credentials.expiresAt) <= Date.now())
      throw new CommandError(
        exitCodes.credentials,
        `your login at ${apiUrl} (kept in ${credentialsFrom}) expired at ${credentials.expiresAt}: log in again with assay login --api-url ${quoted(apiUrl)}`,
      );
    environment.SERVICE_JWT_TOKEN = credentials.token;
  }
}

export interface Look {
  version: string;
  message: string;
}

/** @throws CommandError where nothing answers, or nothing of ours. */
export async function checkService(
  { apiUrl, urlFrom }: Pick<FoundService, 'apiUrl' | 'urlFrom'>,
  signal: AbortSignal,
): Promise<Look> {
  checkAddress({ apiUrl, urlFrom });
  const unreachable = (message: string, cause?: unknown) => new CommandError(exitCodes.unreachable, message, { cause });
  const place = `${apiUrl} (from ${urlFrom})`;
  let response: Response;
  let text: string;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(FIRST_ANSWER_MS)]);
    response = await fetch(`${apiUrl}/healthcheck`, { signal: within });
    text = await response.text();
  } catch (err) {
    signal.throwIfAborted();
    throw unreachable(`no service answers at ${place}: start one with assay start, or name another with --api-url`, err);
  }
  const body = jsonOf(text) as { version?: unknown; message?: unknown; detail?: unknown } | undefined;
  if (response.status === 503)
    throw unreachable(
      `the service at ${place} is not ready (${String(body?.detail ?? 'it does not say why')}): try again in a moment`,
    );
  if (!response.ok || typeof body?.version !== 'string')
    throw unreachable(`what answers at ${place} is no Assay service: check the address, or name another with --api-url`);
  return { version: body.version, message: String(body.message) };
}

/** A release that changes the middle number while the first is 0, or the first one, may change what the command relies on. */
export function versionProblem(apiUrl: string, { version }: Look): string | undefined {
  if (promiseOf(version) === promiseOf(VERSION)) return undefined;
  return `the service at ${apiUrl} is version ${version} and this command ${VERSION}: use the command of version ${version}`;
}

const promiseOf = (version: string): string => {
  const [major, minor] = version.split('.');
  return major === '0' ? `0.${minor}` : String(major);
};

function checkAddress({ apiUrl, urlFrom }: Pick<FoundService, 'apiUrl' | 'urlFrom'>): void {
  if (!URL.canParse(apiUrl) || !/^https?:/.test(apiUrl))
    throw new CommandError(exitCodes.usage, `${apiUrl} (from ${urlFrom}) is no address: write it as http://host:port`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
