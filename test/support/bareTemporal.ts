import { findTestTemporal } from './findTestTemporal.ts';
import { ownPort } from './ownPort.ts';
import { accepts, type ServerProcess, serverProcess, startServer, untilUp } from './serverProcess.ts';

export interface BareTemporal {
  address: string;
  server: ServerProcess;
}

/** A Temporal server in memory that knows nothing of ours: no search attributes. @param folder where its program is kept if the cache cannot hold it */
export async function startBareTemporal(folder: string, config: Record<string, string | number> = {}): Promise<BareTemporal> {
  const path = await findTestTemporal(folder);
  const port = await ownPort();
  const settings = Object.entries(config).flatMap(([name, value]) => ['--dynamic-config-value', `${name}=${value}`]);
  const child = startServer(path, [
    'server',
    'start-dev',
    '--headless',
    '--port',
    String(port),
    '--log-level',
    'error',
    ...settings,
  ]);
  await untilUp(child, () => accepts(port));
  return { address: `127.0.0.1:${port}`, server: serverProcess(child) };
}
