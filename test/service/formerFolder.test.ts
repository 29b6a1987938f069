// A service of its own: it begins on the data folder of a former release.

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import { ask, type FormerFolder, unpackFormerFolder } from '../support/formerFolder.ts';
import { type ServiceFolder, serviceFolder } from '../support/serviceProcess.ts';

// Data folders of records that a former release has left, and the present service on them.

let folder: string;
let facts: FormerFolder;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-former-'));
  facts = await unpackFormerFolder(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function startOn(where: ServiceFolder) {
  const service = await where.start();
  onTestFinished(() => service.kill('SIGKILL'));
  return { service, client: new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey }) };
}

/** A service on a copy of the folder, with the keys that it had. */
async function copyOf(name: 'stopped' | 'killed'): Promise<ServiceFolder> {
  const dataDir = await mkdtemp(join(folder, `${name}-`));
  await cp(join(folder, name), dataDir, { recursive: true });
  // An update waits for its record for a day, and the folder is older.
  const database = await openDatabase({ directory: join(dataDir, 'postgres') });
  await database.query('UPDATE held_updates SET held_at = now()');
  await database.close();
  return serviceFolder(dataDir, {}, { empty: true });
}

async function answersAsBefore(client: ServiceClient): Promise<void> {
  for (const { question, answer } of facts.answers)
    expect(await ask(client, question), JSON.stringify(question)).toMatchObject(answer as object);
}

/** Milliseconds of a start that is left alone. */
let startMs: number;

test('a data folder that a former release has left answers as it did, at the first start and at the second', async () => {
  const where = await copyOf('stopped');
  for (let start = 1; start <= 2; start++) {
    const begun = performance.now();
    const { service, client } = await startOn(where);
    startMs = performance.now() - begun;
    await answersAsBefore(client);
    await service.kill('SIGTERM');
  }
});

test('a start on a folder of a former release that was killed goes on where others were killed before it, and takes writes', async () => {
  const where = await copyOf('killed');
  const wereReady: boolean[] = [];
  for (const share of [0.4, 0.6, 0.75, 0.9]) wereReady.push(await where.startAndKill(share * startMs));
  expect(wereReady).toContain(false);
  const { client } = await startOn(where);
  await answersAsBefore(client);

  const { projectId, streamId, traces } = facts;
  const of = `/projects/${projectId}`;
  const trace = async (id: string) => {
    const body = { log_stream_id: streamId, filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: id }] };
    return (await client.send<{ records: object[] }>(`${of}/traces/search`, { body })).records[0];
  };
  const log = (id: string) =>
    client.send(`${of}/traces`, { body: { log_stream_id: streamId, traces: [{ id, name: 'new', input: 'q', output: 'a' }] } });
  const patch = (id: string, output: string) =>
    client.send(`${of}/traces/${id}`, { method: 'PATCH', body: { log_stream_id: streamId, trace_id: id, output } });

  await patch(traces.kept, 'changed by this release');
  expect(await trace(traces.kept)).toMatchObject({
    output: 'changed by this release',
    status_code: 201,
    tags: ['tag 0', 'changed'],
  });
  await log(traces.early); // the former release has kept an update for it
  expect(await trace(traces.early)).toMatchObject({ input: 'q', output: 'early answer' });
  await expect(patch(traces.deleted, 'not there')).rejects.toMatchObject({ name: 'NotFoundError' });
  const added = crypto.randomUUID();
  await log(added);
  await patch(added, 'answered');
  expect(await trace(added)).toMatchObject({ input: 'q', output: 'answered' });
});
