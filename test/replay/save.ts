/**
 * Records the histories that `replay.test.ts` replays, from real runs of a real service: `node test/replay/save.ts`. To be run when a change of the
 * workflow is released: histories of runs that may still be open then stay beside the new ones, under another name.
 */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { ServiceClient } from '../../client/http.ts';
import { extensionWorkflowId } from '../../shared/datasetExtensions/workflow.ts';
import { jobScheduleId } from '../../shared/maintenance/jobWorkflow.ts';
import { SWEEP_SCHEDULE } from '../../shared/records/sweepWorkflow.ts';
import { scoringWorkflowId } from '../../shared/scoring/workflow.ts';
import { startBareTemporal } from '../support/bareTemporal.ts';
import { says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { type ExperimentOf, newExperiment, scorerNamed } from '../support/runs.ts';
import { serviceFolder } from '../support/serviceProcess.ts';
import { historyFolder } from './historyFolder.ts';

/** Events after which a workflow continues as new: few, so that the history is short. */
const SHORT_HISTORY = 40;

/** Traces logged at a time. */
const LOGGED = 40;

/** Where it was recorded is of no matter to a replay. */
const withoutPlace = (key: string, value: unknown): unknown =>
  key === 'identity' ? 'recorder' : key === 'stackTrace' ? '' : value;

const folder = await mkdtemp(join(tmpdir(), 'assay-histories-'));
await writeFile(
  join(folder, 'slow.mjs'),
  "import { setTimeout } from 'node:timers/promises'; export default async (input) => { await setTimeout(300); return input; };",
);
await writeFile(join(folder, 'broken.mjs'), 'export default 7;');
await mkdir(historyFolder, { recursive: true });

const { address, server } = await startBareTemporal(folder, { 'limit.historyCount.suggestContinueAsNew': SHORT_HISTORY });
const where = await serviceFolder(join(folder, 'data'), {
  TEMPORAL_ADDRESS: address,
  RUNNERS_DIR: folder,
  SESSION_IDLE_SECONDS: '2',
});
const service = await where.start();
const connection = await Connection.connect({ address });
try {
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const { workflow } = new Client({ connection });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'histories' } });
  const started = async (
    name: string,
    { runner = 'slow', rows = 40, concurrency = 10, metrics = ['exact_match'] } = {},
  ): Promise<ExperimentOf> => {
    const one = await newExperiment(client, projectId, { name, metrics });
    const records = Array.from({ length: rows }, (_, index) => ({ input: `question ${index}`, output: `question ${index}` }));
    await one.start({ runner: { kind: 'module', name: runner }, records, concurrency });
    return one;
  };
  const save = (name: string, one: ExperimentOf, runId?: string) => saveHistory(name, one.workflowId(), runId);
  const saveHistory = async (name: string, workflowId: string, runId?: string) => {
    const history = historyToJSON(await workflow.getHandle(workflowId, runId).fetchHistory());
    await writeFile(
      join(historyFolder, `${name}.json`),
      `${JSON.stringify({ workflowId, history: JSON.parse(history.replaceAll(hostname(), 'host'), withoutPlace) }, null, 1)}\n`,
    );
  };

  const runIdOf = (one: ExperimentOf) => runIdOfWorkflow(one.workflowId());
  const runIdOfWorkflow = async (workflowId: string) => (await workflow.getHandle(workflowId).describe()).runId;

  const plain = await started('plain');
  await plain.end();
  await save('plain', plain);

  // So many that the first are scored while the last still run.
  const along = await started('scored along', { rows: 1_000, concurrency: 60 });
  const alongFirst = await runIdOf(along); // what is left to score may be in a further history
  await along.end();
  await save('scoredAlong', along, alongFirst);

  const paused = await started('paused');
  const pausedFirst = await runIdOf(paused); // what comes after the pause may be in a further history
  await paused.until(({ rows_done }) => rows_done >= 10);
  await paused.steer('pause');
  await setTimeout(2_000); // the rows in flight have ended by then, and the workflow waits
  await paused.steer('resume');
  await paused.end();
  await save('paused', paused, pausedFirst);

  const resumed = await started('resumed while rows end');
  const resumedFirst = await runIdOf(resumed);
  await resumed.until(({ rows_done }) => rows_done >= 10);
  await resumed.steer('pause');
  await resumed.steer('resume');
  await resumed.end();
  await save('resumedWhileRowsEnd', resumed, resumedFirst);

  const changed = await started('concurrency changed');
  await changed.until(({ rows_done }) => rows_done >= 10);
  await changed.steer('concurrency', { concurrency: 4 });
  await changed.end();
  await save('concurrencyChanged', changed);

  const cancelled = await started('cancelled');
  await cancelled.until(({ rows_done }) => rows_done >= 10);
  await cancelled.steer('cancel');
  await cancelled.end();
  await save('cancelled', cancelled);

  const failed = await started('failed', { runner: 'broken' });
  await failed.end();
  await save('failed', failed);

  // Each change of the concurrency is a round of chunks: enough of them and the history counts as long.
  const carried = await started('carried over');
  const first = await runIdOf(carried);
  for (let concurrency = 2; ; concurrency = 5 - concurrency) {
    if ((await runIdOf(carried)) !== first) break;
    await carried.steer('concurrency', { concurrency });
    const { rows_done: before } = await carried.progress();
    await carried.until(({ rows_done }) => rows_done > before);
  }
  await carried.end();
  await save('carriedOverFrom', carried, first);
  await save('carriedOver', carried);

  // A dataset that a model fills in two answers.
  const endpoint = await startModelEndpoint();
  try {
    endpoint.next(says('["one"]'));
    endpoint.otherwise(says('["two"]'));
    const integration = { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['a-model'] };
    await client.send('/integrations/custom/local', { method: 'PUT', body: integration });
    const wanted = { prompt_settings: { model_alias: 'a-model' }, prompt: 'a prompt', count: 2 };
    const { dataset_id } = await client.send<{ dataset_id: string }>('/datasets/extend', { body: wanted });
    await workflow.getHandle(extensionWorkflowId(dataset_id)).result();
    await saveHistory('extended', extensionWorkflowId(dataset_id));

    // One of two metrics is plain code, and computed while rows still run; a judge gives the other when they have ended.
    endpoint.otherwise(says('{"explanation": "so it is", "verdict": true}'));
    const beside = await started('scored beside a judge', { rows: 100, concurrency: 5, metrics: ['exact_match', 'correctness'] });
    const besideFirst = await runIdOf(beside);
    await beside.end();
    await save('scoredBesideJudge', beside, besideFirst);
  } finally {
    await endpoint.close();
  }

  // The scoring of a log stream: what is asked for, then what is logged, until the history counts as long.
  const { id: streamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'scored' } });
  const scoring = scoringWorkflowId(streamId);
  const log = () =>
    client.send(`/projects/${projectId}/traces`, {
      body: {
        log_stream_id: streamId,
        traces: Array.from({ length: LOGGED }, (_, index) => ({ input: `question ${index}`, output: '{}' })),
      },
    });
  const scored = async (count: number) => {
    while ((await workflow.getHandle(scoring).query<{ scored: number }>('progress')).scored < count) await setTimeout(50);
  };
  const scorer = await scorerNamed(client, 'json_validity');
  await log();
  await client.send(`/projects/${projectId}/recompute-metrics`, { body: { log_stream_id: streamId, scorer_ids: [scorer.id] } });
  await scored(LOGGED);
  await client.send(`/projects/${projectId}/runs/${streamId}/scorer-settings`, { body: { run_id: streamId, scorers: [scorer] } });
  const scoringFirst = await runIdOfWorkflow(scoring);
  for (let times = 2; (await runIdOfWorkflow(scoring)) === scoringFirst; times++) {
    await log();
    await scored(times * LOGGED);
  }
  await setTimeout(1_000); // the workflow waits for more by then
  await saveHistory('scoredCarriedOverFrom', scoring, scoringFirst);
  await saveHistory('scored', scoring);

  // A session that is scored once it is idle, and again after a trace that comes later.
  const talks = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'sessions' } });
  const ofSessions = { ...(await scorerNamed(client, 'total_tokens')), scoreable_node_types: ['session'] };
  await client.send(`/projects/${projectId}/runs/${talks.id}/scorer-settings`, {
    body: { run_id: talks.id, scorers: [ofSessions] },
  });
  const talking = scoringWorkflowId(talks.id);
  const talk = () =>
    client.send(`/projects/${projectId}/traces`, {
      body: { log_stream_id: talks.id, session_external_id: 'talk', traces: [{ input: 'question', output: 'answer' }] },
    });
  await talk();
  let talkingFirst: string | undefined;
  while (talkingFirst === undefined) {
    talkingFirst = await runIdOfWorkflow(talking).catch(() => undefined); // it starts a second later
    await setTimeout(50);
  }
  const values = async () => (await workflow.getHandle(talking).query<{ scored: number }>('progress')).scored;
  while ((await values()) < 1) await setTimeout(50);
  await talk();
  while ((await values()) < 2) await setTimeout(50);
  await saveHistory('idleSession', talking, talkingFirst);

  // A recurring job, as each start runs it.
  const schedule = new Client({ connection }).schedule.getHandle(jobScheduleId('finish-record-deletions'));
  const [run] = (await schedule.describe()).info.recentActions;
  if (run?.action.type !== 'startWorkflow') throw new Error('the start has run no job');
  const { workflowId } = run.action.workflow;
  await workflow.getHandle(workflowId).result();
  await saveHistory('recurringJob', workflowId);

  // A sweep of projects with a retention, one of which holds what has expired.
  const swept = await client.send<{ id: string }>('/projects', { body: { name: 'swept' } });
  const old = { input: 'expired', created_at: new Date(Date.now() - 10 * 86_400_000).toISOString() };
  const { id: logId } = await client.send<{ id: string }>(`/projects/${swept.id}/log_streams`, { body: { name: 'old' } });
  await client.send(`/projects/${swept.id}/traces`, { body: { log_stream_id: logId, traces: [old] } });
  for (const id of [projectId, swept.id])
    await client.send(`/projects/${id}/retention`, { method: 'PUT', body: { retention_days: 1 } });
  const sweeps = new Client({ connection }).schedule.getHandle(SWEEP_SCHEDULE);
  await sweeps.trigger();
  let sweep: string | undefined;
  while (sweep === undefined) {
    const [started] = (await sweeps.describe()).info.recentActions;
    if (started?.action.type === 'startWorkflow') sweep = started.action.workflow.workflowId;
    else await setTimeout(50);
  }
  await workflow.getHandle(sweep).result();
  await saveHistory('sweep', sweep);
} finally {
  await connection.close();
  await service.kill('SIGTERM');
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
