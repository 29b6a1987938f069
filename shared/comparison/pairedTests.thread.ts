/** The thread in which statistics are computed: resampling ten metrics of 5,000 rows takes 0.5 s, in which the event loop would answer nobody. */
import { parentPort } from 'node:worker_threads';
import { pairedTests } from '../statistics/pairedTest.ts';
import { sampleOf } from './sampleOf.ts';
import type { StatisticsAnswer, StatisticsRequest } from './statisticsThread.ts';

parentPort?.on('message', ({ id, samples, resampling }: StatisticsRequest) => {
  const answer: StatisticsAnswer = { id, results: pairedTests(samples.map(sampleOf), resampling) };
  parentPort?.postMessage(answer);
});
