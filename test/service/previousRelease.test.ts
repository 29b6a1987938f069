// A service of its own: it begins on the data folder of the previous release, with runs under way.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import {
  apiKeyIn,
  CONCURRENCY,
  HALF,
  isScored,
  type PreviousRelease,
  ROWS,
  runnersIn,
  type StreamTrace,
  unpackPreviousRelease,
} from '../support/previousRelease.ts';
import { type ExperimentOf, experimentOf, newExperiment, scorerNamed } from '../support/runs.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

// The data folder of a service of the previous release, killed amid its runs, and the present service on it.

let folder: string;
let facts: PreviousRelease;
let runners: Awaited<ReturnType<typeof runnersIn>>;
let service: ServiceProcess;
let temporalPort: string;
let client: ServiceClient;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-previous-'));
  facts = await unpackPreviousRelease(folder);
  runners = await runnersIn(folder);
  await runners.hold('rows:cancelled');
  const dataDir = join(folder, 'data');
  const where = await serviceFolder(dataDir, runners.environment);
  temporalPort = where.environment.TEMPORAL_PORT as string;
  service = await where.start();
  client = new ServiceClient({ apiUrl: service.url, apiKey: await apiKeyIn(dataDir) });
});
afterAll(async () => {
  await service?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

const experiment = (name: keyof PreviousRelease['experiments']): ExperimentOf =>
  experimentOf(client, facts.projectId, facts.experiments[name]);

/** The inputs of an experiment's rows [from, to). */
const inputs = (name: string, from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `${name} ${from + index}`).sort();

const callsFor = async (by: 'rows' | 'writer' | 'judge', name: string): Promise<string[]> =>
  (await runners.calls(by)).filter((call) => call.startsWith(`${name} `)).sort();

/** Every row has its one result, and its one score. */
async function isWhole(one: ExperimentOf, name: string, metric = 'exact_match'): Promise<void> {
  expect(await one.end()).toMatchObject({ state: 'completed', rows_done: ROWS, rows_failed: 0, scores_done: ROWS, error: null });
  const traces = await one.traces();
  expect(traces.map(({ input }) => input).sort()).toEqual(inputs(name, 0, ROWS));
  for (const { input, output } of traces) expect(output).toBe(`answer to ${input}`);
  expect(traces.filter((trace) => !isScored(trace, metric))).toEqual([]);
}

test('an experiment that had ended is what it was', async () => {
  // This release also says how many rows were in flight, how long it takes, and which settings a model was not sent.
  const more = { concurrency: CONCURRENCY, seconds_left: null, settings_not_sent: [] };
  expect(await experiment('ended').progress()).toEqual({ ...facts.ended.progress, ...more });
  const byId = (traces: typeof facts.ended.traces) => traces.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  expect(byId(await experiment('ended').traces())).toMatchObject(byId(facts.ended.traces));
});

test('a run that was under way goes on to its end and calls no model for a row that was recorded', async () => {
  await isWhole(experiment('running'), 'running');
  expect(await callsFor('writer', 'running')).toEqual(inputs('running', HALF, ROWS));
});

test('a run whose function is in the process of its caller goes on with that process', async () => {
  const one = experiment('caller');
  const rows = `/projects/${facts.projectId}/experiments/${one.id}/rows`;
  const ofProcess = { process: facts.callerProcess };
  const finished: number[] = [];
  const handIn = async (ordinals: readonly number[]) => {
    const results = ordinals.map((ordinal) => ({
      ordinal,
      output: `answer to caller ${ordinal}`,
      started_at: new Date().toISOString(),
      duration_ns: 1_000_000,
    }));
    const { recorded } = await client.send<{ recorded: number[] }>(`${rows}/results`, { body: { ...ofProcess, results } });
    finished.push(...recorded);
  };
  // Its leases have run out by now: the rows that it had in its hands are on offer again.
  while (finished.length < ROWS - HALF) {
    const leased = await client.send<{ rows: { ordinal: number }[] }>(`${rows}/lease`, { body: { ...ofProcess, limit: 50 } });
    if (leased.rows.length > 0) await handIn(leased.rows.map(({ ordinal }) => ordinal));
  }
  expect(finished.toSorted((a, b) => a - b)).toEqual(Array.from({ length: ROWS - HALF }, (_, index) => HALF + index));
  await isWhole(one, 'caller');
});

test('a run in its scores goes on with those that are missing', async () => {
  await isWhole(experiment('scored'), 'scored', facts.judgeId);
  const missing = inputs('scored', 0, ROWS).filter((input) => !facts.scoredInputs.includes(input));
  expect(await callsFor('judge', 'scored')).toEqual(missing);
  expect(await callsFor('rows', 'scored')).toEqual([]);
});

test("a run that was under way is cancelled in Temporal's own pages", async () => {
  const one = experiment('cancelled');
  await expect.poll(async () => (await callsFor('rows', 'cancelled')).length).toBe(CONCURRENCY);
  const connection = await Connection.connect({ address: `127.0.0.1:${temporalPort}` });
  const { workflow_id: id } = await client.send<{ workflow_id: string }>(
    `/projects/${facts.projectId}/experiments/${one.id}/run`,
  );
  const handle = new Client({ connection }).workflow.getHandle(id);
  await handle.cancel();
  expect(await one.end()).toMatchObject({ state: 'cancelled', rows_done: HALF });
  await expect.poll(async () => (await handle.describe()).status.name).toBe('CANCELLED');
  await connection.close();
  expect(await callsFor('rows', 'cancelled')).toEqual(inputs('cancelled', HALF, HALF + CONCURRENCY));
});

test('a paused run stays paused until it is resumed, and then runs the rows that are left', async () => {
  const one = experiment('paused');
  const before = (await one.traces()).map(({ input }) => input);
  expect(await one.progress()).toMatchObject({ state: 'paused', rows_done: before.length });
  expect(await callsFor('rows', 'paused')).toEqual([]);
  await one.steer('resume');
  await isWhole(one, 'paused');
  expect(await callsFor('rows', 'paused')).toEqual(inputs('paused', 0, ROWS).filter((input) => !before.includes(input)));
});

test('a log stream is searched as before, and what is logged to it is scored', async () => {
  const search = (value: string) =>
    client
      .send<{ records: StreamTrace[] }>(`/projects/${facts.projectId}/traces/search`, {
        body: {
          log_stream_id: facts.streamId,
          filters: [{ type: 'text', column_id: 'input', operator: 'contains', value }],
          limit: 100,
        },
      })
      .then(({ records }) => records);
  // This release says more of a trace.
  expect(await search('stream')).toMatchObject(facts.stream);
  await client.send(`/projects/${facts.projectId}/traces`, {
    body: { log_stream_id: facts.streamId, traces: [{ input: 'later 1', output: 'answer to later 1' }] },
  });
  await expect
    .poll(async () =>
      (await search('later')).map((trace) => [trace.input, isScored(trace, facts.judgeId), isScored(trace, 'json_validity')]),
    )
    .toEqual([['later 1', true, true]]);
});

test('a new experiment is run, and scored by the judge that was there', async () => {
  const politeness = { id: facts.judgeId, name: 'politeness', scorer_type: 'llm' };
  const scorers = [await scorerNamed(client, 'exact_match'), politeness];
  const one = await newExperiment(client, facts.projectId, { name: 'new', scorers });
  const records = inputs('new', 0, ROWS).map((input) => ({ input, output: `answer to ${input}` }));
  await one.start({ runner: { kind: 'module', name: 'row' }, records, concurrency: CONCURRENCY });
  expect(await one.end()).toMatchObject({ state: 'completed', rows_done: ROWS, rows_failed: 0, scores_done: 2 * ROWS });
});
