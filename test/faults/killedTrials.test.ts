import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createDataset } from '../../client/createDataset.ts';
import { ServiceClient } from '../../client/http.ts';
import { experimentOf, newExperiment } from '../support/runs.ts';
import { type ServiceFolder, serviceFolder } from '../support/serviceProcess.ts';

let folder: string;
let where: ServiceFolder;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-killed-trials-'));
  await mkdir(join(folder, 'runners'));
  where = await serviceFolder(join(folder, 'data'), { RUNNERS_DIR: join(folder, 'runners') });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function start() {
  const service = await where.start();
  onTestFinished(() => service.kill('SIGKILL'));
  return { service, client: new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey }) };
}

test('a run of several trials over a sample that is killed goes on with the rows that it froze, and runs none twice that was recorded', async () => {
  const ran = join(folder, 'ran.txt');
  await appendFile(ran, '');
  await writeFile(
    join(folder, 'runners', 'noted.mjs'),
    `import { appendFileSync } from 'node:fs';
     import { setTimeout } from 'node:timers/promises';
     export default async (input, { row }) => {
       appendFileSync(${JSON.stringify(ran)}, row.ordinal + ' ' + row.trial + '\\n');
       await setTimeout(150);
       return input;
     };`,
  );
  const CONCURRENCY = 4;
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
    concurrency: CONCURRENCY,
  });
  const { row_selection: frozen } = await one.until(({ rows_done }) => rows_done >= 25);
  await first.service.kill('SIGKILL');

  const second = await start();
  const again = experimentOf(second.client, projectId, one.id);
  const before = (await readFile(ran, 'utf8')).trim().split('\n').length;
  expect(before).toBeLessThan(60);
  expect(await again.end()).toMatchObject({
    state: 'completed',
    rows_done: 60,
    rows_total: 60,
    trials: 3,
    row_selection: frozen,
  });
  const traces = (await again.traces()) as unknown as { dataset_row_ordinal: number; trial: number }[];
  const executions = traces.map(({ dataset_row_ordinal, trial }) => `${dataset_row_ordinal} ${trial}`);
  const rows = new Set(traces.map(({ dataset_row_ordinal }) => dataset_row_ordinal));
  expect(rows.size).toBe(20);
  expect(new Set(executions)).toEqual(new Set([...rows].flatMap((row) => [0, 1, 2].map((trial) => `${row} ${trial}`))));
  const calls = (await readFile(ran, 'utf8')).trim().split('\n');
  expect(new Set(calls)).toEqual(new Set(executions));
  // What had started and was not yet acknowledged as recorded: the concurrency, and one write group.
  expect(calls.length - 60).toBeLessThanOrEqual(3 * CONCURRENCY);
});
