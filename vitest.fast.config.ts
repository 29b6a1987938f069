import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

// The rule instead of a list: a file that opens the service, or a store with all of its tables, is not quick.
const opensService =
  /from '\.\.\/support\/(?:service|sharedService|serviceProcess|recordService|deletionStores|clickhouseServer|temporal\w*)\.ts'/;
const needsServers = /describeWithServer|startRedis|startPostgres|startTemporal|docker-compose|createServer\(|node:net|node:tls/;

const isQuick = (path: string) => {
  const text = readFileSync(path, 'utf8');
  return !opensService.test(text) && !needsServers.test(text);
};

/** `npm run test:fast`: pure functions, properties, contracts of what is in memory, and replays. */
export default defineConfig({
  ...base,
  test: { ...base.test, globalSetup: [], include: globSync('test/{properties,contracts,replay}/*.test.ts').filter(isQuick) },
});
