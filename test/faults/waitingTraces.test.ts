// A service of its own: it is killed, and waits for roots less long.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';
import { testServiceAt } from '../support/testService.ts';

const WAIT_SECONDS = 5;
const span = (spanId: string, parentSpanId: string | undefined, name: string, startTimeUnixNano: string) => ({
  traceId: '5b8efff798038103d269b633813fc60c',
  ...{ spanId, name, startTimeUnixNano, endTimeUnixNano: '1770000002000000000' },
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
});

test('a trace that waits for its root is opened after a SIGKILL, and the root takes its place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-waiting-'));
  const home = await serviceFolder(join(folder, 'data'), { OTEL_ROOT_WAIT_SECONDS: String(WAIT_SECONDS) });
  let process: ServiceProcess | undefined;
  try {
    process = await home.start();
    const service = testServiceAt(
      { url: process.url, dataDir: home.dataDir, temporalUiUrl: '', metricsUrl: '', temporalAddress: '' },
      async () => undefined,
    );
    const project = await service.project();
    const send = async (...spans: object[]) => {
      const headers = { project: project.name, logstream: 'main' };
      const answer = await service.request('POST', '/v1/traces', { resourceSpans: [{ scopeSpans: [{ spans }] }] }, headers);
      expect(answer).toMatchObject({ status: 200, body: {} });
    };
    await send(span('000000000000000b', '000000000000000a', 'GET /rows', '1770000001000000000'));
    await process.kill('SIGKILL');
    process = await home.start();
    const { body: streams } = await service.request('GET', `/projects/${project.id}/log_streams`);
    const log_stream_id = (streams as { id: string; name: string }[]).find(({ name }) => name === 'main')?.id;
    const traces = async () =>
      ((await service.request('POST', `/projects/${project.id}/traces/search`, { log_stream_id })).body as { records: object[] })
        .records;
    await expect
      .poll(traces, { interval: 500 })
      .toMatchObject([
        { name: 'GET /rows', is_complete: false, user_metadata: { 'otel.opened_by_span_id': '000000000000000b' } },
      ]);
    await send(span('000000000000000a', undefined, 'POST /answer', '1770000000000000000'));
    expect(await traces()).toMatchObject([{ name: 'POST /answer', is_complete: true }]);
  } finally {
    await process?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
});
