import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { pino } from 'pino';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { errorResponse } from '../../api/http/errorResponse.ts';
import { readBody } from '../../api/http/readBody.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { openSession } from '../../shared/records/sessions.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { type Answer, type HttpService, serve } from '../support/http.ts';
import { recordApp } from '../support/recordService.ts';
import { recordsInMemory } from '../support/recordsInMemory.ts';

let dataDir: string;
let clickhouse: ClickHouse;
let http: HttpService;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'assay-memory-'));
  clickhouse = openClickHouse({ dataDir, engineMemoryBytes: 100_000_000 });
  await migrateTables(clickhouse);
  http = await serve(recordApp(clickhouse).app);
});
afterAll(async () => {
  await http.close();
  await clickhouse.close();
  await rm(dataDir, { recursive: true, force: true });
});

const overloaded = (answer: Answer) => {
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
  expect(answer.body).toMatchObject({ error_code: 1053, standard_error: { retriable: true } });
};

test('an engine without memory for an insert is 503 with Retry-After, for traces and for spans of OpenTelemetry', async () => {
  const { projectId, runId } = { projectId: newId(), runId: newId() };
  const big = 'x'.repeat(50_000_000);
  const path = `/projects/${projectId}/traces`;
  const body = (input: string) => ({ json: { log_stream_id: runId, traces: [{ input, output: 'o' }] } });
  overloaded(await http.request('POST', path, body(big)));

  const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', name: 'n', startTimeUnixNano: '1' };
  const attributes = [{ key: 'input.value', value: { stringValue: big } }];
  const exported = await http.request('POST', '/otel/traces', {
    headers: { project: projectId, logstream: runId },
    json: { resourceSpans: [{ scopeSpans: [{ spans: [{ ...span, attributes }] }] }] },
  });
  overloaded(exported);

  expect((await http.request('POST', path, body('small'))).status).toBe(200);
});

test('a stream of rows that the engine has no memory for is told as that', async () => {
  const sql = 'SELECT arrayJoin(groupArray(toString(number))) AS x FROM numbers(10000000)';
  const rows = async () => {
    for await (const _ of clickhouse.stream({ name: 'large', sql, row: (row) => row }));
  };
  await expect(rows()).rejects.toMatchObject({ code: 'Unavailable' });
});

test('a process without memory for a buffer answers 503, not 500', async () => {
  const app = express();
  app.post('/', () => {
    throw allocationFailure();
  });
  app.use(errorResponse(pino({ level: 'silent' })));
  const service = await serve(app);
  try {
    overloaded(await service.request('POST', '/'));
  } finally {
    await service.close();
  }
});

test.each(['protobuf', 'json'])(
  'OpenTelemetry in %s is 503 when there is no memory to read it, not a fault of the body',
  async (encoding) => {
    // JSON is written as protobuf before it is read.
    const step =
      encoding === 'json' ? vi.spyOn(protobuf.BufferWriter, 'alloc') : vi.spyOn(protobuf.BufferReader.prototype, 'uint32');
    step.mockImplementation(() => {
      throw allocationFailure();
    });
    const type = encoding === 'json' ? 'application/json' : 'application/x-protobuf';
    const body = encoding === 'json' ? '{"resourceSpans": [{}]}' : Buffer.from([0x0a, 0x00]);
    try {
      const { status, headers } = await fetch(`${http.url}/otel/traces`, {
        method: 'POST',
        headers: { 'content-type': type, project: newId(), logstream: newId() },
        body,
      });
      expect([status, headers.get('retry-after')]).toEqual([503, '2']);
    } finally {
      step.mockRestore();
    }
  },
);

test.each(['Z_MEM_ERROR', 'ERR__ERROR_ALLOC_CONTEXT_MODES'])(
  'a body that there is no memory to decompress (%s) is 503',
  async (code) => {
    const app = express();
    app.post('/', async (request, response) => {
      const reading = readBody(request, 'bytes', { limit: 100, share: undefined, pace: { bytesPerSecond: 0, windowMs: 60_000 } });
      request.emit('error', Object.assign(new Error('Decompression failed'), { code }));
      await reading;
      response.end();
    });
    app.use(errorResponse(pino({ level: 'silent' })));
    const service = await serve(app);
    try {
      overloaded(await service.request('POST', '/'));
    } finally {
      await service.close();
    }
  },
);

function allocationFailure(): unknown {
  try {
    return new ArrayBuffer(2 ** 50);
  } catch (err) {
    return err;
  }
}

test('statements of ours that are too expensive at the moment are 503 for whoever logs', async () => {
  const tooExpensive = async () => {
    throw new ServiceError('QueryTooExpensive', 'the query ran into its memory limit');
  };
  const run = { projectId: newId(), runId: newId() };
  const { store } = recordsInMemory({});
  const guarded = new RecordWriter({ store, guard: tooExpensive });
  const trace = { id: newId(), type: 'trace', trace_id: newId() } as const;
  await expect(guarded.write(run, [{ action: 'log', record: trace }])).rejects.toMatchObject({ code: 'Unavailable' });
  const writer = new RecordWriter({ store });
  await expect(openSession(writer, tooExpensive, run, {})).rejects.toMatchObject({ code: 'Unavailable', retryAfterSeconds: 2 });
});
