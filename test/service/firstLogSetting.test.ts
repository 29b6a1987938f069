// A service of its own: it has another setting of what a first log makes, and its log is read.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Logger, ServiceClient } from '../../client/index.ts';
import { otlpSpan } from '../support/otlpSpan.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';
import { testServiceAt } from '../support/testService.ts';

let folder: string;
let running: ServiceProcess;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-first-log-'));
  running = await (await serviceFolder(folder, { FIRST_LOG_MAKES: 'log_streams', LOG_LEVEL: 'info' })).start();
});
afterAll(async () => {
  await running?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

test('a service whose logs make log streams alone refuses to make projects for them, and its log names what was made', async () => {
  const service = testServiceAt(
    { url: running.url, dataDir: folder, temporalUiUrl: '', metricsUrl: '', temporalAddress: '' },
    async () => undefined,
  );
  const post = (headers: Record<string, string>) => service.request('POST', '/v1/traces', otlpSpan(), headers);
  const reason = 'logs make no project here (FIRST_LOG_MAKES is log_streams): create it first, or name one that is there';
  expect(await post({ project: 'shop' })).toMatchObject({ status: 404, body: { detail: expect.stringContaining(reason) } });

  const client = new ServiceClient({ apiUrl: running.url, apiKey: running.apiKey });
  const logger = new Logger({ client, projectName: 'shop', logStream: 'production', flushEveryMs: 0 });
  logger.startTrace('in').conclude('out');
  await expect(logger.flush()).rejects.toThrow(reason);
  expect((await service.request('GET', '/projects?project_name=shop')).body).toEqual([]);

  // The setting for logs does not concern projects that a caller creates.
  const { status, body } = await service.request('POST', '/projects', { name: 'shop' });
  expect(status).toBe(200);
  await logger.flush();
  expect((await post({ project: 'shop', logstream: 'prodution' })).status).toBe(200);
  const { id } = body as { id: string };
  const streams = (await service.request('GET', `/projects/${id}/log_streams`)).body as { name: string }[];
  expect(streams.map(({ name }) => name)).toEqual(['prodution', 'production']);
  const lines = running.output().split('\n');
  const saying = (name: string) => lines.find((line) => line.includes('made the log stream') && line.includes(`"${name}"`));
  expect(saying('production')).toBeDefined();
  expect(saying('prodution')).toContain('"closest":"production"');
});
