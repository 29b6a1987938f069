// A service of its own: it has a page of metrics, and counts what this file alone does.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { requestMetrics } from '../../api/http/requestMetrics.ts';
import { readConfig } from '../../shared/config/config.ts';
import { type Instrument, instruments } from '../../shared/telemetry/instruments.ts';
import { openMetricsServer } from '../../shared/telemetry/metricsServer.ts';
import { openTelemetry } from '../../shared/telemetry/telemetry.ts';
import { fails, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { readMetrics, sumOf } from '../support/readMetrics.ts';
import { modelAt, newExperiment } from '../support/runs.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ METRICS_PORT: '0' });
});
afterAll(() => service[Symbol.asyncDispose]());

const metrics = () => readMetrics(service.metricsUrl);

describe('the metrics of a service', () => {
  test('count and time requests by route and status, and no names of users', async () => {
    const { id } = await service.project();
    await service.request('GET', `/projects/${id}`);
    await service.request('GET', '/projects/no-id');
    await service.request('GET', '/secret-path');
    const samples = await metrics();
    const requests = 'http_server_request_duration_seconds_count';
    const route = { http_request_method: 'GET', http_route: '/projects/{project_id}' };
    expect(sumOf(samples, requests, { ...route, http_response_status_code: '200' })).toBe(1);
    expect(sumOf(samples, requests, { ...route, http_response_status_code: '422' })).toBe(1);
    expect(sumOf(samples, requests, { http_route: 'other', http_response_status_code: '404' })).toBe(1);
    expect(JSON.stringify(samples)).not.toContain('secret-path');
    expect(JSON.stringify(samples)).not.toContain(id);
  });

  test('say how the process is', async () => {
    const samples = await metrics();
    expect(sumOf(samples, 'process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(sumOf(samples, 'process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(samples.filter(({ name }) => name === 'assay_event_loop_delay_seconds')).toHaveLength(3);
  });
});

describe('what the service does', () => {
  test('ingest and search: groups, inserts and a queue that is empty again', async () => {
    const { id } = await service.project();
    const stream = await service.client.send<{ id: string }>(`/projects/${id}/log_streams`, { body: { name: 'main' } });
    const before = await metrics();
    const logged = Array.from({ length: 3 }, () => ({
      input: 'a question',
      spans: [{ type: 'tool', name: 'search', input: 'x' }],
    }));
    await service.client.send(`/projects/${id}/traces`, { body: { log_stream_id: stream.id, traces: logged } });
    await service.client.send(`/projects/${id}/traces/search`, { body: { log_stream_id: stream.id } });
    const after = await metrics();
    const more = (name: string, labels?: Record<string, string>) => sumOf(after, name, labels) - sumOf(before, name, labels);
    expect(more('assay_ingest_group_records_sum')).toBe(6);
    expect(more('assay_ingest_group_records_count')).toBe(1);
    expect(more('assay_ingest_group_bytes_sum')).toBeGreaterThan(100);
    expect(more('assay_insert_duration_seconds_count', { table: 'records', outcome: 'stored' })).toBe(1);
    expect(more('assay_insert_duration_seconds_sum')).toBeGreaterThan(0);
    expect(sumOf(after, 'assay_ingest_queue_bytes')).toBe(0);
    const route = { http_route: '/projects/{project_id}/traces/search', http_response_status_code: '200' };
    expect(more('http_server_request_duration_seconds_count', route)).toBe(1);
  });

  test('an experiment: rows, tries, tokens and scores', async () => {
    const judge = await startModelEndpoint();
    onTestFinished(() => judge.close());
    judge.next(fails(500));
    judge.otherwise(says('{"explanation": "it agrees", "verdict": true}'));
    await modelAt(service.client, 'judge', judge.url, ['judge-1']);
    const { id } = await service.project();
    const experiment = await newExperiment(service.client, id, { name: 'counted', metrics: ['exact_match', 'correctness'] });
    const records = Array.from({ length: 3 }, (_, index) => ({ input: `${index}`, output: 'right', generated_output: 'right' }));
    await experiment.start({ runner: { kind: 'dataset_outputs' }, records });
    expect(await experiment.end()).toMatchObject({ state: 'completed', rows_done: 3 });
    const samples = await metrics();
    expect(sumOf(samples, 'assay_rows_total', { runner: 'dataset_outputs', outcome: 'succeeded' })).toBe(3);
    expect(sumOf(samples, 'assay_rows_total', { outcome: 'failed' })).toBe(0);
    expect(sumOf(samples, 'assay_rows_running')).toBe(0);
    expect(sumOf(samples, 'assay_scores_total', { by: 'code', status: 'success' })).toBe(3);
    expect(sumOf(samples, 'assay_scores_total', { by: 'judge', status: 'success' })).toBe(3);
    const tries = 'assay_model_attempt_duration_seconds_count';
    const answers = judge.requests.length - 1;
    expect(answers).toBeGreaterThanOrEqual(3);
    expect(sumOf(samples, tries, { integration: 'judge', outcome: 'http_error' })).toBe(1);
    expect(sumOf(samples, tries, { integration: 'judge', outcome: 'ok' })).toBe(answers);
    expect(sumOf(samples, 'assay_model_tokens_total', { integration: 'judge', direction: 'input' })).toBe(12 * answers);
    expect(sumOf(samples, 'assay_model_tokens_total', { integration: 'judge', direction: 'output' })).toBe(3 * answers);
  });

  test('what has not happened is shown as 0, so that the first time is an increase', async () => {
    const samples = await metrics();
    const counted = (name: string) => samples.filter((one) => one.name === name).map(({ value }) => value);
    expect(counted('assay_hung_statements_total')).toEqual([0, 0]);
    expect(counted('assay_workflow_task_failures_total')).toEqual([0]);
    expect(counted('assay_runs_stuck')).toEqual([0]);
  });
});

describe('the port of the metrics', () => {
  const token = 'a-token-of-scrapers';
  const open = (settings: Record<string, string>) => openMetricsServer(readConfig(settings), openTelemetry());

  test('is closed without its setting', async () => {
    expect((await open({})).url).toBeUndefined();
  });

  test('answers GET /metrics alone, and whoever has the token', async () => {
    const server = await open({ METRICS_PORT: '0', METRICS_TOKEN: token });
    const url = server.url as string;
    const status = async (address: string, method: string, sent?: string) =>
      (await fetch(address, { method, headers: sent === undefined ? {} : { Authorization: `Bearer ${sent}` } })).status;
    expect(await status(url, 'GET', token)).toBe(200);
    expect(await status(url, 'GET')).toBe(401);
    expect(await status(url, 'GET', 'another')).toBe(401);
    expect(await status(url, 'POST', token)).toBe(405);
    expect(await status(url.replace('/metrics', '/'), 'GET', token)).toBe(404);
    await server.close();
  });

  test('says so when it is in use', async () => {
    const server = await open({ METRICS_PORT: '0' });
    const { port } = new URL(server.url as string);
    await expect(open({ METRICS_PORT: port })).rejects.toThrow(
      `the metrics cannot be served at 127.0.0.1:${port} (METRICS_PORT)`,
    );
    await server.close();
  });

  test('needs a token where other machines reach it', () => {
    expect(() => readConfig({ METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' })).toThrow('needs METRICS_TOKEN');
  });
});

/** The lines of the log that a request to `path` leaves. */
async function logOf(path: string, slowMs: number) {
  const lines: { level: number; msg: string; path?: string; status?: number }[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const app = express();
  app.use(requestMetrics({ telemetry: openTelemetry(), log, slowMs }));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  await new Promise((resolve) => server.close(resolve));
  return lines;
}

describe('the log', () => {
  test('has a line for each request at debug, without its query', async () => {
    const lines = await logOf('/nothing?token=hidden', 0);
    expect(lines).toMatchObject([{ level: 20, msg: 'request', path: '/nothing', status: 404 }]);
    expect(JSON.stringify(lines)).not.toContain('hidden');
  });

  test('has slow requests at warn', async () => {
    expect(await logOf('/nothing', 1e-6)).toMatchObject([{ level: 40, msg: 'slow request', path: '/nothing' }]);
  });
});

test('the page of metrics has every metric with its labels', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/monitoring.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \|([^|]*)\|/gm)].map(([, name, labels = '']) => ({
    name,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
  }));
  const declared = Object.entries<Instrument>(instruments).map(([name, { labels }]) => ({ name, labels: Object.keys(labels) }));
  expect(rows).toEqual(declared);
});
