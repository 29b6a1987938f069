/** The thread in which statistics are computed: resampling ten metrics of 5,000 rows takes 0.5 s, in which the event loop would answer no request. */
import { parentPort } from 'node:worker_threads';
import { countDifferences, momentsOf } from '../statistics/differences.ts';
import { pairedTests } from '../statistics/pairedTest.ts';
import { sampleOf } from './sampleOf.ts';
import type { StatisticsAnswer, StatisticsRequest } from './statisticsThread.ts';

parentPort?.on('message', ({ id, samples, resampling }: StatisticsRequest) => {
  const answer: StatisticsAnswer = { id, results: pairedTests(samples.map(sampleOf), resampling) };
  parentPort?.postMessage(answer);
});

// The first samples take a while longer, until their code is compiled: these are no request's.
const first = [
  [-1, 0, 1],
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
].map((values) => countDifferences(values, values.length === 3 ? [500, 1_000, 500] : undefined));
pairedTests(
  first.map((differences) => ({ moments: momentsOf(differences), differences, isYesOrNo: differences.values.length === 3 })),
  { seed: 0, level: 0.95 },
);
