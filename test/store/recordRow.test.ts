import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { recordTableColumns } from '../../shared/columns/recordTableColumns.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import { openRecordTables } from '../support/recordRun.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

let tables: Awaited<ReturnType<typeof openRecordTables>>;
beforeAll(async () => {
  tables = await openRecordTables();
});
afterAll(() => tables[Symbol.asyncDispose]());

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('', 'null', '\\ud800', '"\\', '\n\0', '{"a":1}', '1e400'),
);
const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const labels = fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true });
const fields = fc.record({
  input: fc.oneof(text, fc.constant([{ role: 'user', content: 'é' }])),
  output: sometimes(fc.option(text)),
  name: sometimes(text),
  tags: sometimes(fc.uniqueArray(text, { maxLength: 3 })),
  status_code: sometimes(fc.option(fc.integer())),
  external_id: sometimes(fc.option(text)),
  user_metadata: sometimes(labels),
  dataset_metadata: sometimes(labels),
  metrics: sometimes(
    fc.record({ duration_ns: fc.maxSafeNat(), num_total_tokens: fc.maxSafeNat(), mine: fc.double() }, { requiredKeys: [] }),
  ),
  error_message: sometimes(text),
  step_number: sometimes(fc.option(fc.integer())),
  tools: sometimes(fc.constant([{ name: 'search' }])),
  model: sometimes(fc.option(text)),
  temperature: sometimes(fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }))),
  control_id: sometimes(fc.option(fc.maxSafeInteger())),
  file_ids: sometimes(fc.array(fc.uuid({ version: 4 }), { maxLength: 2 })),
  file_modalities: sometimes(fc.array(text, { maxLength: 2 })),
  previous_session_id: sometimes(fc.option(fc.uuid({ version: 4 }))),
  trace_is_complete: sometimes(fc.boolean()),
  attempt: sometimes(fc.nat()),
});

const run = () => ({ projectId: newId(), runId: newId() });
const recordOf = ({ projectId, runId }: ReturnType<typeof run>, given: object): StoredRecord => {
  const id = newId();
  const settled = { created_at: '2026-05-01T10:00:00.000000Z', version: 1, session_id: id, trace_id: id };
  return { ...given, ...settled, project_id: projectId, run_id: runId, id, type: 'llm' } as StoredRecord;
};
const read = (at: ReturnType<typeof run>, { id, type, created_at, trace_id }: StoredRecord) =>
  tables.reads.records(at, [{ id, type, createdAt: created_at, traceId: trace_id }]);
const given = (record: object) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));

test.prop([fields], { numRuns: 25 })(
  'a row is read as it was written, and the same without its short columns as JSON',
  async (one) => {
    const [here, there] = [run(), run()];
    const record = recordOf(here, given(one));
    await tables.store([record]);
    const [found] = await read(here, record);
    expect(found).toMatchObject(JSON.parse(JSON.stringify({ ...record, metrics: found?.metrics })));
    expect(given(found?.metrics ?? {})).toEqual(JSON.parse(JSON.stringify(given(one.metrics ?? {}))));

    const others = recordTableColumns.map(({ name }) => name).filter((name) => name !== 'project_id' && name !== 'run_id');
    await tables.clickhouse.command({
      name: 'copy',
      sql: `INSERT INTO records (project_id, run_id, ${others}) SELECT '${there.projectId}', '${there.runId}', ${others} FROM records WHERE project_id = '${here.projectId}' AND run_id = '${here.runId}'`,
    });
    const copy = { ...record, project_id: there.projectId, run_id: there.runId };
    expect(await read(there, copy)).toEqual([{ ...found, project_id: there.projectId, run_id: there.runId }]);
  },
);

test('half a character of a pair is read as U+FFFD wherever it stands', async () => {
  const here = run();
  const record = recordOf(here, { name: 'a\ud800\\udc00', tags: ['\udfff'], user_metadata: { 'k\ud800': 'v' } });
  await tables.store([record]);
  const [found] = await read(here, record);
  expect(found).toMatchObject({ name: 'a\ufffd\\udc00', tags: ['\ufffd'], user_metadata: { 'k\ufffd': 'v' } });
});
