// The worker's bundle exports every workflow by its type name.
export { extendDataset } from './extendDataset.ts';
export { runExperiment } from './runExperiment.ts';
export { runJob } from './runJob.ts';
export { scoreRun } from './scoreRun.ts';
export { sweepExpired } from './sweepExpired.ts';
