import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from './childEnvironment.ts';

/** Settings that Node.js, V8 and the C library read before a program's first line. */
export interface NodeSettings {
  flags: readonly string[];
  environment: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '../..');

/** Settings of an api or a worker process over servers. */
export const serverSettings: NodeSettings = {
  // Most objects of a request live shorter than it: with room for them few are moved twice.
  flags: ['--max-semi-space-size=64'],
  // Password hashes, files and DNS share these threads.
  environment: { UV_THREADPOOL_SIZE: '16' },
};

/** Settings of the service in one process. docs/decisions/process-memory.md has the figures of each. */
export const embeddedSettings: NodeSettings = {
  flags: [
    ...serverSettings.flags,
    '--heap-growing-percent=100',
    '--v8-pool-size=2',
    '--always-sparkplug',
    '--max-inlined-bytecode-size-cumulative=300',
    '--no-maglev-inlining',
    '--wasm-tiering-budget=1000000000',
  ],
  environment: {
    ...serverSettings.environment,
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '65536',
    MALLOC_TRIM_THRESHOLD_: '131072',
    // In a checkout, 0.7 s of CPU less for each start.
    ...(existsSync(join(root, 'node_modules')) ? { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node') } : {}),
  },
};

/**
 * Runs this program anew with the settings that it lacks, as the same process. Call it before anything is opened: nothing behind the call runs then. What
 * the user has set stays, and a system that cannot replace a program goes on without the settings.
 */
export function applyNodeSettings(settings: NodeSettings, environment: Environment): void {
  const given = new Set(process.execArgv.map(nameOf));
  const lacking = settings.flags.filter((flag) => !given.has(nameOf(flag)));
  const unset = Object.entries(settings.environment).filter(([name]) => environment[name] === undefined);
  if ((lacking.length === 0 && unset.length === 0) || process.execve === undefined) return;
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...lacking, ...process.argv.slice(1)], {
    ...environment,
    ...Object.fromEntries(unset),
  });
}

const nameOf = (flag: string): string => flag.replace(/=.*/s, '');
