import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { type ServiceFolder, serviceFolder } from './serviceProcess.ts';

/** For a file of tests: a service with runner modules whose process is ended and started again, over the same data. */
export function serviceToKill() {
  let folder: string;
  let where: ServiceFolder;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-to-kill-'));
    await mkdir(join(folder, 'runners'));
    where = await serviceFolder(join(folder, 'data'), { RUNNERS_DIR: join(folder, 'runners') });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return {
    /** Returns the path of a file that modules write for tests. */
    file: (name: string) => join(folder, name),
    module: (name: string, source: string) => writeFile(join(folder, 'runners', `${name}.mjs`), source),
    /** It ends with the test, at the latest. */
    async start() {
      const service = await where.start();
      onTestFinished(() => service.kill('SIGKILL'));
      return {
        service,
        client: new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey }),
        temporalAddress: `127.0.0.1:${where.environment.TEMPORAL_PORT}`,
      };
    },
  };
}
