import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { z } from 'zod';
import { createDataset } from '../../client/datasets.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { LeaseReply, RunRequest } from '../../shared/wire/experimentRuns.ts';
import { type Answer, fails, late, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { ownPort } from '../support/ownPort.ts';
import { modelAt, newExperiment, scorerNamed } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import { stopHeard } from '../support/stopHeard.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
let template: string;

/** Runner modules of these tests. Each appends a line per execution to a file of its own name. */
const modules = {
  // The row says what happens: it ends its process, holds the event loop for ever, never answers, fails, or gives its input back.
  moody: `
    if (input === 'poison') process.kill(process.pid, 'SIGKILL');
    if (input === 'loop') for (;;);
    if (input === 'hang') await new Promise(() => {});
    if (input === 'fail') throw new RangeError('no such number');
    await setTimeout(20);
    return input;`,
  /** Its output says which start of the experiment ran it. */
  plain: 'return Math.floor(attempt / 1_000_000);',
  slow: 'await setTimeout(200); return input;',
  /** Waits until the test lets go the rows of its first word. */
  held: "while (!existsSync(join(import.meta.dirname, input.split(' ')[0] + '.gate'))) await setTimeout(20); return input;",
  // Fails at each row's first time.
  learner: `
    if (attempt < 2_000_000 && row.ordinal % 3 === 0) throw new Error('not yet');
    return input;`,
};

beforeAll(async () => {
  service = await sharedTestService();
  for (const [name, body] of Object.entries(modules)) {
    const file = JSON.stringify(executionsFile(name));
    await writeFile(
      join(service.runnersDir, `${name}.mjs`),
      `import { appendFileSync, existsSync } from 'node:fs';
       import { join } from 'node:path';
       import { setTimeout } from 'node:timers/promises';
       export default async (input, { row, attempt }) => {
         appendFileSync(${file}, row.id + ' ' + row.ordinal + '\\n');
         ${body}
       };`,
    );
  }
  await writeFile(join(service.runnersDir, 'broken.mjs'), 'export default 7;');
  await writeFile(join(service.runnersDir, 'stillborn.mjs'), 'process.exit(3);');
  project = await service.project();
  const { selected_version_id } = await service.client.send<{ selected_version_id: string }>('/templates', {
    body: { name: `ask ${newId()}`, template: '{{input}}' },
    query: { project_id: project.id },
  });
  template = selected_version_id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

const executionsFile = (name: string) => join(service.runnersDir, `${name}.txt`);
const executions = async (name: string): Promise<string[]> =>
  (await readFile(executionsFile(name), 'utf8').catch(() => '')).split('\n').filter(Boolean);
const experiment = (name: string, fields: { metrics?: string[]; [field: string]: unknown } = {}) =>
  newExperiment(service.client, project.id, { name, ...fields });
const questions = (count: number) => Array.from({ length: count }, (_, index) => ({ input: `q${index}`, output: `q${index}` }));
/** Rows for the module `held`. */
const heldRows = (word: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ input: `${word} ${index}`, output: `${word} ${index}` }));
const letGo = (word: string) => writeFile(join(service.runnersDir, `${word}.gate`), '');
const module = (name: keyof typeof modules | 'broken' | 'stillborn') => ({ kind: 'module' as const, name });
const prompt = (model: string) => ({
  kind: 'prompt_template' as const,
  prompt_template_version_id: template,
  prompt_settings: { model_alias: model },
});

/** A model endpoint of this machine, and an integration for it. */
async function model(name: string, answer: Answer): Promise<ModelEndpoint & AsyncDisposable> {
  const endpoint = await startModelEndpoint();
  endpoint.otherwise(answer);
  await modelAt(service.client, name, endpoint.url, [name]);
  return { ...endpoint, [Symbol.asyncDispose]: () => endpoint.close() };
}

describe('starting', () => {
  test('a start that is sent again and again is one run', async () => {
    const one = await experiment('started once');
    const records = questions(30);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => one.start({ runner: module('slow'), records, concurrency: 10 })),
    );
    expect(answers.filter(({ started }) => started)).toHaveLength(1);
    expect(new Set(answers.map(({ workflow_id }) => workflow_id))).toEqual(new Set([one.workflowId()]));
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 30 });
    expect(await one.traces()).toHaveLength(30);
  });

  test.each([
    ['broken', 'its default export is not a function'],
    ['stillborn', 'ended at each of 3 starts'],
  ] as const)('a module that cannot run (%s) fails the run with a reason and is not tried for ever', async (name, reason) => {
    const one = await experiment(name);
    await one.start({ runner: module(name), records: questions(3) });
    const end = await one.end();
    expect(end.state).toBe('failed');
    expect(end.error).toContain(reason);
  });
});

describe('rows that fail', () => {
  test('a row that takes its process down fails alone, whatever else that process had', async () => {
    const one = await experiment('poison', { metrics: ['exact_match'] });
    const records = questions(60).map((row, index) => (index === 25 ? { input: 'poison', output: 'x' } : row));
    await one.start({ runner: module('moody'), records, concurrency: 20 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 60, rows_failed: 1 });
    const failed = (await one.traces()).filter(({ error_message }) => error_message);
    expect(failed.map(({ input, error_message }) => [input, error_message])).toEqual([
      ['poison', "the runner's process died 3 times on this row"],
    ]);
  });

  test('a row that loops, and one that never answers, end at their time limit; the others are untouched', async () => {
    const one = await experiment('loops');
    const records = questions(40).map((row, index) =>
      index === 5 ? { input: 'loop' } : index === 12 ? { input: 'hang' } : index === 20 ? { input: 'fail' } : row,
    );
    await one.start({ runner: module('moody'), records, concurrency: 40, row_time_limit_ms: 5_000 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 40, rows_failed: 3 });
    const failed = (await one.traces()).filter(({ error_message }) => error_message);
    expect(failed.map(({ input, error_message }) => [input, error_message]).sort()).toEqual([
      ['fail', 'RangeError: no such number'],
      ['hang', 'the row took longer than its time limit of 5000 ms'],
      ['loop', 'the row took longer than its time limit of 5000 ms'],
    ]);
  });

  test('a provider that fails now and then is asked a bounded number of times, and every row ends', async () => {
    let calls = 0;
    const sometimes: Answer = (request, response) => (++calls % 3 === 0 ? fails(500) : says('fine'))(request, response);
    await using endpoint = await model('unsteady', sometimes);
    const one = await experiment('unsteady');
    await one.start({ runner: prompt('unsteady'), records: questions(60), concurrency: 20, max_call_attempts: 3 });
    const end = await one.end();
    const traces = await one.traces();
    expect(end).toMatchObject({ state: 'completed', rows_done: 60 });
    expect(endpoint.requests.length).toBeLessThanOrEqual(180);
    expect(traces.filter(({ output, error_message }) => (output === 'fine') === (error_message === ''))).toHaveLength(60);
    expect(traces.filter(({ output }) => output === 'fine').length).toBeGreaterThan(50);
  });

  test('a dead model endpoint is recorded on its rows, and another run beside it is untouched', async () => {
    await modelAt(service.client, 'dead', `http://127.0.0.1:${await ownPort()}`, ['dead']);
    await using _alive = await model('alive', says('here'));
    const [dead, alive] = [await experiment('dead'), await experiment('alive')];
    const request = { records: questions(20), concurrency: 10, max_call_attempts: 2, pause_after_provider_failures: 0 };
    await Promise.all([dead.start({ ...request, runner: prompt('dead') }), alive.start({ ...request, runner: prompt('alive') })]);
    expect(await alive.end()).toMatchObject({ state: 'completed', rows_done: 20, rows_failed: 0 });
    expect(await dead.end()).toMatchObject({ state: 'completed', rows_done: 20, rows_failed: 20 });
    for (const { error_message, status_code } of await dead.traces()) {
      expect(error_message).not.toBe('');
      expect(status_code).toBe(500);
    }
  });

  test('many failures in a row pause the run; resumed, it goes on', async () => {
    let works = false;
    await using endpoint = await model('down', (request, response) => (works ? says('up') : fails(400))(request, response));
    const one = await experiment('breaker');
    await one.start({ runner: prompt('down'), records: questions(60), concurrency: 5, pause_after_failures: 10 });
    await one.until(({ state }) => state === 'paused');
    const calls = endpoint.requests.length;
    expect(calls).toBeLessThanOrEqual(15);
    works = true;
    await one.steer('resume');
    const end = await one.end();
    expect(end).toMatchObject({ state: 'completed', rows_done: 60, rows_failed: calls });
  });

  test('many failures in a row of a function of the caller pause the run, too', async () => {
    const one = await experiment('breaker of a caller');
    const process = newId();
    const at = `/projects/${project.id}/experiments/${one.id}/rows`;
    const work = async (outcome: { output: string } | { error: string }) => {
      for (;;) {
        const { state, rows } = await service.client.send<z.output<typeof LeaseReply>>(`${at}/lease`, {
          body: { process, limit: 5, wait_ms: 500 },
        });
        if (rows.length === 0 && ['completed', 'paused'].includes(state)) return;
        const results = rows.map(({ ordinal }) => ({
          ordinal,
          ...outcome,
          started_at: new Date().toISOString(),
          duration_ns: 1,
        }));
        if (results.length > 0) await service.client.send(`${at}/results`, { body: { process, results } });
      }
    };
    await one.start({ runner: { kind: 'caller_function' }, process, records: questions(120), pause_after_failures: 10 });
    await work({ error: 'the model is gone' });
    const paused = await one.until(({ state }) => state === 'paused');
    expect(paused.message).toMatch(/^\d+ rows in a row failed, the last with: the model is gone$/);
    expect(paused.rows_failed).toBeGreaterThanOrEqual(10);
    expect(paused.rows_failed).toBeLessThan(120);
    await one.steer('resume');
    await one.until(({ state }) => state !== 'paused');
    await work({ output: 'up' });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 120, rows_failed: paused.rows_failed });
  });

  test('a judge that answers no JSON fails its own value; the row and the other metrics stay', async () => {
    await using _judge = await model('babbler', says('I would rather not say.'));
    const one = await experiment('judged badly', { metrics: ['exact_match', 'correctness'] });
    await one.start({ runner: prompt('babbler'), records: questions(12), concurrency: 4 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 12, rows_failed: 0, scores_done: 24 });
    for (const { metric_info, output } of await one.traces()) {
      expect(output).toBe('I would rather not say.');
      expect(metric_info?.correctness?.status_type).toBe('error');
      expect(metric_info?.correctness?.message).toBeTruthy();
      expect(metric_info?.exact_match?.status_type).toBe('success');
    }
  });
});

test('code scores what is recorded while another row still runs, and no judge is asked; a pause and the end are as ever', async () => {
  const gate = Promise.withResolvers<void>();
  await using endpoint = await model('gated', async (request, response) => {
    if (request.text.includes('"q399"')) await gate.promise;
    return says('an answer')(request, response);
  });
  const scored = await experiment('scored along', { metrics: ['exact_match'] });
  const judged = await experiment('judged afterwards', { metrics: ['exact_match', 'correctness'] });
  for (const one of [scored, judged]) await one.start({ runner: prompt('gated'), records: questions(400), concurrency: 20 });
  const along = await scored.until(({ scores_done }) => scores_done >= 250);
  expect(along.rows_done).toBeLessThan(400);
  const alone = await judged.until(({ rows_done }) => rows_done === 399);
  expect(alone.scores_done).toBeLessThan(400);
  expect(endpoint.requests.filter(({ text }) => text.includes('impartial evaluator'))).toEqual([]);

  await scored.steer('pause');
  await scored.steer('resume');
  const atEnd = scored.end();
  gate.resolve();
  expect(await atEnd).toMatchObject({ state: 'completed', rows_done: 400, rows_failed: 0, scores_done: 400 });
  expect(await judged.end()).toMatchObject({ state: 'completed', rows_done: 400, rows_failed: 0, scores_done: 800 });
});

describe('steering', () => {
  test('a cancel stops new calls within ten calls of each lane and keeps what is recorded; a new start runs only the rest', async () => {
    const [done, steered] = [says('done'), Promise.withResolvers<void>()];
    await using endpoint = await model('cancelled', done);
    endpoint.next(...Array.from({ length: 100 }, () => done));
    // The eleventh call of each lane waits for the cancel; from then on a lane makes one in a second.
    endpoint.otherwise(async (request, response) => {
      await steered.promise;
      await late(1_000, done)(request, response);
    });
    const one = await experiment('cancelled at the third', { metrics: ['exact_match'] });
    await one.start({ runner: prompt('cancelled'), records: questions(300), concurrency: 10 });
    await one.until(({ rows_done }) => rows_done === 100);
    await one.steer('cancel');
    const atCancel = endpoint.requests.length;
    steered.resolve();
    const end = await one.end();
    expect(end.state).toBe('cancelled');
    const called = endpoint.requests.length;
    expect(called - atCancel).toBeLessThanOrEqual(10 * 10);
    expect(end.rows_done).toBe(called); // those in flight ended and were recorded
    endpoint.otherwise(done);
    await one.start({ rows_to_run: 'missing' });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 300, scores_done: 300 });
    expect(endpoint.requests.length).toBe(300);
    expect(await one.traces()).toHaveLength(300);
  });

  test('a paused run starts nothing, lets long rows end however long they take, and goes on where it was', async () => {
    const before = (await executions('held')).length;
    const one = await experiment('paused');
    await one.start({ runner: module('held'), records: heldRows('long', 12), concurrency: 4 });
    const started = async () => (await executions('held')).length - before;
    await expect.poll(started).toBe(4);
    expect((await one.steer('pause')).state).toBe('paused');
    await stopHeard(service.temporalAddress, one.workflowId());
    await letGo('long');
    await one.until(({ rows_done }) => rows_done === 4);
    await sleep(500);
    expect(await started()).toBe(4);
    expect(await one.progress()).toMatchObject({ state: 'paused', rows_done: 4 });
    await one.steer('resume');
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 12 });
    expect(await started()).toBe(12);
  });

  test('resumed while rows from before the pause still run, it goes on, gives no row up and does not stay paused', async () => {
    const before = (await executions('held')).length;
    const one = await experiment('resumed at once');
    const records = [...heldRows('first', 4), ...heldRows('second', 4)];
    await one.start({ runner: module('held'), records, concurrency: 4 });
    const started = async () => (await executions('held')).length - before;
    await expect.poll(started).toBe(4);
    expect((await one.steer('pause')).state).toBe('paused');
    expect((await one.steer('resume')).state).toBe('running');
    await one.steer('pause');
    expect((await one.steer('resume')).state).toBe('running');
    await letGo('first');
    await one.until(({ rows_done }) => rows_done === 4);
    await expect.poll(started).toBe(8);
    expect(await one.progress()).toMatchObject({ state: 'running' });
    await letGo('second');
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 8, rows_failed: 0 });
    expect(await started()).toBe(8);
  });

  test("a caller's process that waits for rows hears of a pause at once", async () => {
    const one = await experiment('paused while it waits');
    const process = crypto.randomUUID();
    await one.start({ runner: { kind: 'caller_function' }, process, records: questions(1) });
    const lease = () =>
      service.client.send<z.output<typeof LeaseReply>>(`/projects/${project.id}/experiments/${one.id}/rows/lease`, {
        body: { process, wait_ms: 30_000 },
      });
    expect((await lease()).rows).toHaveLength(1);
    const waiting = lease();
    await sleep(1_000);
    const asked = performance.now();
    await one.steer('pause');
    expect(await waiting).toMatchObject({ state: 'paused', rows: [] });
    expect(performance.now() - asked).toBeLessThan(25_000);
    await one.steer('cancel');
    await one.end();
  });

  test('a run that was paused is cancelled without waiting for a row that does not end', async () => {
    const before = (await executions('moody')).length;
    const one = await experiment('cancelled while it ends');
    await one.start({ runner: module('moody'), records: [{ input: 'hang' }], row_time_limit_ms: 120_000 });
    await expect.poll(async () => (await executions('moody')).length - before).toBe(1);
    await one.steer('pause');
    await one.steer('cancel');
    expect(await one.end(100_000)).toMatchObject({ state: 'cancelled', rows_done: 0 });
  });

  test('a paused run can be cancelled', async () => {
    const one = await experiment('paused and cancelled');
    await letGo('soon');
    const records = [...heldRows('soon', 4), ...heldRows('later', 96)];
    await one.start({ runner: module('held'), records, concurrency: 4 });
    await one.until(({ rows_done }) => rows_done === 4);
    await one.steer('pause');
    await stopHeard(service.temporalAddress, one.workflowId());
    await one.steer('cancel');
    await letGo('later');
    expect(await one.end()).toMatchObject({ state: 'cancelled' });
  });

  test('the endpoint never sees more calls at once than allowed, also after a change, and no row is given up for it', async () => {
    // Answers wait for it: a slow machine asks for fewer at once than it may, and must not be through before the concurrency is changed.
    let mayAnswer = Promise.withResolvers<void>();
    const hold = () => {
      mayAnswer = Promise.withResolvers();
    };
    const ok = late(150, says('ok'));
    await using endpoint = await model('narrow', async (request, response) => {
      if (endpoint.requests.length === 60) hold();
      await mayAnswer.promise;
      return ok(request, response);
    });
    const one = await experiment('changed concurrency');
    await one.start({ runner: prompt('narrow'), records: questions(400), concurrency: 12 });
    await expect.poll(() => endpoint.atOnce()).toBe(12);
    mayAnswer.resolve();
    await one.until(({ rows_done }) => rows_done >= 30);
    expect(endpoint.mostAtOnce()).toBe(12);
    await expect.poll(() => endpoint.requests.length).toBeGreaterThanOrEqual(60);
    await one.steer('concurrency', { concurrency: 3 });
    mayAnswer.resolve();
    // The calls that were under way end; from then on nine calls in a row are made by three lanes.
    do {
      endpoint.forgetMost();
      const before = endpoint.requests.length;
      await vi.waitUntil(() => endpoint.requests.length >= before + 9, { timeout: 240_000, interval: 5 });
    } while (endpoint.mostAtOnce() > 3 && endpoint.requests.length < 350);
    expect(endpoint.mostAtOnce()).toBeLessThanOrEqual(3);
    hold();
    await one.steer('concurrency', { concurrency: 30 });
    await expect.poll(() => endpoint.atOnce()).toBeGreaterThan(12);
    mayAnswer.resolve();
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 400, rows_failed: 0 });
    expect(endpoint.mostAtOnce()).toBeLessThanOrEqual(30);
    expect(endpoint.requests.length).toBe(400);
  });
});

describe('running again', () => {
  test('only the rows that failed are run again, and their scores replaced', async () => {
    const one = await experiment('second try', { metrics: ['exact_match'] });
    await one.start({ runner: module('learner'), records: questions(30), concurrency: 10 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 30, rows_failed: 10 });
    const before = (await executions('learner')).length;
    await one.start({ rows_to_run: 'failed' });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 30, rows_failed: 0, scores_done: 30 });
    expect((await executions('learner')).length - before).toBe(10);
    const traces = await one.traces();
    expect(traces).toHaveLength(30);
    expect(traces.filter(({ metric_info }) => metric_info?.exact_match?.status_type !== 'success')).toEqual([]);
  });

  test('scores alone are computed without running a row: what failed, and what other settings judged', async () => {
    let verdict = false;
    const judged: Answer = (request, response) =>
      request.text.includes('impartial evaluator') && !verdict && request.text.includes('q3')
        ? fails(400)(request, response)
        : says(JSON.stringify({ explanation: 'so it is', verdict }))(request, response);
    await using endpoint = await model('strict', judged);
    const one = await experiment('scored again', { metrics: ['correctness'] });
    const states = async () =>
      Object.groupBy(
        (await one.traces()).map(({ metric_info }) => metric_info?.correctness ?? { status_type: 'none' }),
        (value) => String(value.value ?? value.status_type),
      );
    await one.start({ runner: prompt('strict'), records: questions(10) });
    expect(await one.end()).toMatchObject({ state: 'completed', scores_done: 10 });
    expect(endpoint.requests).toHaveLength(20);
    expect(await states()).toMatchObject({ false: { length: 9 }, failed: { length: 1 } });

    verdict = true;
    await one.start({ rows_to_run: 'none' });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 10, scores_done: 10 });
    expect(endpoint.requests).toHaveLength(21);
    expect(await states()).toMatchObject({ false: { length: 9 }, true: { length: 1 } });

    const scorer = await scorerNamed(service.client, 'correctness');
    await service.client.send(`/projects/${project.id}/runs/${one.id}/scorer-settings`, {
      body: { run_id: one.id, scorers: [{ ...scorer, num_judges: 2 }] },
    });
    await one.start({ rows_to_run: 'none' });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 10, scores_done: 10 });
    expect(endpoint.requests).toHaveLength(41);
    expect(await states()).toMatchObject({ true: { length: 10 } });
  });

  interface RowTrace {
    dataset_row_id: string;
    dataset_row_ordinal: number;
    trial: number;
    output: string;
  }

  /** Times that each row was executed since so many lines, by ordinal of its dataset. */
  const timesRun = async (name: string, from: number) => {
    const times: Record<string, number> = {};
    for (const line of (await executions(name)).slice(from)) {
      const ordinal = line.split(' ')[1] as string;
      times[ordinal] = (times[ordinal] ?? 0) + 1;
    }
    return times;
  };
  const lines = async (name: string) => (await executions(name)).length;
  test('listed rows run once more, by ordinal or id and trial, and no other row is touched', async () => {
    const one = await experiment('listed', { metrics: ['exact_match'] });
    await one.start({ runner: module('plain'), records: questions(40), rows: { sample: { size: 20, seed: 3 } }, trials: 2 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 40 });
    const found = async () => (await one.traces()) as unknown as RowTrace[];
    const traces = await found();
    const rows = [...new Map(traces.map((trace) => [trace.dataset_row_ordinal, trace.dataset_row_id]))].sort(([a], [b]) => a - b);
    const [a, b, c] = [rows[0], rows[7], rows[19]] as [[number, string], [number, string], [number, string]];
    const wrong = [0, 1, 2].map(
      (n) => Array.from({ length: 40 }, (_, at) => at).filter((at) => !rows.some(([row]) => row === at))[n],
    );
    const refused = async (rows_to_run: object) =>
      (await service.request('POST', `/v2/projects/${project.id}/experiments/${one.id}/run`, { rows_to_run })) as {
        status: number;
        body: { detail: { msg: string }[] };
      };
    for (const [asked, message] of [
      [{ ids: [a[1], newId()] }, /no rows with the ids [0-9a-f-]{36}:/],
      [{ ordinals: [a[0], wrong[1], 40] }, new RegExp(`no rows with the ordinals ${wrong[1]}, 40:`)],
      [{ ordinals: [a[0]], trials: [0, 2] }, /2 trials, from 0: not 2/],
      [{ ordinals: [a[0]], ids: [a[1]] }, /give one of ids and ordinals/],
      [{ row_ids: [a[1]] }, /row_ids/],
      [{ metric: 'exact_match', state: ['old'] }, /"missing"\|"failed"\|"stale"/],
      [{}, /name ids, ordinals or a metric/],
      [{ ordinals: [0], state: ['failed'] }, /go with a metric/],
      [{ metric: 'exact_match', trials: [0] }, /trials go with ids or ordinals/],
      [{ metric: 'exact_mach' }, /no metric "exact_mach"; nearest: "exact_match"/],
    ] as const) {
      const { status, body } = await refused(asked);
      expect({ status, message: body.detail.map(({ msg }) => msg).join() }).toEqual({
        status: 422,
        message: expect.stringMatching(message),
      });
    }
    const fresh = await experiment('never started');
    const early = await service.request('POST', `/v2/projects/${project.id}/experiments/${fresh.id}/run`, {
      ...{ runner: module('plain'), records: questions(3), rows_to_run: { ordinals: [1] } },
    });
    expect(early).toMatchObject({ status: 422, body: { detail: [{ msg: expect.stringMatching(/has not been started/) }] } });

    let before = await lines('plain');
    const started = await one.start({ rows_to_run: { ordinals: [c[0], a[0], a[0]] } });
    expect(started.rerun).toEqual({ again: 'rows', metric: null, state: null, executions: 4 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 40, rows_total: 40, scores_done: 40 });
    expect(await timesRun('plain', before)).toEqual({ [a[0]]: 2, [c[0]]: 2 });
    before = await lines('plain');
    await one.start({ rows_to_run: { ids: [b[1], a[1]], trials: [1] } });
    expect(await one.end()).toMatchObject({ state: 'completed', rerun: { executions: 2 } });
    expect(await timesRun('plain', before)).toEqual({ [a[0]]: 1, [b[0]]: 1 });
    const by = await found();
    expect(
      by
        .map(({ dataset_row_ordinal, trial, output }) => [dataset_row_ordinal, trial, Number(output)])
        .sort(([a, b], [c, d]) => (a as number) - (c as number) || (b as number) - (d as number)),
    ).toEqual(
      rows.flatMap(([row]) =>
        [0, 1].map((trial) => {
          if (trial === 1 && (row === a[0] || row === b[0])) return [row, trial, 3];
          return [row, trial, row === a[0] || row === c[0] ? 2 : 1];
        }),
      ),
    );
    const scored = (await one.traces()).filter(({ metric_info }) => metric_info?.exact_match?.status_type === 'success');
    expect(scored).toHaveLength(40);
  });

  test('listed rows of a function in the hands of its caller are the only ones that it is given', async () => {
    const one = await experiment('listed for a caller');
    const process = newId();
    const at = `/projects/${project.id}/experiments/${one.id}/rows`;
    const rest = new Set<number>();
    const work = async (answer: string) => {
      for (;;) {
        const { state, rows } = await service.client.send<z.output<typeof LeaseReply>>(`${at}/lease`, {
          body: { process, wait_ms: 500 },
        });
        if (rows.length === 0 && ['completed', 'failed', 'cancelled'].includes(state)) return;
        for (const { ordinal } of rows) rest.add(ordinal);
        const results = rows.map(({ ordinal }) => ({
          ...{ ordinal, output: answer, started_at: new Date().toISOString(), duration_ns: 1 },
        }));
        if (results.length > 0) await service.client.send(`${at}/results`, { body: { process, results } });
      }
    };
    await one.start({ runner: { kind: 'caller_function' }, process, records: questions(6) });
    await work('first');
    rest.clear();
    await one.start({ process, rows_to_run: { ordinals: [1, 4] } });
    const again = (ordinals: number[]) =>
      service.request('POST', `/v2/projects/${project.id}/experiments/${one.id}/run`, { process, rows_to_run: { ordinals } });
    expect(await again([1, 4])).toMatchObject({ status: 200, body: { started: false } });
    expect(await again([2])).toMatchObject({ status: 409, body: { detail: expect.stringContaining('over other rows') } });
    await work('second');
    expect([...rest]).toEqual([1, 4]);
    const outputs = (await one.traces()).map(({ input, output }) => [input, output]).sort();
    expect(outputs).toEqual(questions(6).map(({ input }, row) => [input, row === 1 || row === 4 ? 'second' : 'first']));
  });

  test('of a metric that failed, is stale or missing, the scores alone are computed, or the rows run again', async () => {
    let fails3 = true;
    const judged: Answer = (request, response) =>
      request.text.includes('impartial evaluator') && fails3 && request.text.includes('q3')
        ? fails(400)(request, response)
        : says(JSON.stringify({ explanation: 'so it is', verdict: true }))(request, response);
    await using endpoint = await model('choosy', judged);
    const one = await experiment('by metric', { metrics: ['correctness', 'exact_match'] });
    const asked = { rows: 0, judged: 0 };
    /** Calls for answers and for verdicts since this was last asked. */
    const calls = () => {
      const all = endpoint.requests.length;
      const verdicts = endpoint.requests.filter(({ text }) => text.includes('impartial evaluator')).length;
      const since = { rows: all - verdicts - asked.rows, judged: verdicts - asked.judged };
      Object.assign(asked, { rows: all - verdicts, judged: verdicts });
      return since;
    };
    const run = async (rows_to_run: z.input<typeof RunRequest>['rows_to_run']) => {
      await one.start({ rows_to_run });
      const { rerun } = await one.end();
      return { rerun, ...calls() };
    };
    await one.start({ runner: prompt('choosy'), records: questions(10) });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 10, rerun: null });
    expect(calls()).toEqual({ rows: 10, judged: 10 });

    // Judged by two from now on: nine values are stale, and the one that failed is both.
    const scorer = await scorerNamed(service.client, 'correctness');
    await service.client.send(`/projects/${project.id}/runs/${one.id}/scorer-settings`, {
      body: { run_id: one.id, scorers: [{ ...scorer, num_judges: 2 }, await scorerNamed(service.client, 'exact_match')] },
    });
    expect(await run({ metric: 'exact_match' })).toMatchObject({ rows: 0, judged: 0 });
    expect(await run({ metric: 'correctness', state: ['missing'] })).toMatchObject({ rows: 0, judged: 0 });
    fails3 = false;
    expect(await run({ metric: 'metrics/correctness', state: ['failed'] })).toEqual({
      ...{ rows: 0, judged: 2 },
      rerun: { again: 'scores', metric: 'correctness', state: ['failed'], executions: null },
    });
    // None has failed any more: nothing is started, and the answer describes the run before.
    expect(await run({ metric: 'correctness', state: ['failed'], again: 'rows' })).toEqual({
      ...{ rows: 0, judged: 0 },
      rerun: { again: 'scores', metric: 'correctness', state: ['failed'], executions: null },
    });
    // The rows run again, and their new answers are judged.
    expect(await run({ metric: 'correctness', state: ['stale'], again: 'rows' })).toEqual({
      ...{ rows: 9, judged: 18 },
      rerun: { again: 'rows', metric: 'correctness', state: ['stale'], executions: 9 },
    });
    expect(await run({ metric: 'correctness' })).toMatchObject({ rows: 0, judged: 0 });
    expect((await one.traces()).map(({ metric_info }) => metric_info?.correctness?.status_type)).toEqual(
      Array(10).fill('success'),
    );

    // A metric that is added is missing everywhere; a value that is there is left alone.
    await service.client.send(`/projects/${project.id}/runs/${one.id}/scorer-settings`, {
      body: {
        run_id: one.id,
        scorers: await Promise.all(['correctness', 'bleu'].map((name) => scorerNamed(service.client, name))),
      },
    });
    expect(await run({ metric: 'bleu', state: ['stale', 'failed'] })).toMatchObject({ rows: 0, judged: 0 });
    expect((await one.traces()).map(({ metric_info }) => metric_info?.bleu?.status_type)).toEqual(Array(10).fill('not_computed'));
    expect(await run({ metric: 'bleu', state: ['missing'] })).toMatchObject({ rows: 0, judged: 0 });
    expect((await one.traces()).map(({ metric_info }) => metric_info?.bleu?.status_type)).toEqual(Array(10).fill('success'));
    // By one judge again: the scores alone, and nothing else of the rows.
    expect(await run({ metric: 'correctness', state: ['stale'] })).toMatchObject({ rows: 0, judged: 10 });
  });
});

test('a dataset that is edited during a run changes nothing of it', async () => {
  await letGo('before');
  const records = [...heldRows('before', 10), ...heldRows('after', 50)];
  const dataset = await createDataset({ client: service.client, name: 'edited meanwhile', content: records });
  const ref = { dataset_id: dataset.id, version_index: dataset.current_version_index };
  const one = await experiment('frozen rows', { dataset: ref });
  await one.start({ runner: module('held'), concurrency: 5 });
  await one.until(({ rows_done }) => rows_done === 10);
  const edited = await service.request('PATCH', `/datasets/${dataset.id}/content`, {
    edits: [{ edit_type: 'append_row', values: { input: 'late', output: 'late' } }],
  });
  expect(edited.status).toBeLessThan(300);
  await service.request('DELETE', `/datasets/${dataset.id}`);
  await letGo('after');
  expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 60, rows_total: 60 });
  expect((await one.traces()).map(({ input }) => input).sort()).toEqual(records.map(({ input }) => input).sort());
});
