// A service of its own: it is killed amid a run.
import { appendFile, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createDataset } from '../../client/datasets.ts';
import { experimentOf, newExperiment } from '../support/runs.ts';
import { serviceToKill } from '../support/serviceToKill.ts';

const { file, module, start } = serviceToKill();

interface Execution {
  dataset_row_ordinal: number;
  trial: number;
  /** Which start of the experiment ran it. */
  output: string;
}

test('a run of several trials over a sample that is killed goes on with the rows that it froze, and runs none twice that was recorded; so does a run of some of them once more', async () => {
  const ran = file('ran.txt');
  await appendFile(ran, '');
  await module(
    'noted',
    `import { appendFileSync } from 'node:fs';
     import { setTimeout } from 'node:timers/promises';
     export default async (input, { row, attempt }) => {
       appendFileSync(${JSON.stringify(ran)}, row.ordinal + ' ' + row.trial + '\\n');
       await setTimeout(150);
       return Math.floor(attempt / 1_000_000);
     };`,
  );
  const executed = async () => (await readFile(ran, 'utf8')).trim().split('\n');
  const first = await start();
  const { client } = first;
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'killed' } });
  const content = Array.from({ length: 60 }, (_, index) => ({ input: `q${index}` }));
  const { id: datasetId } = await createDataset({ client, name: 'sixty', content });
  const one = await newExperiment(client, projectId, { name: 'killed', dataset: { dataset_id: datasetId, version_index: 1 } });
  await one.start({
    runner: { kind: 'module', name: 'noted' },
    rows: { sample: { size: 20, seed: 5 } },
    trials: 3,
    concurrency: 4,
  });
  const { row_selection: frozen, rows_done: recorded } = await one.until(({ rows_done }) => rows_done >= 25);
  await first.service.kill('SIGKILL');
  const before = (await executed()).length;

  const second = await start();
  const again = experimentOf(second.client, projectId, one.id);
  expect(await again.end()).toMatchObject({
    state: 'completed',
    rows_done: 60,
    rows_total: 60,
    trials: 3,
    row_selection: frozen,
  });
  const traces = (await again.traces()) as unknown as Execution[];
  const executions = traces.map(({ dataset_row_ordinal, trial }) => `${dataset_row_ordinal} ${trial}`);
  const rows = new Set(traces.map(({ dataset_row_ordinal }) => dataset_row_ordinal));
  expect(rows.size).toBe(20);
  expect(new Set(executions)).toEqual(new Set([...rows].flatMap((row) => [0, 1, 2].map((trial) => `${row} ${trial}`))));
  const calls = await executed();
  expect(new Set(calls)).toEqual(new Set(executions));
  expect(calls.length - before).toBeLessThanOrEqual(60 - recorded);

  // Some of the rows once more, killed again: those that this start has recorded are not run a third time, and no other row is.
  const listed = [...rows].sort((a, b) => a - b).filter((_, at) => at % 2 === 0);
  await again.start({ rows_to_run: { ordinals: listed } });
  const ranAgain = async () => ((await again.traces()) as unknown as Execution[]).filter(({ output }) => output === '2').length;
  await expect.poll(ranAgain).toBeGreaterThanOrEqual(10);
  const recordedAgain = await ranAgain();
  await second.service.kill('SIGKILL');
  const beforeThird = (await executed()).length;
  const third = experimentOf((await start()).client, projectId, one.id);
  expect(await third.end()).toMatchObject({ state: 'completed', rows_done: 60, rerun: { again: 'rows', executions: 30 } });
  const rerun = (await executed()).slice(calls.length);
  expect(new Set(rerun)).toEqual(new Set(listed.flatMap((row) => [0, 1, 2].map((trial) => `${row} ${trial}`))));
  expect((await executed()).length - beforeThird).toBeLessThanOrEqual(30 - recordedAgain);
  const by = (await third.traces()) as unknown as Execution[];
  expect(
    by
      .filter(({ output }) => output === '2')
      .map(({ dataset_row_ordinal }) => dataset_row_ordinal)
      .sort((a, b) => a - b),
  ).toEqual(listed.flatMap((row) => [row, row, row]));
}, 600_000);
