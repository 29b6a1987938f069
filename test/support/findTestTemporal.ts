import { defaultCacheDir, findTemporal } from '../../shared/stores/temporal/findTemporal.ts';
import { temporalRelease } from '../../shared/stores/temporal/temporalRelease.ts';

/** Path of the Temporal server's program as the service itself finds it, kept in the user's cache; in `dataDir` where that cannot be. */
export const findTestTemporal = (dataDir: string): Promise<string> =>
  findTemporal({
    dataDir,
    cacheDir: defaultCacheDir(process.env.XDG_CACHE_HOME),
    environment: process.env,
    release: temporalRelease,
    onProgress: (line) => console.log(line),
  });
