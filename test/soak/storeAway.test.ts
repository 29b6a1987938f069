// A service of its own: its record store is killed or stopped.
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

test('a record store that is killed and away for 10 s fails no row, loses none and repeats none', {
  timeout: 600_000,
}, async () => {
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

test('a file of which nothing can be read is answered with 503 and Retry-After, not with a broken one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-away-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clickhouse = await startClickHouseServer({ dataDir: join(folder, 'clickhouse') });
  onTestFinished(() => clickhouse.stop());
  const service = await startTestService({ CLICKHOUSE_URL: clickhouse.url });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const { id } = await service.project();
  const { id: log_stream_id } = await service.client.send<{ id: string }>(`/projects/${id}/log_streams`, {
    body: { name: 'away' },
  });
  await service.client.send(`/projects/${id}/traces`, { body: { log_stream_id, traces: [{ input: 'q', output: 'a' }] } });
  const form = new FormData();
  form.set('file', new Blob(['input\nq1\nq2\n']), 'rows.csv');
  const dataset = await service.client.send<{ id: string }>('/datasets?format=csv', { form });
  const asked: [method: string, path: string, body?: object][] = [
    ['GET', `/datasets/${dataset.id}/content`],
    ['GET', `/datasets/${dataset.id}/download`],
    ...['jsonl', 'jsonl_flat', 'csv', 'parquet'].map((export_format): [string, string, object] => [
      ...(['POST', `/projects/${id}/export_records`] as const),
      { log_stream_id, root_type: 'trace', export_format, column_ids: ['input'] },
    ]),
  ];
  const ask = ([method, path, body]: (typeof asked)[number]) =>
    fetch(`${service.url}${path}`, {
      method,
      headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  for (const request of asked) {
    const answer = await ask(request);
    await answer.arrayBuffer();
    expect([request, answer.status]).toEqual([request, 200]);
  }
  await clickhouse.kill();
  for (const request of asked) {
    const answer = await ask(request);
    expect([request, answer.status, answer.headers.get('retry-after')]).toEqual([request, 503, '2']);
    expect(await answer.json()).toMatchObject({
      detail: expect.stringContaining('record store'),
      error_code: expect.any(Number),
    });
  }
});
