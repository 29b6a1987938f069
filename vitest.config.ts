import { readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { serviceFlags } from './cli/commands/start.ts';

/**
 * The longest files are in `faults`, and they mostly wait: for a server that is gone, a limit that passes. So they begin early, and beside others,
 * which compute: two of those for each. Of the others, those that share services come first, so that a service is taken again before it is ended.
 * Otherwise the order of Vitest: longest first, as of the last run.
 */
class FaultsBesideOthers extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFault = ({ moduleId }: TestSpecification) => moduleId.includes('/test/faults/');
    const shares = ({ moduleId }: TestSpecification) =>
      /\/support\/(sharedService|describeConsole)\.ts/.test(readFileSync(moduleId, 'utf8'));
    const faults = sorted.filter(isFault);
    const rest = sorted.filter((file) => !isFault(file));
    const others = [...rest.filter(shares), ...rest.filter((file) => !shares(file))];
    return [
      ...faults.flatMap((fault, index) => [fault, ...others.slice(2 * index, 2 * index + 2)]),
      ...others.slice(2 * faults.length),
    ];
  }
}

const MEMORY_FOLDER = '/dev/shm';
/** Bytes. The largest folder, with packages installed in it, takes 1.4 GB, and four files run at once. */
const ROOM_IN_MEMORY = 8 * 1024 ** 3;

/**
 * Files of tests are kept in memory where there is room and programs may be run from there. On a disk, to make and remove so many small files takes
 * a tenth of the CPU of all tests, and a third of that of those that mostly write.
 */
function temporaryFolder(): { TMPDIR?: string } {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    const [, options = 'noexec'] = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
    const hasRoom = Math.min(bavail * bsize, process.availableMemory()) >= ROOM_IN_MEMORY;
    return hasRoom && !options.split(',').includes('noexec') ? { TMPDIR: MEMORY_FOLDER } : {};
  } catch {
    return {}; // another system than Linux
  }
}

export default defineConfig({
  test: {
    // The soaks have a configuration of their own.
    include: ['test/{stories,console,properties,contracts,faults,replay}/*.test.ts'],
    // chDB takes one folder per process. Files that share a service talk to a process of its own.
    pool: 'forks',
    // As the service is started: many files open an embedded Postgres and are over before its optimized code has paid.
    execArgv: serviceFlags.filter((flag) => flag.includes('wasm')),
    // More than the cores that CI has: a good part of the files' time is spent waiting.
    maxWorkers: 4,
    sequence: { sequencer: FaultsBesideOthers },
    // Temporal's program is there before the first file, since the limits of hooks leave no time to build it.
    globalSetup: ['test/support/obtainTemporal.ts', 'test/support/sharedServices.ts'],
    env: {
      // For the services that tests start as processes of their own: 0.7 s of CPU less for each.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node'),
      ...temporaryFolder(),
    },
    // Far more than any takes: on a slow or busy machine, one that is near its limit fails for nothing. A limit only ends what hangs. A test that
    // needs longer says so itself: a property that writes hundreds of times, a run that is killed at each of its steps. None has a shorter one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The default of a second is over before a busy disk has stored twenty rows. Most polls ask the service: more often only takes its time.
    expect: { poll: { timeout: 60_000, interval: 100 } },
    // A run that hangs at its end hides a leak: say so instead of waiting. A shared service may take 45 s to end.
    teardownTimeout: 60_000,
  },
});
