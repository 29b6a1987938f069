// A service of its own: its files are damaged between its starts.

import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

let folder: string;
let where: ServiceFolder;
let client: ServiceClient;
let project: string;
let stream: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-torn-'));
  where = await serviceFolder(join(folder, 'data'));
  const service = await where.start();
  client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  project = (await client.send<{ id: string }>('/projects', { body: { name: 'torn' } })).id;
  stream = (await client.send<{ id: string }>(`/projects/${project}/log_streams`, { body: { name: 'main' } })).id;
  for (const name of ['a', 'b', 'c'])
    await client.send(`/projects/${project}/traces`, { body: { log_stream_id: stream, traces: [{ name, input: name }] } });
  await service.kill('SIGTERM');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function start(): Promise<ServiceProcess> {
  const service = await where.start();
  onTestFinished(() => service.kill('SIGKILL'));
  return service;
}
const names = async () =>
  (
    await client.send<{ records: { name: string }[] }>(`/projects/${project}/traces/search`, { body: { log_stream_id: stream } })
  ).records.map(({ name }) => name);
const health = async () => (await client.send<{ message: string }>('/healthcheck')).message;

test('an empty database of Temporal is replaced by a new one', async () => {
  for (const name of ['temporal.sqlite', 'temporal.sqlite-wal']) writeFileSync(join(where.dataDir, name), '');
  const service = await start();
  expect(service.output()).toMatch(/Temporal's database .* was empty; the server makes a new one, and every run goes on/);
  expect(await health()).toBe('ready');
  await service.kill('SIGTERM');
});

test('a damaged database of Temporal ends the start with what to do, and without it the start succeeds', async () => {
  const path = join(where.dataDir, 'temporal.sqlite');
  writeFileSync(path, 'no database at all, of more bytes than the head of a file of SQLite has: '.repeat(40));
  await expect(where.start()).rejects.toThrow(/Temporal's database is damaged .*: put a copy of it back, or move .* away/);
  await rm(path);
  await (await start()).kill('SIGTERM');
});

test('a part that lost a file is reported at the start and in the health, and the rest is found', async () => {
  const parts = readdirSync(join(where.dataDir, 'clickhouse', 'store'), { recursive: true, encoding: 'utf8' });
  const store = join(where.dataDir, 'clickhouse', 'store');
  const first = parts
    .filter((path) => /all_\d+_\d+_\d+\/columns\.txt$/.test(path))
    .find((path) => readFileSync(join(store, path), 'utf8').includes('trace_is_complete'));
  truncateSync(join(store, first as string), 0);
  const service = await start();
  const sentence = /1 part of the table records is broken and set aside .*: what it holds is missing/;
  expect(service.output()).toMatch(sentence);
  expect(await health()).toMatch(sentence);
  expect((await names()).length).toBeLessThan(3);
  await service.kill('SIGTERM');
});

test('an embedded Postgres without its control file ends the start with what to do', async () => {
  truncateSync(join(where.dataDir, 'postgres', 'global', 'pg_control'), 0);
  await expect(where.start()).rejects.toThrow(
    /the embedded Postgres in .* cannot be opened .*: its files are damaged; put a copy of the whole data folder back/,
  );
});
