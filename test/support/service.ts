import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceClient } from '../../client/http.ts';
import { startService } from '../../start.ts';
import { seedPostgres } from './seedPostgres.ts';

const API_KEY = 'test-administrator-key';

export interface TestProject {
  id: string;
  name: string;
}

export interface TestService extends AsyncDisposable {
  url: string;
  apiKey: string;
  dataDir: string;
  temporalUiUrl: string;
  /** Where its metrics are read; empty without `METRICS_PORT`. */
  metricsUrl: string;
  client: ServiceClient;
  /** One request with the administrator's key, as it is on the wire. */
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: never; headers: Headers }>;
  /** A new project: tests of one file share the service and nothing else. */
  project(): Promise<TestProject>;
}

/**
 * The embedded service in this process: Express, chDB, PGlite, a worker, and a Temporal server as its child, on free ports and in a folder of its
 * own. Replies are checked with their schemas. One per test file: chDB takes one folder per process.
 */
export async function startTestService(environment: Record<string, string> = {}): Promise<TestService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-service-'));
  await seedPostgres(join(dataDir, 'postgres'));
  const service = await startService(
    {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: dataDir,
      PORT: '0',
      TEMPORAL_PORT: '0',
      TEMPORAL_UI_PORT: '0',
      ADMIN_API_KEY: API_KEY,
      LOG_LEVEL: 'error',
      ...environment,
    },
    () => undefined,
    { checkReplies: true },
  );
  let projects = 0;
  const request: TestService['request'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: { 'Service-API-Key': API_KEY, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: (text === '' ? undefined : JSON.parse(text)) as never };
  };
  return {
    url: service.url,
    apiKey: API_KEY,
    dataDir,
    temporalUiUrl: service.temporalUiUrl ?? '',
    metricsUrl: service.metricsUrl ?? '',
    client: new ServiceClient({ apiUrl: service.url, apiKey: API_KEY }),
    request,
    async project() {
      const name = `project ${++projects}`;
      const { body } = await request('POST', '/projects', { name });
      return { id: (body as { id: string }).id, name };
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
