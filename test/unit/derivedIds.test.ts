import { expect, test } from 'vitest';
import { type ExperimentRow, jobIdOf } from '../../shared/experiments/experiment.ts';
import { rowTrace, rowTraceId } from '../../shared/experiments/rowTrace.ts';
import { derivedId } from '../../shared/identifiers/ids.ts';
import { spanRecordId, traceRecordId } from '../../shared/otel/recordsOf.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { recordIdOf, sessionIdOf } from '../../shared/records/ingest.ts';
import { presets } from '../../shared/scorers/presets.ts';
import type { ScorerVersion } from '../../shared/scorers/scorer.ts';
import { generatedScorerId } from '../../shared/scorers/scorerVersions.ts';

// Stores and clients hold these ids. A change of one would leave what is stored under the former id unfound, so each is pinned by its value.

const run = { projectId: 'p', runId: 'e2a6cf3e-8a4a-4d35-9a43-3f6c2c1b7d10', kind: 'log_stream' } as RunRef;
const experimentId = '3f0e5a52-6f5b-4c2e-8f6e-0d8c5a1b2c3d';
const rowId = 'c0ffee00-1234-4abc-9def-001122334455';
const V4 = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

test('an id that is derived from its parts', () => {
  expect(derivedId()).toBe('e3b0c442-98fc-4c14-9afb-f4c8996fb924');
  expect(derivedId('')).toBe('ba768b33-1fd8-4cec-803b-e04e56ab2b3d');
  expect(derivedId('a', 'bc')).toBe('5310a587-8878-4ab2-9d5a-d7c3f8503582');
  expect(derivedId('ab', 'c')).toBe('430fb1b4-ac43-416e-8a81-fab27a1930ab');
  expect(derivedId('straße', 7)).toBe('3c7b4219-3c15-4938-8070-a0fedfbf6056');
});

test('records by the ids that callers give them', () => {
  expect(recordIdOf(run, V4)).toBe(V4);
  expect(recordIdOf(run, '6FA459EA-EE8A-11CA-894E-DB77E160355E')).toBe('4a3c961e-3d78-454f-98fc-054cd3fb234f');
  expect(recordIdOf(run, '6fa459ea-ee8a-11ca-894e-db77e160355e', V4)).toBe('4a3c961e-3d78-454f-98fc-054cd3fb234f');
  expect(recordIdOf(run, '1')).toBe('b5a80a8c-84e3-4156-a0e7-e00834d68b9b');
  expect(recordIdOf(run, '1', V4)).toBe('ecdcbfb7-2baa-4807-b552-62385d526310');
  expect(sessionIdOf(run, 'chat 1')).toBe('e549cc1f-7a4f-471a-a948-279b86fd7ae5');
});

test('records of OpenTelemetry', () => {
  const traceId = '5b8efff798038103d269b633813fc60c';
  expect(traceRecordId(run, traceId)).toBe('ac744c7d-0e70-4c65-892c-c2b8881bc565');
  expect(spanRecordId(run, traceId, 'eee19b7ec3c1b174')).toBe('0f4dbb2a-fa29-4561-abe8-663e7c2b035a');
});

test('the trace of a row of an experiment, and its spans', () => {
  expect(rowTraceId(experimentId, rowId)).toBe('f262a30a-72aa-4b11-bd9c-471ee7f01534');
  expect(rowTraceId(experimentId, rowId, 1)).toBe('7938cf08-ae14-4f93-be3f-5ca24a8b27a1');
  const row = {
    rowId,
    ordinal: 0,
    sourceOrdinal: 0,
    trial: 0,
    input: 'i',
    expected: null,
    metadata: {},
  } as unknown as ExperimentRow;
  const source = { kind: 'records' } as unknown as Parameters<typeof rowTrace>[0]['source'];
  const spans = [{ type: 'agent', name: 'a', spans: [{ type: 'llm', name: 'b' }] }];
  const trace = rowTrace({ experimentId, source }, row, {
    output: 'o',
    spans,
    startedAt: new Date(0),
    durationNs: 1,
    attempts: 1,
  });
  expect(trace).toMatchObject({
    id: 'f262a30a-72aa-4b11-bd9c-471ee7f01534',
    spans: [{ id: '1dd23462-3f59-43b0-91e5-74f1ae4ed2d8', spans: [{ id: '7feb681d-43dd-4825-8dd1-9a3f5d010ca2' }] }],
  });
});

test('jobs, built-in scorers and what versions of scorers generate', () => {
  expect(jobIdOf({ experimentId, workflowNumber: 2 })).toBe('b5087f20-319b-4037-b4ac-8ba80f74c38c');
  expect(jobIdOf({ experimentId, workflowNumber: 2 }, V4)).toBe('bd5000c1-ad85-4fbe-93a5-1199908cd166');
  expect(presets.find(({ name }) => name === 'exact_match')?.id).toBe('fa09b01c-0e3c-4241-830e-84c94ba94f7c');
  expect(generatedScorerId({ id: V4 } as ScorerVersion)).toBe('9e2523a8-28c2-4c88-a274-3065ab32df9d');
});
