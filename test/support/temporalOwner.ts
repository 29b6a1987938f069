/** A process that starts a Temporal dev server, says where in one line of JSON, and lives until it is killed. */

import { startTemporalDevServer } from '../../shared/stores/temporal/devServer.ts';
import { findTemporal } from '../../shared/stores/temporal/findTemporal.ts';
import { temporalRelease } from '../../shared/stores/temporal/temporalRelease.ts';

const [dataDir, cacheDir] = process.argv.slice(2);
if (dataDir === undefined || cacheDir === undefined) throw new Error('usage: temporalOwner.ts DATA_DIR CACHE_DIR');
const say = (message: string) => console.error(message);
const path = await findTemporal({
  dataDir,
  cacheDir,
  environment: process.env,
  release: temporalRelease,
  onProgress: say,
});
const server = await startTemporalDevServer({
  path,
  dataDir,
  ip: '127.0.0.1',
  port: 0,
  uiPort: 0,
  namespace: 'default',
  environment: process.env,
  log: { info: say, warn: say },
});
console.log(JSON.stringify({ address: server.address, serverPid: server.pid, watchdogPid: server.watchdogPid }));
