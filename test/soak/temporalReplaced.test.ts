// A service of its own: its Temporal server is replaced by an empty one.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { expect, test, vi } from 'vitest';
import { jobScheduleId } from '../../shared/maintenance/jobWorkflow.ts';
import { SWEEP_SCHEDULE } from '../../shared/records/sweepWorkflow.ts';
import { connectTemporal } from '../../shared/stores/temporal/connect.ts';
import { findTestTemporal } from '../support/findTestTemporal.ts';
import { ownPort } from '../support/ownPort.ts';
import { newExperiment } from '../support/runs.ts';
import { startServer, untilUp } from '../support/serverProcess.ts';
import { startTestService } from '../support/service.ts';

/** A server that keeps nothing on disk and has none of our search attributes. */
async function startEmptyTemporal(path: string, port: number) {
  const child = startServer(path, ['server', 'start-dev', '--headless', '--port', String(port), '--log-level', 'error']);
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  const answers = () =>
    connection
      .withDeadline(Date.now() + 1_000, () => connection.workflowService.describeNamespace({ namespace: 'default' }))
      .then(
        () => true,
        () => false,
      );
  await untilUp(child, answers, 60_000);
  await connection.close();
  return child;
}

test('a Temporal server that is replaced by an empty one costs no run, and gets what it lacks', {
  timeout: 600_000,
}, async () => {
  await using left = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'assay-temporal-'));
  left.defer(() => rm(folder, { recursive: true, force: true }));
  const path = await findTestTemporal(folder);
  const port = await ownPort();
  let temporal = await startEmptyTemporal(path, port);
  left.defer(() => void temporal.kill('SIGKILL'));
  const service = left.use(await startTestService({ TEMPORAL_ADDRESS: `127.0.0.1:${port}`, LOG_LEVEL: 'fatal' }));
  const { id: projectId } = await service.project();
  const run = async (name: string, rows: number) => {
    const experiment = await newExperiment(service.client, projectId, { name, metrics: ['exact_match'] });
    const records = Array.from({ length: rows }, (_, index) => ({ input: `${index}`, generated_output: 'a', output: 'a' }));
    await experiment.start({ runner: { kind: 'dataset_outputs' }, records });
    return experiment;
  };
  const completed = (rows: number) => ({ state: 'completed', rows_done: rows, rows_failed: 0, error: null });
  expect(await (await run('before', 3)).end(60_000)).toMatchObject(completed(3));

  const lost = await run('lost', 2_000);
  temporal.kill('SIGKILL');
  temporal = await startEmptyTemporal(path, port);
  // The first ones may meet a connection that is not there again yet.
  const after = await vi.waitFor(() => run('after', 3), { timeout: 240_000, interval: 200 });
  expect(await after.end(120_000)).toMatchObject(completed(3));
  expect(await lost.end(120_000)).toMatchObject(completed(2_000));

  const { connection, client } = await connectTemporal({ address: `127.0.0.1:${port}`, namespace: 'default' });
  left.defer(() => connection.close());
  const schedule = await client.schedule.getHandle(SWEEP_SCHEDULE).describe();
  expect(schedule.scheduleId).toBe(SWEEP_SCHEDULE);
  const job = await client.schedule.getHandle(jobScheduleId('finish-record-deletions')).describe();
  expect(job.spec.intervals).toMatchObject([{ every: 60_000 }]);
  await expect
    .poll(async () => (await client.workflow.count("AssayExperiment = 'after' AND AssayStatus = 'completed'")).count, {
      timeout: 240_000,
    })
    .toBe(1);
});
