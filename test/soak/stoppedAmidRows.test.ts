// A service of its own: it is stopped amid a row.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runExperiment } from '../../client/runExperiment.ts';
import { serviceToKill } from '../support/serviceToKill.ts';
import { stopHeard } from '../support/stopHeard.ts';

const { file, module, start } = serviceToKill();

test('SIGTERM does not wait for a row in the hands of a caller, who brings its result to the next start', {
  timeout: 600_000,
}, async () => {
  const { service, client } = await start();
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'caller' } });
  const begun = Promise.withResolvers<void>();
  const result = Promise.withResolvers<string>();
  let calls = 0;
  const ended = runExperiment({
    ...{ client, projectId, experimentName: 'held', metrics: ['exact_match'], dataset: [{ input: 'q', output: 'a' }] },
    function: () => {
      calls++;
      begun.resolve();
      return result.promise;
    },
  });
  await begun.promise;
  await service.kill('SIGTERM');
  expect({ exitCode: service.child.exitCode, said: service.output() }).toMatchObject({
    exitCode: 0,
    said: expect.not.stringContaining('not stopped within'),
  });
  result.resolve('a');
  await start();
  expect((await ended).progress).toMatchObject({ state: 'completed', rows_done: 1, rows_failed: 0 });
  expect(calls).toBe(1);
});

/** A run of a module that takes a minute for its first row and no time for any other, in the middle of that row. */
async function amidSlowRow(name: string) {
  const marker = file(name);
  const lines = [
    "import { existsSync, writeFileSync } from 'node:fs';",
    'export default async (input) => {',
    `  if (existsSync(${JSON.stringify(marker)})) return input;`,
    `  writeFileSync(${JSON.stringify(marker)}, '');`,
    '  await new Promise((resolve) => setTimeout(resolve, 60_000));',
    '};',
  ];
  await module(name, lines.join('\n'));
  const { service, client, temporalAddress } = await start();
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name } });
  const ended = runExperiment({ client, projectId, experimentName: name, dataset: [{ input: 'q' }], module: name });
  await expect.poll(() => existsSync(marker)).toBe(true);
  return { service, client, temporalAddress, projectId, end: () => ended };
}

test('SIGTERM gives up a row of a module that takes long, and the next start runs it again', { timeout: 600_000 }, async () => {
  const { service, end } = await amidSlowRow('slow');
  await service.kill('SIGTERM');
  expect({ exitCode: service.child.exitCode, signal: service.child.signalCode, said: service.output() }).toEqual({
    exitCode: 0,
    signal: null,
    said: expect.any(String),
  });
  await start();
  expect((await end()).progress).toMatchObject({ state: 'completed', rows_done: 1, rows_failed: 0 });
});

test('SIGTERM gives up what a paused run still waits for', { timeout: 600_000 }, async () => {
  const { service, client, temporalAddress, projectId, end } = await amidSlowRow('waited');
  const [experiment] = await client.send<{ id: string }[]>(`/projects/${projectId}/experiments`);
  const path = `/projects/${projectId}/experiments/${experiment?.id}`;
  const { workflow_id } = await client.send<{ workflow_id: string }>(`${path}/pause`, { method: 'POST' });
  await expect.poll(async () => (await client.send<{ state: string }>(`${path}/progress`)).state).toBe('paused');
  await stopHeard(temporalAddress, workflow_id);
  await service.kill('SIGTERM');
  expect({ exitCode: service.child.exitCode, signal: service.child.signalCode, said: service.output() }).toEqual({
    exitCode: 0,
    signal: null,
    said: expect.any(String),
  });
  await start();
  await client.send(`${path}/resume`, { method: 'POST' });
  expect((await end()).progress).toMatchObject({ state: 'completed', rows_done: 1, rows_failed: 0 });
});
