import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDataset, runExperiment, ServiceClient } from '../client/index.ts';

// The experiment of the peers benchmark: each row sleeps, every tenth reference answer is wrong. Address and API key come from the environment,
// as the client reads them. The last line printed is what the benchmark asks for.

const { values } = parseArgs({
  options: { rows: { type: 'string' }, 'sleep-ms': { type: 'string' }, concurrency: { type: 'string' } },
});
const [rows, sleepMs, concurrency] = [Number(values.rows), Number(values['sleep-ms']), Number(values.concurrency)];
const name = `bench-${rows}-${sleepMs}-${Date.now()}`;
const client = new ServiceClient();

const started = performance.now();
const dataset = await createDataset({
  client,
  name,
  content: Array.from({ length: rows }, (_, i) => ({ input: { question: `q${i}` }, output: i % 10 ? `a${i}` : 'wrong' })),
});
const uploaded = performance.now();
const { experiment, progress } = await runExperiment({
  client,
  dataset,
  experimentName: name,
  concurrency,
  metrics: ['exact_match'],
  function: async ({ question }: { question: string }) => {
    if (sleepMs > 0) await delay(sleepMs);
    return question.replace('q', 'a');
  },
});
const ended = performance.now();

const seconds = (ms: number) => Number((ms / 1_000).toFixed(2));
console.log(
  JSON.stringify({
    dataset_s: seconds(uploaded - started),
    run_s: seconds(ended - uploaded),
    rows_done: progress.scores_done,
    mean_score: experiment.aggregate_metrics.exact_match,
  }),
);
