/** The variables that the client understands; read when an operation needs one, never at import. */
export interface Environment {
  apiUrl: string;
  apiKey: string | undefined;
  username: string | undefined;
  password: string | undefined;
  project: string | undefined;
  projectId: string | undefined;
  logStream: string | undefined;
  logStreamId: string | undefined;
}

const DEFAULT_API_URL = 'http://127.0.0.1:8088';

export function readEnvironment(): Environment {
  const value = (name: string) => process.env[name] || undefined;
  return {
    apiUrl: value('SERVICE_API_URL') ?? DEFAULT_API_URL,
    apiKey: value('SERVICE_API_KEY'),
    username: value('SERVICE_USERNAME'),
    password: value('SERVICE_PASSWORD'),
    project: value('SERVICE_PROJECT'),
    projectId: value('SERVICE_PROJECT_ID'),
    logStream: value('SERVICE_LOG_STREAM'),
    logStreamId: value('SERVICE_LOG_STREAM_ID'),
  };
}
