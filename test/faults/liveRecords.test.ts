// A service of its own: it is stopped and killed under its listeners.

import { expect, test } from 'vitest';
import type { ServiceClient } from '../../client/http.ts';
import { createExperiment, createLogStream, createProject, type LiveRecords, liveRecords } from '../../client/index.ts';
import { serviceToKill } from '../support/serviceToKill.ts';

const host = serviceToKill();

const log = (client: ServiceClient, projectId: string, logStreamId: string, count: number) =>
  client.send(`/projects/${projectId}/traces`, {
    body: { log_stream_id: logStreamId, traces: Array.from({ length: count }, () => ({ input: 'a' })) },
  });

test('a stop ends live streams at once, and the client goes on where they ended, also after a kill', async () => {
  const { service, client } = await host.start();
  const { id: projectId } = await createProject({ client, name: 'followed' });
  const { id: logStreamId } = await createLogStream({ client, projectId, name: 'main' });
  const left = new AbortController();
  const events = liveRecords({ client, projectId, logStreamId, signal: left.signal });
  const sum = { traces: 0, total: 0 };
  const until = async (traces: number) => {
    while (sum.traces < traces) {
      const { num_new, num_records } = (await events.next()).value as LiveRecords;
      sum.traces += num_new.traces;
      sum.total = num_records.traces;
    }
    return sum;
  };
  await log(client, projectId, logStreamId, 2);
  const raw = await fetch(`${service.url}/projects/${projectId}/live_records?log_stream_id=${logStreamId}`, {
    headers: { 'Service-API-Key': service.apiKey },
  });
  const { id: experimentId } = await createExperiment({ client, projectId, experimentName: 'watched' });
  const rawProgress = await fetch(`${service.url}/projects/${projectId}/experiments/${experimentId}/live_progress`, {
    headers: { 'Service-API-Key': service.apiKey },
  });
  expect((await events.next()).value).toMatchObject({ num_records: { traces: 2 } });

  const stopped = service.kill('SIGTERM');
  // A stream that was not ended at once is cut without a word 4 s later.
  for (const stream of [raw, rawProgress])
    expect(await stream.text()).toMatch(/event: end\ndata: \{"status":503,"detail":"the service is stopping[^"]*"\}\n\n$/);
  await stopped;
  const again = await host.start();
  await log(client, projectId, logStreamId, 3);
  expect(await until(3)).toEqual({ traces: 3, total: 5 });

  await again.service.kill('SIGKILL');
  await host.start();
  await log(client, projectId, logStreamId, 4);
  expect(await until(7)).toEqual({ traces: 7, total: 9 });
  left.abort();
  expect((await events.next()).done).toBe(true);
});
