import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startService } from '../../service.ts';
import { seedPostgres } from './seedPostgres.ts';
import { API_KEY, runnersIn, type TestService, testServiceAt } from './testService.ts';

/**
 * The embedded service in this process: Express, chDB, PGlite, a worker, and a Temporal server as its child, on free ports and in a folder of its
 * own. Replies are checked with their schemas. For files that need another environment than the usual one, or break their service; others take a
 * `sharedTestService`. One per test file: chDB takes one folder per process.
 */
export async function startTestService(environment: Record<string, string> = {}): Promise<TestService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-service-'));
  await seedPostgres(join(dataDir, 'postgres'));
  await mkdir(runnersIn(dataDir));
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
      RUNNERS_DIR: runnersIn(dataDir),
      ...environment,
    },
    () => undefined,
    { checkReplies: true },
  );
  const { url, temporalUiUrl = '', metricsUrl = '', temporalAddress } = service;
  return testServiceAt({ url, dataDir, temporalUiUrl, metricsUrl, temporalAddress }, async () => {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
}
