import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest files are in `faults`: what begins last should be short. Otherwise the order of Vitest: longest first, as of the last run. */
class FaultsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFault = ({ moduleId }: TestSpecification) => moduleId.includes('/test/faults/');
    return [...sorted.filter(isFault), ...sorted.filter((file) => !isFault(file))];
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Each file owns its folders and servers; chDB takes one folder per process.
    pool: 'forks',
    maxWorkers: 3,
    sequence: { sequencer: FaultsFirst },
    // Before the first file, since the limits of hooks leave no time to build it.
    globalSetup: 'test/support/obtainTemporal.ts',
    // For the services that tests start as processes of their own: 0.7 s of CPU less for each.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node') },
    // A test that needs longer says so itself: a property that writes hundreds of times, a run that is killed at each of its steps.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // The default of a second is over before a busy disk has stored twenty rows.
    expect: { poll: { timeout: 60_000 } },
    // A run that hangs at its end hides a leak: say so instead of waiting.
    teardownTimeout: 20_000,
  },
});
