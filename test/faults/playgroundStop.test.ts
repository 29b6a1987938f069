// A service of its own: it is stopped under a call.

import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createProject, playgroundCall } from '../../client/index.ts';
import type { PlaygroundFailed } from '../../shared/wire/playground.ts';
import { beginStream, pieceOf, startModelEndpoint } from '../support/modelEndpoint.ts';
import { serviceToKill } from '../support/serviceToKill.ts';

const host = serviceToKill();

test('a stop ends a call of the playground with its reason, and what had come of it is recorded', async () => {
  const endpoint = await startModelEndpoint();
  onTestFinished(() => endpoint.close());
  const closed = Promise.withResolvers<void>();
  endpoint.next(async (_request, response) => {
    beginStream(response).write(pieceOf({ content: 'so far' }));
    await once(response, 'close');
    closed.resolve();
  });
  const { service, client } = await host.start();
  const { id: projectId } = await createProject({ client, name: 'stopped' });
  const saved = await client.send<{ id: string }>('/integrations/custom/mine', {
    method: 'PUT',
    body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['a-model'] },
  });
  expect(saved.id).toBeTruthy();
  let stopped: Promise<unknown> | undefined;
  let last: PlaygroundFailed | undefined;
  for await (const { event, data } of playgroundCall({ client, projectId, template: 'x', settings: { modelAlias: 'a-model' } })) {
    if (event === 'delta') stopped = service.kill('SIGTERM');
    if (event === 'failed') last = data;
  }
  expect(last).toMatchObject({ kind: 'stopping', output: { content: 'so far' }, is_recorded: true, is_retriable: true });
  await closed.promise;
  await stopped;
  await host.start();
  const trace = await client.send(`/projects/${projectId}/traces/${last?.trace_id}`);
  expect(trace).toMatchObject({ output: 'so far', tags: ['cancelled'], error_message: expect.stringContaining('stopping') });
});
