// A service of its own: it has one slot for scores, so that a second one waits.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { taskQueues } from '../../shared/config/taskQueues.ts';
import { JOB_SCHEDULE_PREFIX } from '../../shared/maintenance/jobWorkflow.ts';
import { scoringWorkflowId } from '../../shared/scoring/workflow.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { ownPort } from '../support/ownPort.ts';
import { modelAt, newExperiment, scorerNamed } from '../support/runs.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let judge: ModelEndpoint;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  const temporalPort = await ownPort();
  service = await startTestService({ TEMPORAL_PORT: String(temporalPort), WORKER_SLOTS: 'scoring:1' });
  judge = await startModelEndpoint();
  await modelAt(service.client, 'judge', judge.url, ['judge-1']);
  connection = await Connection.connect({ address: `127.0.0.1:${temporalPort}` });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection?.close();
  await service?.[Symbol.asyncDispose]();
  await judge?.close();
});

/** Returns which queue each activity of a workflow was put on. */
async function queuesOf(workflowId: string): Promise<Record<string, string | null | undefined>> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  return Object.fromEntries(
    (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [[scheduled.activityType?.name, scheduled.taskQueue?.name]] : [],
    ),
  );
}

test('an experiment does not wait for log streams, however many wait for their judges', async () => {
  const answered = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  judge.otherwise(async (request, response) => {
    asked.resolve();
    await answered.promise;
    await says('{"explanation": "it agrees", "verdict": true}')(request, response);
  });
  const { id: projectId } = await service.project();
  const scorer = await scorerNamed(service.client, 'correctness');
  const streams: string[] = [];
  for (const name of ['first', 'second']) {
    const stream = await service.client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name } });
    await service.client.send(`/projects/${projectId}/runs/${stream.id}/scorer-settings`, {
      body: { run_id: stream.id, scorers: [scorer] },
    });
    await service.client.send(`/projects/${projectId}/traces`, {
      body: { log_stream_id: stream.id, traces: [{ input: 'a question', output: 'an answer' }] },
    });
    streams.push(stream.id);
  }
  await asked.promise; // the one slot for scores of log streams is taken

  const experiment = await newExperiment(service.client, projectId, { name: 'beside', metrics: ['exact_match'] });
  const records = [{ input: 'a question', output: 'an answer', generated_output: 'an answer' }];
  await experiment.start({ runner: { kind: 'dataset_outputs' }, records });
  expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 1 });
  expect(judge.requests).toHaveLength(1);
  expect(await queuesOf(experiment.workflowId())).toMatchObject({
    planExperiment: taskQueues.control,
    finishExperiment: taskQueues.control,
  });

  // Nor do its scores, when they are computed anew.
  await service.client.send(`/projects/${projectId}/recompute-metrics`, {
    body: { experiment_id: experiment.id, scorer_ids: [(await scorerNamed(service.client, 'json_validity')).id] },
  });
  await expect.poll(async () => (await experiment.traces())[0]?.metric_info?.json_validity?.status_type).toBe('success');
  expect(await queuesOf(scoringWorkflowId(experiment.id))).toMatchObject({ scoreMarked: taskQueues.rows });
  expect(judge.requests).toHaveLength(1);

  answered.resolve();
  for (const streamId of streams) {
    const scored = async () => {
      const { records } = await service.client.send<{ records: { metric_info: Record<string, { value?: unknown }> | null }[] }>(
        `/projects/${projectId}/traces/search`,
        { body: { log_stream_id: streamId } },
      );
      return records[0]?.metric_info?.correctness?.value;
    };
    await expect.poll(scored).toBe(true);
    expect(await queuesOf(scoringWorkflowId(streamId))).toMatchObject({
      prepareScoring: taskQueues.scoring,
      scoreMarked: taskQueues.scoring,
    });
  }
});

test('every recurring job has a schedule of its own, as the page on workers says, and its work is on the maintenance queue', async () => {
  const listed: string[] = [];
  for await (const { scheduleId } of client.schedule.list())
    if (scheduleId.startsWith(JOB_SCHEDULE_PREFIX)) listed.push(scheduleId.slice(JOB_SCHEDULE_PREFIX.length));
  const page = readFileSync(join(import.meta.dirname, '../../docs/workers.md'), 'utf8');
  const [, table = ''] = page.split('## Recurring jobs');
  const described = [...(table.split('\n## ')[0]?.matchAll(/^\| `([a-z-]+)` \|/gm) ?? [])].map(([, name]) => name);
  expect(listed.sort()).toEqual(described.sort());

  const { info } = await client.schedule.getHandle(`${JOB_SCHEDULE_PREFIX}finish-record-deletions`).describe();
  const [run] = info.recentActions;
  if (run?.action.type !== 'startWorkflow') throw new Error('the start has run no job');
  const { workflow } = run.action;
  await client.workflow.getHandle(workflow.workflowId).result();
  expect(await queuesOf(workflow.workflowId)).toEqual({ runRecurringJob: taskQueues.maintenance });
});
