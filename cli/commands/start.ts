import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { besideCommand } from '../terminal/besideCommand.ts';
import { CommandError } from '../terminal/commandError.ts';
import { exitCodes } from '../terminal/exitCodes.ts';
import type { PassedSignal } from '../terminal/ownOutput.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface StartOptions {
  port?: string;
  dataDir?: string;
}

/**
 * Runs the service until it ends, in the foreground as a process of its own.
 * @throws CommandError where the service is not installed
 */
export async function start(terminal: Terminal, { port, dataDir }: StartOptions): Promise<never> {
  const child = spawn(process.execPath, serviceProgram(terminal.folder), {
    cwd: terminal.folder,
    stdio: 'inherit',
    env: {
      ...terminal.environment,
      ...(port === undefined ? {} : { PORT: port }),
      ...(dataDir === undefined ? {} : { DATA_DIR: dataDir }),
    },
  });
  // A terminal signals the whole group; what signals this process alone, or the one above it, is passed on. The service hears it more than once.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.removeAllListeners(signal).on(signal, () => child.kill(signal));
  process.removeAllListeners('message').on('message', ({ signal }: PassedSignal) => child.kill(signal));
  process.removeAllListeners('disconnect').on('disconnect', () => child.kill('SIGTERM')); // the process above was killed
  const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, endedBy) => resolve([code, endedBy]));
  });
  process.exit(signal ? 128 + constants.signals[signal] : (exitCode ?? 1));
}

/** Arguments of Node.js. A checkout and the package `assay` have the service beside the command; the package of the command alone looks for `assay`. */
function serviceProgram(folder: string): string[] {
  const entry = fileURLToPath(besideCommand('start'));
  if (existsSync(entry)) return [entry];
  try {
    // That package's own command brings the Node.js that the service needs.
    const manifest = createRequire(join(folder, 'package.json')).resolve('assay/package.json');
    return [join(manifest, '../bin/assay.js'), 'start'];
  } catch (cause) {
    throw new CommandError(
      exitCodes.failed,
      'the service is not installed here: the package assay has it (1.1 GB), which npm run build in a checkout makes. A service elsewhere is named by --api-url or SERVICE_API_URL',
      { cause },
    );
  }
}
