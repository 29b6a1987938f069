import { join } from 'node:path';
import { ServiceClient } from '../../client/http.ts';
import { newId } from '../../shared/identifiers/ids.ts';

/** The administrator's key in every service that tests start. */
export const API_KEY = 'test-administrator-key';

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
  /** Where clients of Temporal connect; empty for a service that is started as people start it. */
  temporalAddress: string;
  /** Where it looks for registered runners. A file of tests puts those in that it uses, and overwrites what another has left. */
  runnersDir: string;
  client: ServiceClient;
  /** One request with the administrator's key, as it is on the wire. */
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: never; headers: Headers }>;
  /** A new project: tests share the service and nothing else. */
  project(): Promise<TestProject>;
}

/** Addresses and folder of a service. */
export type ServiceAddresses = Pick<TestService, 'url' | 'dataDir' | 'temporalUiUrl' | 'metricsUrl' | 'temporalAddress'>;

export const runnersIn = (dataDir: string): string => join(dataDir, 'runners');

/** A service that runs at these addresses, as tests use it. */
export function testServiceAt(at: ServiceAddresses, dispose: () => Promise<void>): TestService {
  const request: TestService['request'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${at.url}${path}`, {
      method,
      headers: { 'Service-API-Key': API_KEY, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: (text === '' ? undefined : JSON.parse(text)) as never };
  };
  return {
    ...at,
    runnersDir: runnersIn(at.dataDir),
    apiKey: API_KEY,
    client: new ServiceClient({ apiUrl: at.url, apiKey: API_KEY }),
    request,
    async project() {
      const name = `project ${newId()}`;
      const { body } = await request('POST', '/projects', { name });
      return { id: (body as { id: string }).id, name };
    },
    [Symbol.asyncDispose]: dispose,
  };
}
