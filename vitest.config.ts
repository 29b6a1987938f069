import { readFileSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { embeddedSettings } from './shared/childProcesses/nodeSettings.ts';

/**
 * The longest files are in `faults`, and they mostly wait: for a server that is gone, a limit that passes. So they begin early, and beside others,
 * which compute: two of those for each. Of the others, those of services come first, so that a shared one is taken again before it is ended, and those
 * of a second or less last. Otherwise the order of Vitest: longest first, as of the last run.
 */
class FaultsBesideOthers extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const tierOf = ({ moduleId }: TestSpecification) => basename(dirname(moduleId));
    const turnOf = (file: TestSpecification) => ({ service: 0, console: 0, unit: 2 })[tierOf(file)] ?? 1;
    const faults = sorted.filter((file) => tierOf(file) === 'faults');
    const others = sorted.filter((file) => tierOf(file) !== 'faults').sort((one, other) => turnOf(one) - turnOf(other));
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

/** Temporal's program is there before the first file, since the limits of hooks leave no time to build it. */
const globalSetup = ['test/support/obtainTemporal.ts', 'test/support/sharedServices.ts'];

export default defineConfig({
  test: {
    // Projects by folder of `test/`: `npm run test:fast` runs the first, `npm run test:soak` the last, `npm test` all but the last.
    projects: [
      // Pure tests leave nothing behind, so their files share processes: a process takes as long to start as most of them run.
      { extends: true, test: { name: 'unit', include: ['test/unit/*.test.ts'], isolate: false } },
      // Whatever its folder is called, so that no file is left out.
      { extends: true, test: { name: 'opened', include: ['test/*/*.test.ts'], exclude: ['test/{unit,soak}/**'], globalSetup } },
      { extends: true, test: { name: 'soak', include: ['test/soak/*.test.ts'], globalSetup } },
    ],
    // chDB takes one folder per process. Files that share a service talk to a process of its own.
    pool: 'forks',
    // As the service is started: many files open an embedded Postgres and are over before its optimized code has paid.
    execArgv: embeddedSettings.flags.filter((flag) => flag.includes('wasm')),
    // More than the cores that CI has: a good part of the files' time is spent waiting.
    maxWorkers: 4,
    sequence: { sequencer: FaultsBesideOthers },
    env: {
      // For the services that tests start as processes of their own: 0.7 s of CPU less for each.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node'),
      ...temporaryFolder(),
    },
    // Far more than any takes: on a slow or busy machine, one that is near its limit fails for nothing. A limit only ends what hangs. A test that
    // needs longer says so itself: a property that writes hundreds of times, a run that is killed at each of its steps. None has a shorter one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // As long as the test has, but for what else it does. Most polls ask the service: more often only takes its time.
    expect: { poll: { timeout: 240_000, interval: 100 } },
    // A run that hangs at its end hides a leak: say so instead of waiting. A shared service may take 45 s to end.
    teardownTimeout: 60_000,
  },
});
