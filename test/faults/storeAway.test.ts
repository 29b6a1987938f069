import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startClickHouseServer } from '../support/clickhouseServer.ts';
import { ownPort } from '../support/ownPort.ts';
import { newExperiment } from '../support/runs.ts';
import { startTestService } from '../support/service.ts';

const ROWS = 300;
const AWAY_MS = 10_000;

test('a record store that is killed and away for 10 s fails no row, loses none and repeats none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-away-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const executed = join(folder, 'executed.txt');
  await writeFile(
    join(folder, 'slow.mjs'),
    `import { appendFileSync } from 'node:fs';
     import { setTimeout } from 'node:timers/promises';
     export default async (input) => { appendFileSync(${JSON.stringify(executed)}, input + '\\n'); await setTimeout(100); return input; };`,
  );
  const options = { dataDir: join(folder, 'clickhouse'), port: await ownPort() };
  let clickhouse = await startClickHouseServer(options);
  onTestFinished(() => clickhouse.stop());
  const service = await startTestService({ RUNNERS_DIR: folder, CLICKHOUSE_URL: clickhouse.url });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const project = await service.project();
  const experiment = await newExperiment(service.client, project.id, { name: 'store away', metrics: ['exact_match'] });
  const records = Array.from({ length: ROWS }, (_, index) => ({ input: `q${index}`, output: `q${index}` }));
  await experiment.start({ runner: { kind: 'module', name: 'slow' }, records, concurrency: 10 });
  await experiment.until(({ rows_done }) => rows_done >= 100);

  await clickhouse.kill();
  await sleep(AWAY_MS);
  clickhouse = await startClickHouseServer(options);
  const end = await experiment.end(120_000);
  const attempts = (await readFile(executed, 'utf8')).split('\n').filter(Boolean);
  console.log(
    `expected ${ROWS}, recorded ${end.rows_done}, attempts ${attempts.length}, repeats ${attempts.length - new Set(attempts).size}`,
  );
  expect(end).toMatchObject({ state: 'completed', rows_done: ROWS, rows_failed: 0, scores_done: ROWS });
  expect(attempts).toHaveLength(ROWS);
  expect(await experiment.traces()).toHaveLength(ROWS);
});
