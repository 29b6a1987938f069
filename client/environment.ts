/** The variables that the client understands; read when an operation needs one, never at import. */
export interface Environment {
  apiUrl: string;
  /** Where people look at results. */
  consoleUrl: string | undefined;
  apiKey: string | undefined;
  username: string | undefined;
  password: string | undefined;
  /** An access token made elsewhere. */
  token: string | undefined;
  /** JSON text: an object of header names and values. */
  extraHeaders: string | undefined;
  project: string | undefined;
  projectId: string | undefined;
  logStream: string | undefined;
  logStreamId: string | undefined;
}

const LOCAL_API_URL = 'http://localhost:8088';

/** A browser has none. */
export const processVariables = (): Record<string, string | undefined> => globalThis.process?.env ?? {};

export function readEnvironment(): Environment {
  const environment = processVariables();
  const value = (name: string) => environment[name] || undefined;
  const consoleUrl = value('SERVICE_CONSOLE_URL');
  return {
    apiUrl: value('SERVICE_API_URL') ?? (consoleUrl ? apiBeside(consoleUrl) : LOCAL_API_URL),
    consoleUrl,
    apiKey: value('SERVICE_API_KEY'),
    username: value('SERVICE_USERNAME'),
    password: value('SERVICE_PASSWORD'),
    token: value('SERVICE_JWT_TOKEN'),
    extraHeaders: value('SERVICE_EXTRA_HEADERS'),
    project: value('SERVICE_PROJECT'),
    projectId: value('SERVICE_PROJECT_ID'),
    logStream: value('SERVICE_LOG_STREAM'),
    logStreamId: value('SERVICE_LOG_STREAM_ID'),
  };
}

/** The rule of the published clients: a local console has the API on its usual port, another one has it under the same name with `api`. */
const apiBeside = (consoleUrl: string): string =>
  /\/\/(localhost|127\.0\.0\.1)(:|\/|$)/.test(consoleUrl) ? LOCAL_API_URL : consoleUrl.replace('console', 'api');
