import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { type Answer, late, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { type AtKill, paidOnlyUnwrittenTwice, storedValues } from '../support/paidTwice.ts';
import { processTree, untilGone } from '../support/processTree.ts';
import { type ExperimentOf, experimentOf, modelAt, newExperiment, scorerNamed } from '../support/runs.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';
import { stopHeard } from '../support/stopHeard.ts';

const VERDICT = says('{"explanation": "it agrees", "verdict": true}');
const CONCURRENCY = 20;

let folder: string;
let where: ServiceFolder;
let service: ServiceProcess;
let client: ServiceClient;
let judge: ModelEndpoint;
let projectId: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-scores-'));
  await writeFile(join(folder, 'echo.mjs'), 'export default (input) => input;');
  judge = await startModelEndpoint();
  where = await serviceFolder(join(folder, 'data'), { RUNNERS_DIR: folder });
  await start();
  ({ id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'scores' } }));
  await modelAt(client, 'judge', judge.url, ['judge-1']);
});
afterAll(async () => {
  await service?.kill('SIGTERM');
  await judge?.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  service = await where.start();
  client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
}

/** @returns calls of the judge, and values of the run in the store's own files, before the service is started again */
async function kill(runId: string): Promise<AtKill> {
  const all = await processTree(service.child.pid as number);
  await service.kill('SIGKILL');
  await untilGone(all);
  const calls = judge.requests.length;
  const stored = await storedValues(join(folder, 'data'), runId);
  await start();
  return { calls, stored };
}

const questions = (count: number) => Array.from({ length: count }, (_, index) => ({ input: `q${index}`, output: `q${index}` }));
const experiment = (name: string, metrics: string[]) => newExperiment(client, projectId, { name, metrics });
/** The same experiment by the service that runs now. */
const again = ({ id }: ExperimentOf): ExperimentOf => experimentOf(client, projectId, id);
const run = (rows: number) =>
  ({ runner: { kind: 'module', name: 'echo' }, records: questions(rows), concurrency: CONCURRENCY }) as const;
const states = async (one: ExperimentOf, metric: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { metric_info } of await one.traces()) {
    const state = metric_info?.[metric]?.status_type ?? 'none';
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
};
/** Waits for so many calls of the judge since `from`. */
const calls = (from: number, count: number) =>
  expect.poll(() => judge.requests.length - from, { interval: 5 }).toBeGreaterThanOrEqual(count);

test('a re-scoring that is killed again and again pays for no value twice, beyond those in flight', async () => {
  const ROWS = 400;
  /** Values computed at once, and those that may wait for their write. */
  const unwritten = CONCURRENCY + 250;
  const one = await experiment('killed', ['exact_match']);
  await one.start(run(ROWS));
  await one.end();
  const scorer = await scorerNamed(client, 'correctness');
  await client.send(`/projects/${projectId}/runs/${one.id}/scorer-settings`, { body: { run_id: one.id, scorers: [scorer] } });

  judge.otherwise(late(200, VERDICT));
  const before = judge.requests.length;
  await one.start({ rows_to_run: 'none', concurrency: CONCURRENCY });
  /** Of each kill; the row's own metric has all its values before. */
  const kills = [{ calls: before, stored: ROWS }];
  for (const at of [120, 300]) {
    await calls(before, at);
    kills.push(await kill(one.id));
  }
  const ended = await again(one).end();
  expect(ended).toMatchObject({ state: 'completed', rows_done: ROWS, scores_done: ROWS });
  expect(await states(again(one), 'correctness')).toEqual({ success: ROWS });
  paidOnlyUnwrittenTwice(kills, { calls: judge.requests.length, stored: 2 * ROWS }, { atOnce: CONCURRENCY, unwritten });
}, 600_000);

describe('answers that were paid for are kept', () => {
  /** Each answer comes when it is let through. */
  const gated = () => {
    const gate = Promise.withResolvers<void>();
    let asked = 0;
    const answer: Answer = async (request, response) => {
      if (++asked > CONCURRENCY) await gate.promise;
      await VERDICT(request, response);
    };
    return { answer, open: gate.resolve };
  };

  test('by a cancel', async () => {
    const { answer, open } = gated();
    judge.otherwise(answer);
    const before = judge.requests.length;
    const one = await experiment('cancelled', ['correctness']);
    await one.start(run(100));
    await calls(before, 2 * CONCURRENCY);
    await one.steer('cancel');
    await stopHeard(`127.0.0.1:${where.environment.TEMPORAL_PORT}`, one.workflowId());
    open(); // within the grace
    expect(await one.end()).toMatchObject({ state: 'cancelled' });
    const paid = judge.requests.length - before;
    expect(paid).toBe(2 * CONCURRENCY);
    expect((await states(one, 'correctness')).success).toBe(paid);

    judge.otherwise(VERDICT);
    await one.start({ rows_to_run: 'none' });
    expect(await one.end()).toMatchObject({ state: 'completed', scores_done: 100 });
    expect(judge.requests.length - before).toBe(100);
  }, 600_000);

  test('by a pause, however long they take', async () => {
    const { answer, open } = gated();
    judge.otherwise(answer);
    const before = judge.requests.length;
    const one = await experiment('paused', ['correctness']);
    await one.start(run(100));
    await calls(before, 2 * CONCURRENCY);
    await one.steer('pause');
    setTimeout(open, 12_000); // a cancel would have given them up
    await one.until(({ scores_done }) => scores_done === 2 * CONCURRENCY);
    expect(judge.requests.length - before).toBe(2 * CONCURRENCY);
    await one.steer('resume');
    expect(await one.end()).toMatchObject({ state: 'completed', scores_done: 100 });
    expect(judge.requests.length - before).toBe(100);
  }, 600_000);
});

test('a scorer that is edited amid a run judges nothing of it; the next run judges all of it by the new version', async () => {
  const body = { name: 'politeness', scorer_type: 'llm', output_type: 'boolean', scoreable_node_types: ['trace'] };
  const scorer = await client.send<{ id: string; name: string; scorer_type: string }>('/scorers', { body });
  const edit = (prompt: string) => client.send(`/scorers/${scorer.id}/version/llm`, { body: { user_prompt: prompt } });
  await edit('Is the FIRST polite?');
  const gate = Promise.withResolvers<void>();
  judge.otherwise(async (request, response) => {
    await gate.promise;
    await VERDICT(request, response);
  });
  const one = await experiment('edited', []);
  await client.send(`/projects/${projectId}/runs/${one.id}/scorer-settings`, {
    body: { run_id: one.id, scorers: [{ id: scorer.id, scorer_type: scorer.scorer_type }] },
  });
  const before = judge.requests.length;
  const asked = () => judge.requests.slice(before).map(({ text }) => (text.includes('FIRST') ? 'first' : 'second'));
  await one.start(run(60));
  await calls(before, CONCURRENCY);
  await edit('Is the SECOND polite?');
  await one.steer('concurrency', { concurrency: CONCURRENCY - 1 }); // whatever is given out anew
  gate.resolve();
  expect(await one.end()).toMatchObject({ state: 'completed', scores_done: 60 });
  expect(asked()).toEqual(Array(60).fill('first'));

  // It is named by its name or its column; none of its values is missing, so nothing is started.
  await one.start({ rows_to_run: { metric: scorer.name, state: ['missing', 'failed'] } });
  expect(await one.end()).toMatchObject({ state: 'completed', rerun: null });
  expect(asked()).toHaveLength(60);
  await one.start({ rows_to_run: { metric: scorer.id, state: ['stale'] } });
  expect(await one.end()).toMatchObject({ state: 'completed', scores_done: 60 });
  expect(asked().slice(60)).toEqual(Array(60).fill('second'));

  // Good values are computed again where somebody asks for it.
  const { job_ids } = await client.send<{ job_ids: string[] }>(`/projects/${projectId}/recompute-metrics`, {
    body: { experiment_id: one.id, scorer_ids: [scorer.id] },
  });
  await expect.poll(async () => (await client.send<{ status: string }>(`/jobs/${job_ids[0]}`)).status).toBe('completed');
  expect(asked()).toHaveLength(180);
}, 600_000);
