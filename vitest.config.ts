import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Each file owns its folders and servers; chDB takes one folder per process.
    pool: 'forks',
    maxWorkers: 2,
    // Properties write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The default of a second is over before a busy disk has stored twenty rows.
    expect: { poll: { timeout: 60_000 } },
    // A run that hangs at its end hides a leak: say so instead of waiting.
    teardownTimeout: 20_000,
  },
});
