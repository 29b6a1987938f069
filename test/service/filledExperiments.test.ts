// A service of its own: one test ends it between two records, and starts it again.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createExperiment, Logger, ServiceClient } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import type { ExperimentColumn, ExperimentResponse } from '../../shared/wire/experiments.ts';
import { experimentOf } from '../support/runs.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** An experiment that is filled by logging alone. */
async function filled(client: ServiceClient, projectId: string, name = 'filled') {
  const at = `/v2/projects/${projectId}`;
  const { id } = await createExperiment({ client, projectId, experimentName: name });
  const log = (traces: object[]) => client.send(`${at}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
  const now = () => client.send<ExperimentResponse>(`${at}/experiments/${id}`);
  return {
    id,
    at,
    log,
    now,
    update: (traceId: string, changes: object) =>
      client.send(`${at}/traces/${traceId}`, { method: 'PATCH', body: { experiment_id: id, trace_id: traceId, ...changes } }),
    remove: (traceId: string) =>
      client.send(`${at}/traces/delete`, {
        body: { experiment_id: id, filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: traceId }] },
      }),
    /** Waits until the aggregates are these. */
    async aggregates(expected: Record<string, number>) {
      await expect.poll(async () => (await now()).aggregate_metrics).toMatchObject(expected);
      return now();
    },
    /** Waits until so many values of the metric are summed up. */
    counts: (metric: string, count: number) =>
      expect.poll(async () => (await now()).structured_aggregate_metrics?.[metric]?.count ?? 0).toBe(count),
  };
}

const trace = (metrics: Record<string, unknown>, spans: object[] = []) => ({
  type: 'trace',
  id: newId(),
  name: 'row',
  input: 'in',
  output: 'out',
  spans,
  metrics,
});
const span = { type: 'tool', name: 'look up', input: 'x', output: 'y' };

describe('an experiment that is filled by logging', () => {
  test('has the aggregates of its records, in every answer', async () => {
    const { id: projectId } = await service.project();
    const experiment = await filled(service.client, projectId);
    expect(await experiment.now()).toMatchObject({ aggregate_metrics: {}, structured_aggregate_metrics: null, num_traces: 0 });
    const second = 1_000_000_000;
    await experiment.log([
      trace({ accuracy: 1, is_right: true, tone: 'calm', duration_ns: second, num_input_tokens: 10, cost: 0.5 }, [span]),
      trace({ accuracy: 0.5, is_right: false, tone: 'calm', duration_ns: 3 * second, num_input_tokens: 30 }, [span, span]),
    ]);
    const shown = await experiment.aggregates({ accuracy: 0.75, is_right: 0.5, duration_ns: 2 * second, num_input_tokens: 20 });
    expect(shown).toMatchObject({
      num_traces: 2,
      num_spans: 3,
      num_sessions: 0,
      structured_aggregate_metrics: {
        accuracy: { avg: 0.75, sum: 1.5, min: 0.5, max: 1, count: 2, p50: 0.75 },
        is_right: { pct: 0.5, count: 2, value_distribution: { true: 1, false: 1 } },
        tone: { avg: null, count: 2, value_distribution: { calm: 2 } },
        cost: { avg: 0.5, count: 1 },
      },
      status: { log_generation: { progress_percent: 1 } },
    });
    const { aggregate_metrics, structured_aggregate_metrics } = shown;
    const same = { id: experiment.id, aggregate_metrics, structured_aggregate_metrics };
    const list = await service.client.send<ExperimentResponse[]>(`${experiment.at}/experiments?include_counts=true`);
    expect(list).toMatchObject([{ ...same, num_traces: 2, num_spans: 3 }]);
    const { experiments } = await service.client.send<{ experiments: ExperimentResponse[] }>(
      `${experiment.at}/experiments/search`,
      {
        body: { filters: [{ name: 'id', operator: 'eq', value: experiment.id }], include_counts: true },
      },
    );
    expect(experiments).toMatchObject([{ ...same, num_traces: 2, num_spans: 3 }]);
    const { columns } = await service.client.send<{ columns: ExperimentColumn[] }>(
      `${experiment.at}/experiments/available_columns`,
      {
        body: null,
      },
    );
    const types = Object.fromEntries(columns.map(({ id, data_type }) => [id, data_type]));
    expect(types).toMatchObject({ 'metrics/accuracy': 'floating_point', 'metrics/is_right': 'boolean', 'metrics/tone': 'text' });
    expect(columns.filter(({ id }) => id === 'metrics/duration_ns')).toHaveLength(1);
  });

  test('has the metrics that are switched on for it', async () => {
    const { id: projectId } = await service.project();
    const experiment = await filled(service.client, projectId);
    const scorers = [{ id: builtinByName('json_validity')?.scorerId, scorer_type: 'preset' }];
    await service.client.send(`${experiment.at}/runs/${experiment.id}/scorer-settings`, {
      body: { run_id: experiment.id, scorers },
    });
    await experiment.log([{ ...trace({}), output: '{"a": 1}' }, trace({})]);
    expect(await experiment.aggregates({ json_validity: 0.5 })).toMatchObject({ num_traces: 2 });
    const { records } = await service.client.send<{ records: { output: string; metric_info: object }[] }>(
      `${experiment.at}/traces/search`,
      { body: { experiment_id: experiment.id } },
    );
    expect(Object.fromEntries(records.map(({ output, metric_info }) => [output, metric_info]))).toMatchObject({
      '{"a": 1}': { json_validity: { status_type: 'success', value: true } },
      out: { json_validity: { status_type: 'success', value: false } },
    });
  });

  test('follows what is logged later, updates and deletions', async () => {
    const { id: projectId } = await service.project();
    const experiment = await filled(service.client, projectId);
    const [first, second] = [trace({ accuracy: 1, duration_ns: 1_000 }), trace({ accuracy: 0, duration_ns: 1_000 })];
    await experiment.log([first]);
    await experiment.aggregates({ accuracy: 1, duration_ns: 1_000 });
    await experiment.log([second]);
    await experiment.aggregates({ accuracy: 0.5 });
    await experiment.update(second.id, { duration_ns: 3_000 });
    await experiment.aggregates({ duration_ns: 2_000 });
    // The same record again: it replaces its values.
    await experiment.log([{ ...second, metrics: { accuracy: 0.5 } }]);
    await experiment.aggregates({ accuracy: 0.75 });
    await experiment.remove(second.id);
    const left = await experiment.aggregates({ accuracy: 1, duration_ns: 1_000 });
    expect(left.num_traces).toBe(1);
    await experiment.remove(first.id);
    await expect.poll(async () => (await experiment.now()).aggregate_metrics).toEqual({});
  });

  test('sums up spans that come by themselves', async () => {
    const { id: projectId } = await service.project();
    const experiment = await filled(service.client, projectId);
    const row = trace({});
    await experiment.log([row]);
    await service.client.send(`${experiment.at}/spans`, {
      body: {
        experiment_id: experiment.id,
        trace_id: row.id,
        parent_id: row.id,
        spans: [{ ...span, metrics: { relevance: 0.25 } }],
      },
    });
    expect((await experiment.aggregates({ relevance: 0.25 })).num_spans).toBe(1);
  });

  test('by the client library, in a stream of small batches', async () => {
    const { id: projectId } = await service.project();
    const experiment = await filled(service.client, projectId);
    const logger = new Logger({ client: service.client, projectId, experimentId: experiment.id, batchSize: 10, flushEveryMs: 0 });
    for (let n = 0; n < 100; n++) {
      await logger.trace(
        `question ${n}`,
        async (row) => {
          row.addToolSpan({ input: n, output: n, durationNs: 1 });
          return `answer ${n}`;
        },
        { metrics: { half: n % 2 === 0, score: n } },
      );
      if (n % 10 === 9) await logger.flush();
    }
    await experiment.counts('score', 100);
    expect(await experiment.now()).toMatchObject({
      aggregate_metrics: { half: 0.5, score: 49.5 },
      num_traces: 100,
      num_spans: 100,
    });
  });

  test('beside a run of ours, during it and after it', async () => {
    const { id: projectId } = await service.project();
    const experiment = await filled(service.client, projectId);
    await experiment.log([trace({ score: 1 })]);
    await experiment.aggregates({ score: 1 });
    const run = experimentOf(service.client, projectId, experiment.id);
    const process = newId();
    await run.start({ runner: { kind: 'caller_function' }, process, records: [{ input: 'a' }] });
    await experiment.log([trace({ score: 0 })]);
    const { rows } = await service.client.send<{ rows: { ordinal: number }[] }>(
      `${experiment.at}/experiments/${experiment.id}/rows/lease`,
      {
        body: { process, limit: 1 },
      },
    );
    expect(rows).toHaveLength(1);
    await service.client.send(`${experiment.at}/experiments/${experiment.id}/rows/results`, {
      body: {
        process,
        results: [{ ordinal: 0, output: 'A', duration_ns: 1, started_at: new Date().toISOString(), metrics: { score: 0.5 } }],
      },
    });
    await run.end();
    expect((await experiment.now()).structured_aggregate_metrics).toMatchObject({ score: { count: 3, avg: 0.5 } });
    await experiment.log([trace({ score: 0.5 })]);
    await experiment.counts('score', 4);
  });

  test('with the values that a re-computation has made of it', async () => {
    const { id: projectId } = await service.project();
    const experiment = await filled(service.client, projectId);
    await experiment.log([{ ...trace({ score: 1 }), output: '{}' }]);
    await experiment.aggregates({ score: 1 });
    await service.client.send(`${experiment.at}/recompute-metrics`, {
      body: { experiment_id: experiment.id, scorer_ids: [builtinByName('json_validity')?.scorerId] },
    });
    await experiment.aggregates({ score: 1, json_validity: 1 });
  });
});

test('what was logged before a kill is summed up after it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-filled-'));
  const folder = await serviceFolder(dataDir);
  let running: ServiceProcess | undefined;
  try {
    const before = await folder.start();
    running = before;
    const client = new ServiceClient({ apiUrl: before.url, apiKey: before.apiKey });
    const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'killed' } });
    const experiment = await filled(client, projectId);
    await experiment.log([trace({ score: 1 })]);
    await before.kill('SIGKILL');
    running = await folder.start();
    await experiment.aggregates({ score: 1 });
  } finally {
    await running?.kill('SIGTERM');
    await rm(dataDir, { recursive: true, force: true });
  }
});
