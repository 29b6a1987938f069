import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  addPromptVersion,
  createAnnotationQueue,
  createDataset,
  createJudge,
  createLogStream,
  createProject,
  createPrompt,
  datasetChanges,
  datasetRows,
  datasetVersions,
  deleteAnnotationQueue,
  deleteDataset,
  deleteIntegration,
  deleteLogStream,
  deleteMetric,
  deleteProject,
  deletePrompt,
  editDataset,
  exportRecords,
  getDataset,
  getPrompt,
  getRetention,
  Logger,
  listAnnotationQueues,
  listDatasets,
  listIntegrations,
  listLogStreams,
  listMetrics,
  listProjects,
  listPrompts,
  ServiceClient,
  saveIntegration,
  setRetention,
} from '../../client/index.ts';
import { Pages } from '../../client/pages.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let client: ServiceClient;
let projectId: string;

beforeAll(async () => {
  service = await sharedTestService();
  client = service.client;
  projectId = (await service.project()).id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

const names = <T extends { name: string }>(items: readonly T[]) => items.map(({ name }) => name);

describe('what the interface has', () => {
  test('projects and their log streams', async () => {
    const { id } = await createProject({ client, name: 'by function' });
    expect(names(await listProjects({ client }).all())).toContain('by function');
    await createLogStream({ client, projectId: id, name: 'first' });
    const second = await createLogStream({ client, projectName: 'by function', name: 'second' });
    expect(names(await listLogStreams({ client, projectId: id }).all())).toEqual(expect.arrayContaining(['first', 'second']));
    await deleteLogStream({ client, projectId: id, id: second.id });
    expect(names(await listLogStreams({ client, projectId: id }).all())).not.toContain('second');
    await expect(createProject({ client, name: 'by function' })).rejects.toMatchObject({
      name: 'HttpStatusError',
      status: 409,
      requestId: expect.any(String),
    });
    await deleteProject({ client, id });
    await expect(deleteProject({ client, id })).rejects.toMatchObject({ name: 'NotFoundError', status: 404 });
    await expect(createProject({ client, name: '' })).rejects.toMatchObject({ name: 'ValueError' });
  });

  test('datasets: rows, edits, versions', async () => {
    const content = [{ input: 'one' }, { input: 'two' }];
    const name = `edited ${projectId}`;
    const { id } = await createDataset({ client, projectId, name, content });
    const rows = await datasetRows({ client, id }).all();
    expect(rows.map(({ values_dict }) => values_dict.input)).toEqual(['one', 'two']);
    await editDataset({
      client,
      id,
      edits: [
        { edit_type: 'delete_row', row_id: rows[0]?.row_id as string },
        { edit_type: 'append_row', values: { input: 'three' } },
      ],
    });
    const inputs = async (versionIndex?: number) =>
      (await datasetRows({ client, id, versionIndex }).all()).map(({ values_dict }) => values_dict.input);
    const versions = await datasetVersions({ client, id }).all();
    expect(versions.map(({ rows_added, rows_removed }) => [rows_added, rows_removed])[0]).toEqual([1, 1]);
    expect(await inputs()).toEqual(['two', 'three']);
    expect(await inputs(versions[1]?.version_index)).toEqual(['one', 'two']);
    expect(names(await listDatasets({ client, projectId }).all())).toEqual([name]);
    const changes = await datasetChanges({ client, id, versionIndex: versions[0]?.version_index ?? 0 }).all();
    expect(changes.map(({ change, values, values_before }) => [change, values?.input, values_before?.input])).toEqual([
      ['removed', undefined, 'one'],
      ['added', 'three', undefined],
    ]);
    const late = editDataset({ client, id, ifVersion: 1, edits: [{ edit_type: 'append_row', values: { input: 'late' } }] });
    await expect(late).rejects.toMatchObject({ status: 412 });
    await expect(editDataset({ client, id, edits: [] })).rejects.toMatchObject({ name: 'HttpStatusError', status: 422 });
    await deleteDataset({ client, id });
    expect(await getDataset({ client, id })).toBeUndefined();
  });

  test('prompts and their versions', async () => {
    const { id } = await createPrompt({ client, name: 'versions', template: 'Say {{input}}' });
    const { version } = await addPromptVersion({ client, id, template: 'Shout {{input}}' });
    expect(await getPrompt({ client, id })).toMatchObject({ selected_version: { version: version - 1 } });
    await addPromptVersion({ client, id, template: 'Sing {{input}}', settings: { temperature: 0.5 }, select: true });
    expect(await getPrompt({ client, id })).toMatchObject({
      selected_version: { version: version + 1, settings: { temperature: 0.5 } },
    });
    expect(names(await listPrompts({ client }).all())).toContain('versions');
    await deletePrompt({ client, id });
    expect(await getPrompt({ client, id })).toBeUndefined();
  });

  test('integrations, and judges that are there whole or not at all', async () => {
    const integration = await saveIntegration({ client, provider: 'openai', settings: { token: 'a-secret-token' } });
    expect(integration.provider).toBe('openai');
    const resource = { token: 'a-secret-token', endpoint: 'https://93.184.215.14', deployments: { 'gpt-4o': 'west' } };
    expect((await saveIntegration({ client, provider: 'azure', settings: resource })).provider).toBe('azure');
    expect(JSON.stringify(await listIntegrations({ client }))).not.toContain('a-secret-token');
    await deleteIntegration({ client, provider: 'azure' });

    const judge = await createJudge({
      client,
      name: 'politeness',
      instructions: 'Is the answer polite?',
      settings: { model_name: 'gpt-4o', num_judges: 1, output_type: 'boolean' },
    });
    expect((await listMetrics({ client }).all()).find(({ id }) => id === judge.id)).toMatchObject({
      name: 'politeness',
      default_version: { num_judges: 1 },
    });
    const broken = { client, name: 'broken', instructions: 'Judge.', settings: { num_judges: 0 } };
    await expect(createJudge(broken)).rejects.toMatchObject({ name: 'HttpStatusError', status: 422 });
    expect(names(await listMetrics({ client }).all())).not.toContain('broken');
    await deleteMetric({ client, id: judge.id });
    expect(names(await listMetrics({ client }).all())).not.toContain('politeness');
    await deleteIntegration({ client, provider: 'openai' });
    expect(await listIntegrations({ client })).toEqual([]);
  });

  test('annotation queues', async () => {
    const before = names(await listAnnotationQueues({ client }).all());
    const { id } = await createAnnotationQueue({ client, name: 'to rate' });
    expect(names(await listAnnotationQueues({ client }).all())).toEqual(['to rate', ...before]);
    await deleteAnnotationQueue({ client, id });
    expect(names(await listAnnotationQueues({ client }).all())).toEqual(before);
  });

  test('records as a file, and how long they are kept', async () => {
    const logger = new Logger({ client, projectId, logStream: 'exported' });
    await logger.trace('hello', () => 'HELLO');
    await logger.flush();
    const stream = (await listLogStreams({ client, projectId }).all()).find(({ name }) => name === 'exported');
    const of = { client, projectId, logStreamId: stream?.id };
    expect(JSON.parse(await text(await exportRecords(of)))).toMatchObject({ input: 'hello', output: 'HELLO' });
    const csv = await text(await exportRecords({ ...of, format: 'csv', columns: ['input', 'output'] }));
    expect(csv.trim().split(/\r?\n/)).toEqual(['input,output', 'hello,HELLO']);
    await expect(exportRecords({ client, projectId })).rejects.toMatchObject({ name: 'ValueError' });
    await expect(exportRecords({ ...of, columns: ['nowhere'], format: 'csv' })).rejects.toMatchObject({ status: 422 });

    expect(await getRetention({ client, projectId })).toMatchObject({ retention_days: null });
    expect(await setRetention({ client, projectId, days: 30 })).toMatchObject({ retention_days: 30 });
    await expect(setRetention({ client, projectId, days: 0 })).rejects.toMatchObject({ name: 'ValueError' });
  });
});

test('pages are asked for as they are reached, and no further', async () => {
  const asked: number[] = [];
  const pages = new Pages(async (token) => {
    asked.push(token);
    return { items: [token, token + 1], nextStartingToken: token < 4 ? token + 2 : null };
  });
  for await (const item of pages) if (item === 2) break;
  expect(asked).toEqual([0, 2]);
  expect(await pages.all()).toEqual([0, 1, 2, 3, 4, 5]);
});

test('a signal ends the request of any operation, and nothing is sent again', async () => {
  let requests = 0;
  const asked = Promise.withResolvers<void>();
  const silent = createServer(() => {
    requests++;
    asked.resolve();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.closeAllConnections());
  onTestFinished(() => void silent.close());
  await new Promise((resolve) => silent.once('listening', resolve));
  const away = new ServiceClient({ apiUrl: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, apiKey: 'a-key' });
  const stop = new AbortController();
  const waiting = Promise.allSettled([
    listProjects({ client: away, signal: stop.signal }).all(),
    getDataset({ client: away, signal: stop.signal, name: 'x' }),
    exportRecords({ client: away, signal: stop.signal, projectId, logStreamId: 'x' }),
  ]);
  await asked.promise;
  stop.abort(new Error('enough'));
  expect((await waiting).map((one) => one.status === 'rejected' && one.reason.message)).toEqual(['enough', 'enough', 'enough']);
  expect(requests).toBeLessThanOrEqual(3);
});
