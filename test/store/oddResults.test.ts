import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ExperimentRow } from '../../shared/experiments/experiment.ts';
import type { GivenResult } from '../../shared/experiments/recordableResult.ts';
import { RowMemory } from '../../shared/experiments/rowMemory.ts';
import { rowTraceId } from '../../shared/experiments/rowTrace.ts';
import { type RunRowsDeps, runRows } from '../../shared/experiments/runRows.ts';
import { untilStored } from '../../shared/experiments/untilStored.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { logTraces } from '../../shared/records/ingest.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { oddSpans } from '../support/oddSpans.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { aRun } from '../support/runInMemory.ts';

let dataDir: string;
let clickhouse: ClickHouse;
let writer: RecordWriter;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'assay-odd-results-'));
  clickhouse = openClickHouse({ dataDir });
  await migrateTables(clickhouse);
  writer = new RecordWriter({ store: clickhouseRecordStore(clickhouse) });
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dataDir, { recursive: true, force: true });
});

const Stored = z.object({
  id: z.string(),
  type: z.string(),
  trace_id: z.string(),
  input: z.string(),
  output: z.string().nullable(),
  error: z.string(),
  short_columns: z.string().transform((text) => JSON.parse(text) as Record<string, unknown>),
  metrics: z.string(),
});
const STORED = `SELECT toString(id) AS id, type, toString(trace_id) AS trace_id, input, output, error_message AS error, short_columns, metrics_extra AS metrics
  FROM records FINAL WHERE run_id = {run:UUID} ORDER BY type = 'trace' DESC, created_at, name`;

/** Runs rows that come to these results, over the real record store. @returns what it holds then */
async function recorded(results: readonly GivenResult[]) {
  const run = aRun({ runner: { kind: 'module', name: 'odd' }, rowCount: results.length });
  const rows = results.map(
    (_, ordinal): ExperimentRow => ({
      rowId: newId(),
      ordinal,
      sourceOrdinal: ordinal,
      trial: 0,
      input: `q${ordinal}`,
      expected: null,
      metadata: {},
      generatedOutput: null,
      variables: {},
    }),
  );
  const deps: RunRowsDeps = {
    rows: {
      chosen: async () => [],
      page: async (_run, from, to) => rows.slice(from, to),
      traceIds: async (_run, from, to) => rows.slice(from, to).map(({ rowId }) => rowTraceId(run.experimentId, rowId)),
    },
    log: {
      recorded: async () => new Map(),
      write: (_run, traces, attempt) =>
        logTraces(writer, { projectId: run.projectId, runId: run.experimentId }, traces, { attempt }),
    },
    attempts: { note: () => undefined, flush: async () => undefined },
    runner: { run: async ({ ordinal }) => results[ordinal] as never, close: async () => undefined },
    // A repeated try would never end: the store is well.
    untilStored: (operation, signal) =>
      untilStored(operation, signal, (err) => {
        throw err;
      }),
    memory: new RowMemory(1_000),
    takeSlot: async () => () => undefined,
    lanes: () => 10,
    confirm: async () => undefined,
    handOver: async () => undefined,
    onLate: () => undefined,
    onProgress: () => undefined,
  };
  const chunk = { experimentId: run.experimentId, projectId: run.projectId, number: 1, round: 1, lanes: 4 };
  const outcome = await runRows(
    deps,
    run,
    { ...chunk, from: 0, to: rows.length },
    1,
    new AbortController().signal,
    async () => undefined,
  );
  expect(outcome).toEqual({ takenTo: rows.length, recorded: rows.length });
  const stored = await clickhouse.query({ name: 'odd results', sql: STORED, params: { run: run.experimentId }, row: Stored });
  const traces = stored.filter(({ type }) => type === 'trace');
  expect(traces.map(({ id }) => id).sort()).toEqual(rows.map(({ rowId }) => rowTraceId(run.experimentId, rowId)).sort());
  return { traces: traces.sort((a, b) => a.input.localeCompare(b.input)), spans: stored.filter(({ type }) => type !== 'trace') };
}

const deep = (levels: number) => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`) as unknown;
const { odd, oddText, oddNumber, maybe, span } = oddSpans([deep(70), deep(30_000)]);
const result: fc.Arbitrary<GivenResult> = fc.record(
  {
    output: odd,
    error: maybe(oddText),
    spans: fc.oneof({ weight: 4, arbitrary: fc.array(span, { maxLength: 4 }) }, odd),
    startedAt: maybe(fc.date({ noInvalidDate: false })),
    durationNs: maybe(oddNumber),
    localMetrics: maybe(fc.dictionary(oddText, odd, { maxKeys: 3, noNullPrototype: true })),
    tags: maybe(fc.array(odd, { maxLength: 3 })),
  },
  { requiredKeys: [] },
);

test.prop([fc.array(result, { minLength: 1, maxLength: 12 })], { numRuns: propertyRuns(12) })(
  'whatever a runner gives, the run ends and each row has its one record',
  async (results) => {
    await recorded(results);
  },
);

describe('what is odd is kept as text', () => {
  const at = '2026-01-01T00:00:00Z';
  const llm = (fields: object) => ({ type: 'llm', name: 'call', created_at: at, ...fields });

  it('roles that other tools use are those of the interface; others are kept beside the message', async () => {
    const spans = [
      llm({ input: [{ role: 'human', content: 'q' }], output: { role: 'ai', content: 'a' } }),
      llm({
        name: 'later',
        input: [{ role: 'critic', content: null }],
        output: { role: 'narrator', content: [{ type: 'image_url', image_url: 'x' }] },
      }),
    ];
    const [first, second] = (await recorded([{ output: 'a', spans }])).spans;
    expect(JSON.parse(first?.input ?? '')).toEqual([{ role: 'user', content: 'q' }]);
    expect(JSON.parse(first?.output ?? '')).toEqual({ role: 'assistant', content: 'a' });
    expect(first?.short_columns.user_metadata ?? {}).toEqual({});
    expect(JSON.parse(second?.input ?? '')).toEqual([{ role: 'user', content: '' }]);
    expect(JSON.parse(second?.output ?? '')).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: '{"type":"image_url","image_url":"x"}' }],
    });
    expect(second?.short_columns.user_metadata).toEqual({ 'input.0.role': 'critic', 'output.role': 'narrator' });
  });

  it('numbers, metadata and kinds that a record cannot have', async () => {
    const spans = [
      llm({
        metrics: { num_input_tokens: 12.5, num_output_tokens: '7', cost: 0.5 },
        user_metadata: { n: 1, none: null },
        temperature: 'hot',
      }),
      { type: 'chain', name: 'b', created_at: 'yesterday', input: { q: 1 }, status_code: 200.4, tags: ['x', 1] },
      7,
    ];
    const { traces, spans: stored } = await recorded([
      { output: { a: 1 }, spans, durationNs: -1, startedAt: 'never', localMetrics: ['x'], tags: 'one' },
      { output: 'fine', spans: [], durationNs: 1.4, startedAt: new Date(at) },
    ]);
    const [trace, fine] = traces;
    expect(trace).toMatchObject({ output: '{"a":1}', error: '' });
    expect(trace?.short_columns).toMatchObject({
      user_metadata: { duration_ns: '-1', started_at: 'never', metrics: '["x"]' },
      tags: ['one'],
    });
    expect(trace?.short_columns).not.toHaveProperty('duration_ns');
    expect(fine?.short_columns).toMatchObject({ duration_ns: 1 });
    const [call, chain] = ['call', 'b'].map((name) => stored.find(({ short_columns }) => short_columns.name === name));
    expect(call?.short_columns).toMatchObject({
      num_input_tokens: 13,
      num_output_tokens: 7,
      user_metadata: { n: '1', 'metrics.num_input_tokens': '12.5', temperature: 'hot' },
    });
    expect(chain).toMatchObject({ type: 'workflow', input: '{"q":1}' });
    expect(chain?.short_columns).toMatchObject({
      status_code: 200,
      tags: ['x', '1'],
      user_metadata: { type: 'chain', created_at: 'yesterday' },
    });
    expect(stored.some(({ type, output }) => type === 'workflow' && output === '7')).toBe(true);
  });

  it('a tree of any depth', async () => {
    let tree: Record<string, unknown> = { type: 'tool', name: 'lowest' };
    for (let level = 0; level < 20_000; level++) tree = { type: 'workflow', spans: [tree] };
    const { traces, spans } = await recorded([{ output: deep(200_000), spans: [tree] }, { output: 'beside' }]);
    expect(traces.map(({ error }) => error)).toEqual(['', '']);
    expect(spans).toHaveLength(20_001);
  });
});
