import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { exitCodes } from '../../cli/terminal/exitCodes.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { startAssay } from '../support/assay.ts';
import { sharedTestService } from '../support/sharedService.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import type { TestService } from '../support/testService.ts';
import { typedIn } from '../support/typedIn.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

async function newRun() {
  const project = await service.project();
  const { id: stream } = await service.client.send<{ id: string }>(`/projects/${project.id}/log_streams`, {
    body: { name: 'main' },
  });
  const log = (...names: string[]) =>
    service.client.send(`/projects/${project.id}/traces`, {
      body: {
        log_stream_id: stream,
        traces: names.map((name) => ({ id: newId(), name, input: 'a', status_code: name.startsWith('failed') ? 500 : 200 })),
      },
    });
  return { project, stream, log };
}

/** The command at a service of that address; it ends with the test, at the latest. */
function follow(run: Awaited<ReturnType<typeof newRun>>, words: readonly string[], environment: Record<string, string> = {}) {
  const typed = typedIn(service, run.project);
  const child = startAssay(['logs', 'follow', '--json', '--column', 'name', ...words], {
    ...typed,
    environment: { ...typed.environment, ...environment },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  let remarked = '';
  child.stdout?.on('data', (text: string) => (said += text));
  child.stderr?.on('data', (text: string) => (remarked += text));
  const names = () => said.split('\n').flatMap((line) => (line ? [(JSON.parse(line) as { name: string }).name] : []));
  return {
    ...{ child, names, ended: child.ended, remarked: () => remarked },
    until: (count: number) => expect.poll(() => names().length).toBe(count),
  };
}

const failed = ['--filter', 'status_code >= 400'];

test('records that fit come a line each, once; a connection that breaks is waited for, and Ctrl-C ends it', async () => {
  const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
  onTestFinished(() => proxy.close());
  const run = await newRun();
  await run.log('failed before', 'fine before');
  const { child, names, until, remarked, ended } = follow(run, failed, { SERVICE_API_URL: `http://127.0.0.1:${proxy.port}` });
  await until(1);
  await run.log('fine', 'failed 1');
  await until(2);
  proxy.set('reset');
  await expect.poll(remarked).toContain('The service does not answer');
  await run.log('failed 2', 'fine again');
  await run.log('failed 3');
  proxy.set('open');
  await until(4);
  await run.log('failed 4');
  await until(5);
  expect(names()).toEqual(['failed before', 'failed 1', 'failed 2', 'failed 3', 'failed 4']);
  expect(remarked()).toMatch(/^The service does not answer[^\n]*\nThe service answers again\.\n$/);
  child.kill('SIGINT');
  expect((await ended).exitCode).toBe(exitCodes.interrupted);
});

test('Ctrl-C ends it also while the service is away', async () => {
  const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
  onTestFinished(() => proxy.close());
  const run = await newRun();
  await run.log('failed');
  const { child, until, remarked, ended } = follow(run, failed, { SERVICE_API_URL: `http://127.0.0.1:${proxy.port}` });
  await until(1);
  proxy.set('reset');
  await expect.poll(remarked).toContain('The service does not answer');
  child.kill('SIGINT');
  expect((await ended).exitCode).toBe(exitCodes.interrupted);
});

test('a record that comes to fit by a change comes then', async () => {
  const run = await newRun();
  const id = newId();
  const body = { log_stream_id: run.stream, traces: [{ id, name: 'changed', input: 'a', status_code: 200, is_complete: false }] };
  await service.client.send(`/projects/${run.project.id}/traces`, { body });
  await run.log('failed');
  const { names, until } = follow(run, failed);
  await until(1);
  await service.client.send(`/projects/${run.project.id}/traces/${id}`, {
    method: 'PATCH',
    body: { log_stream_id: run.stream, trace_id: id, status_code: 500 },
  });
  await until(2);
  expect(names()).toEqual(['failed', 'changed']);
});

test('a run that is deleted and a key that is revoked end it, each with its status', async () => {
  const run = await newRun();
  await run.log('a');
  const key = await service.client.send<{ id: string; api_key: string }>('/users/api_keys', {
    body: { description: 'x', project_id: run.project.id },
  });
  const ofKey = follow(run, [], { SERVICE_API_KEY: key.api_key });
  const ofAdmin = follow(run, []);
  await Promise.all([ofKey.until(1), ofAdmin.until(1)]);
  await service.client.send(`/users/api_keys/${key.id}`, { method: 'DELETE' });
  expect((await ofKey.ended).exitCode).toBe(exitCodes.credentials);
  await service.client.send(`/projects/${run.project.id}/log_streams/${run.stream}`, { method: 'DELETE' });
  expect((await ofAdmin.ended).exitCode).toBe(exitCodes.notFound);
});
