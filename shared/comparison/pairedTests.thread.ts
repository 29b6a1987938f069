/** The thread in which statistics are computed: resampling 5,000 rows takes 0.1 s, in which the event loop would answer nobody. */
import { parentPort } from 'node:worker_threads';
import { pairedTests } from '../statistics/pairedTest.ts';
import type { StatisticsAnswer, StatisticsRequest } from './statisticsThread.ts';

parentPort?.on('message', ({ id, samples, resampling }: StatisticsRequest) => {
  const answer: StatisticsAnswer = { id, results: pairedTests(samples, resampling) };
  parentPort?.postMessage(answer);
});
