/** How Node.js is started for the service: `npm start` says the same, the page of running the service why. */
export const serviceFlags = ['--max-semi-space-size=32', '--heap-growing-percent=100', '--v8-pool-size=2'];

/** What the service must find in its environment from its first instruction on. */
export const serviceEnvironment = {
  UV_THREADPOOL_SIZE: '16',
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
