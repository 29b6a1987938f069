import { parseArgs } from 'node:util';
import { compareExperiments, createExperiment } from '../client/index.ts';
import { newId } from '../shared/identifiers/ids.ts';
import { Random } from '../shared/statistics/random.ts';
import { startTestService } from '../test/support/service.ts';
import type { TestService } from '../test/support/testService.ts';

const METRICS = 10;
const BATCH = 2_000;

/** Questions that the same experiments answer: metrics of true and false, and of numbers with many different values. */
const kinds = {
  booleans: (number: number) => number < 0.7,
  numbers: (number: number) => number,
} as const;

/**
 * Seconds, and of the process' CPU, from the request to the answer of a comparison of two experiments with `--rows N` rows (default 5,000) and ten metrics, through HTTP: computed
 * (`--rounds R` times, default 3, each with another seed), and answered again as it was kept.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { rows: { type: 'string', default: '5000' }, rounds: { type: 'string', default: '3' } },
  });
  const [rows, rounds] = [Number(values.rows), Number(values.rounds)];
  await using service = await startTestService();
  const { id: projectId } = await service.project();
  const stream = await service.client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'elsewhere' } });
  const logElsewhere = () =>
    service.client.send(`/v2/projects/${projectId}/traces`, {
      body: { log_stream_id: stream.id, traces: [{ input: 'a question' }] },
    });
  for (const [name, answerOf] of Object.entries(kinds)) {
    const [baselineId, other] = [
      await filled(service, projectId, rows, answerOf, 1),
      await filled(service, projectId, rows, answerOf, 2),
    ];
    const metrics = Array.from({ length: METRICS }, (_, index) => `metric_${index}`);
    const ask = async (seed: number): Promise<{ seconds: number; cpuSeconds: number }> => {
      const used = process.cpuUsage();
      const began = performance.now();
      await compareExperiments({ client: service.client, projectId, baselineId, experimentIds: [other], metrics, seed });
      const seconds = (performance.now() - began) / 1_000;
      const { user, system } = process.cpuUsage(used);
      return { seconds, cpuSeconds: (user + system) / 1e6 };
    };
    const computed: string[] = [];
    for (let round = 0; round < rounds; round++) {
      // After a write the engine answers nothing from what it has kept.
      await logElsewhere();
      const { seconds, cpuSeconds } = await ask(round);
      computed.push(`${seconds.toFixed(2)} s (${cpuSeconds.toFixed(2)} s of CPU)`);
    }
    const again = await ask(rounds - 1);
    console.log(`${rows} rows x ${METRICS} ${name}: ${computed.join(', ')}; again ${(again.seconds * 1_000).toFixed(0)} ms`);
  }
}

/** An experiment whose rows a client has logged. */
async function filled(
  service: TestService,
  projectId: string,
  rows: number,
  answerOf: (number: number) => unknown,
  seed: number,
): Promise<string> {
  const { id } = await createExperiment({ client: service.client, projectId, experimentName: `experiment ${newId()}` });
  const random = new Random(seed);
  for (let from = 0; from < rows; from += BATCH) {
    const traces = Array.from({ length: Math.min(BATCH, rows - from) }, (_, index) => ({
      ...{ type: 'trace', input: `question ${from + index}`, dataset_input: `question ${from + index}`, output: 'an answer' },
      metrics: Object.fromEntries(
        Array.from({ length: METRICS }, (_metric, metric) => [`metric_${metric}`, answerOf(random.fraction())]),
      ),
    }));
    await service.client.send(`/v2/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
  }
  return id;
}
