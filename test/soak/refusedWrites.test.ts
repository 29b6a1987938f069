import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { HttpStatusError } from '../../client/errors.ts';
import { ServiceClient } from '../../client/http.ts';
import { attemptNumber } from '../../shared/experiments/rowLog.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { LoggedTrace } from '../../shared/recordSchemas/loggedRecords.ts';
import { logTraces } from '../../shared/records/ingest.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { straySpans } from '../../shared/stores/clickhouse/writes/recordDeletion.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { processTree } from '../support/processTree.ts';
import { newExperiment } from '../support/runs.ts';
import { serviceFolder } from '../support/serviceProcess.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'assay-refused-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const Row = z.object({ id: z.string(), output: z.string().nullable(), attempt: z.number() });
const RECORDS = 'SELECT toString(id) AS id, output, attempt FROM records FINAL WHERE run_id = {run:UUID} ORDER BY type DESC, id';

test('what a worker writes that was taken for dead is refused, and its spans do not stay beside those of its successor', async () => {
  const clickhouse = openClickHouse({ dataDir: await folder() });
  onTestFinished(() => clickhouse.close());
  await migrateTables(clickhouse);
  const run = { projectId: newId(), runId: newId() };
  // Two workers, each with a writer of its own.
  const [zombie, successor] = [1, 2].map(() => new RecordWriter({ store: clickhouseRecordStore(clickhouse) })) as [
    RecordWriter,
    RecordWriter,
  ];
  const trace = newId();
  const spans = [newId(), newId(), newId()];
  const row = (output: string, spanIds: string[]) =>
    [
      { type: 'trace', id: trace, input: 'q', output, spans: spanIds.map((id) => ({ type: 'tool', id, input: 'x', output })) },
    ] as unknown as LoggedTrace[];
  const attempts = {
    first: attemptNumber(1, 1, 1),
    retried: attemptNumber(1, 1, 2),
    nextRound: attemptNumber(1, 2, 1),
    nextRun: attemptNumber(2, 1, 1),
  };
  expect(Object.values(attempts)).toEqual([...Object.values(attempts)].sort((a, b) => a - b));

  await logTraces(successor, run, row('of the successor', spans.slice(0, 1)), { attempt: attempts.retried });
  await logTraces(zombie, run, row('of the zombie', spans), { attempt: attempts.first });
  const read = () => clickhouse.query({ name: 'records of the row', sql: RECORDS, params: { run: run.runId }, row: Row });
  const before = await read();
  expect(before.find(({ id }) => id === trace)).toMatchObject({ output: 'of the successor', attempt: attempts.retried });
  expect(before.find(({ id }) => id === spans[0])).toMatchObject({ attempt: attempts.retried });
  expect(before.map(({ id }) => id).sort()).toEqual([trace, spans[0]].sort());
  expect(await straySpans(clickhouse, run)).toEqual([]);

  // A later round and a later run outrank both.
  await logTraces(zombie, run, row('of the next run', []), { attempt: attempts.nextRun });
  await logTraces(successor, run, row('of the next round', []), { attempt: attempts.nextRound });
  expect((await read()).find(({ id }) => id === trace)).toMatchObject({ output: 'of the next run' });
});

test('rows in flight of a deleted experiment are not written back, nor are results that its caller still has', {
  timeout: 600_000,
}, async () => {
  const [dataDir, runners] = [await folder(), await folder()];
  const [started, gate] = ['started.txt', 'gate'].map((name) => join(runners, name)) as [string, string];
  // The first twenty end at once; of the others each second one ends when the gate opens, and the rest when they are given up.
  await writeFile(
    join(runners, 'gated.mjs'),
    `import { appendFileSync, existsSync } from 'node:fs';
     import { setTimeout } from 'node:timers/promises';
     export default async (input, { signal }) => {
       appendFileSync(${JSON.stringify(started)}, process.pid + '\\n');
       const number = Number(input.slice(1));
       const mayEnd = () => signal.aborted || number < 20 || (number % 2 === 0 && existsSync(${JSON.stringify(gate)}));
       while (!mayEnd()) await setTimeout(20);
       return input;
     };`,
  );
  const where = await serviceFolder(dataDir, { RUNNERS_DIR: runners });
  const service = await where.start();
  onTestFinished(() => service.kill('SIGKILL'));
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'deletions' } });
  const records = Array.from({ length: 200 }, (_, index) => ({ input: `q${index}` }));

  const byModule = await newExperiment(client, projectId, { name: 'of a module', metrics: ['exact_match'] });
  await byModule.start({ runner: { kind: 'module', name: 'gated' }, records, concurrency: 20 });
  const byCaller = await newExperiment(client, projectId, { name: 'of a caller' });
  const process_ = newId();
  await byCaller.start({ runner: { kind: 'caller_function' }, records, process: process_, concurrency: 20 });
  const path = `/projects/${projectId}/experiments`;
  const lease = await client.send<{ rows: { ordinal: number }[] }>(`${path}/${byCaller.id}/rows/lease`, {
    body: { process: process_, limit: 5 },
  });
  expect(lease.rows).toHaveLength(5);
  await byModule.until(({ rows_done }) => rows_done >= 20);
  const hostOfEach = async () => (await readFile(started, 'utf8')).split('\n').filter(Boolean).map(Number);
  await expect.poll(() => hostOfEach().then(({ length }) => length)).toBe(40); // the second twenty are in flight

  await client.send(`${path}/${byModule.id}`, { method: 'DELETE' });
  await client.send(`${path}/${byCaller.id}`, { method: 'DELETE' });
  const result = { ordinal: lease.rows[0]?.ordinal, output: 'late', started_at: new Date().toISOString(), duration_ns: 1 };
  const late = client.send(`${path}/${byCaller.id}/rows/results`, { body: { process: process_, results: [result] } });
  await expect(late).rejects.toSatisfy((err) => err instanceof HttpStatusError && err.status === 404);
  await writeFile(gate, '');
  // The process of a run goes when the run has given up its last row.
  const [host] = await hostOfEach();
  await expect.poll(() => processTree(host as number)).toEqual([]);
  expect((await hostOfEach()).length).toBeLessThan(records.length); // a run that goes on would never have been given up
  await service.kill('SIGTERM');

  const clickhouse = openClickHouse({ dataDir: join(dataDir, 'clickhouse') });
  onTestFinished(() => clickhouse.close());
  for (const run of [byModule.id, byCaller.id]) {
    expect(await clickhouse.query({ name: 'records left', sql: RECORDS, params: { run }, row: Row })).toEqual([]);
    const values = await clickhouse.query({
      name: 'values left',
      sql: 'SELECT toString(record_id) AS id FROM metric_values FINAL WHERE run_id = {run:UUID}',
      params: { run },
      row: z.object({ id: z.string() }),
    });
    expect(values).toEqual([]);
  }
});
