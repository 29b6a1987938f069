/** `npm run bench -- <name> [options]`: prints figures and ratios. Machines are noisy: run one at a time, and quote medians of several runs. */
const benchmarks: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  client: () => import('./client.ts'),
  codeMetrics: () => import('./codeMetrics.ts'),
  compare: () => import('./compare.ts'),
  console: () => import('./console.ts'),
  experiment: () => import('./experiment.ts'),
  ingest: () => import('./ingest.ts'),
  kills: () => import('./kills.ts'),
  lanes: () => import('./lanes.ts'),
  lists: () => import('./lists.ts'),
  metrics: () => import('./metrics.ts'),
  neighbours: () => import('./neighbours.ts'),
  roundTrips: () => import('./roundTrips.ts'),
  sdks: () => import('./sdks/run.ts'),
  search: () => import('./search.ts'),
  soak: () => import('./soak.ts'),
  updates: () => import('./updates.ts'),
};

const [name = '', ...args] = process.argv.slice(2);
const load = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
if (load) await (await load()).run(args);
else {
  process.stderr.write(`usage: npm run bench -- <name>, where <name> is one of: ${Object.keys(benchmarks).join(', ')}\n`);
  process.exitCode = 1;
}
