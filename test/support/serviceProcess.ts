import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ownPort } from './ownPort.ts';
import { seedPostgres } from './seedPostgres.ts';
import { API_KEY } from './testService.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface ServiceProcess {
  url: string;
  apiKey: string;
  child: ChildProcess;
  /** Returns what it has printed so far. */
  output(): string;
  /** Ends it with a signal and waits until it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface ServiceFolder {
  dataDir: string;
  environment: Record<string, string>;
  /** Starts the service on this folder (`npm`: by `npm start`, as people do); rejects with what it printed when it ends before it is ready. */
  start(by?: 'node' | 'npm'): Promise<ServiceProcess>;
  /** Starts the service and ends it by SIGKILL after so many ms. @returns whether it was ready by then */
  startAndKill(afterMs: number): Promise<boolean>;
}

/**
 * A service that runs as a process of its own and keeps its folder and ports from start to start, so that it can be killed and started again.
 * @param root the checkout whose service it is
 * @param empty whether the folder is left as it is, for the service to create all its stores by itself
 */
export async function serviceFolder(
  dataDir: string,
  extra: Record<string, string> = {},
  { root = ROOT, empty = root !== ROOT }: { root?: string | undefined; empty?: boolean } = {},
): Promise<ServiceFolder> {
  if (!empty) await seedPostgres(join(dataDir, 'postgres'));
  const environment = {
    DATA_DIR: dataDir,
    PORT: String(await ownPort()),
    TEMPORAL_PORT: String(await ownPort()),
    TEMPORAL_UI_PORT: String(await ownPort()),
    ADMIN_API_KEY: API_KEY,
    LOG_LEVEL: 'warn',
    ...extra,
  };
  const begin = (by: 'node' | 'npm') => {
    const [program, args] = by === 'npm' ? ['npm', ['start']] : [process.execPath, [join(root, 'start.ts')]];
    const child = spawn(program, args, {
      cwd: root,
      env: {
        ...process.env,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const ready = new Promise<void>((resolve, reject) => {
      const read = (chunk: Buffer) => {
        output += chunk;
        if (output.includes('Assay is ready')) resolve();
      };
      child.stdout?.on('data', read);
      child.stderr?.on('data', read);
      child.once('exit', (code, signal) =>
        reject(new Error(`the service ended (${signal ?? code}) before it was ready:\n${output}`)),
      );
    });
    const service: ServiceProcess = {
      url: `http://127.0.0.1:${environment.PORT}`,
      apiKey: API_KEY,
      child,
      output: () => output,
      async kill(signal) {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        child.kill(signal);
        await gone;
      },
    };
    return { service, ready };
  };
  return {
    dataDir,
    environment,
    async start(by = 'node') {
      const { service, ready } = begin(by);
      await ready;
      return service;
    },
    async startAndKill(afterMs) {
      const { service, ready } = begin('node');
      const isReady = ready.then(() => true).catch(() => false);
      await delay(afterMs);
      await service.kill('SIGKILL');
      return isReady;
    },
  };
}
