// A service of its own: it runs a copy of the sources with further entries, on the same data.

import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tokenProviders } from '../../shared/providers/index.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

// The promises of docs/contributing.md: a new filterable column is one entry in shared/columns/standard.ts, a new model provider one file in shared/providers
// and its line in the list there. The sources are copied, the copy gets the entries, and its service starts on the data folder that the service without
// them has left.

const ROOT = join(import.meta.dirname, '../..');
const ENTRY = `
  column({
    id: 'region',
    label: 'Region',
    description: 'Region that served the call.',
    dataType: 'text',
    kinds: recordKinds.filter((kind) => kind !== 'session'),
    value: Text,
    stored: { sqlType: 'LowCardinality(Nullable(String))' },
    optional: true,
  }),
`;
/** Another of a type that is read in a way of its own. */
const TIME_ENTRY = ENTRY.replace("'region'", "'queued_at'")
  .replace("dataType: 'text'", "dataType: 'timestamp'")
  .replace('value: Text', 'value: RecordTime')
  .replace('LowCardinality(Nullable(String))', 'Nullable(DateTime64(6))');

const PROVIDER = `
import { z } from 'zod';
import { chat, textOnly } from './modelFamily.ts';
import { bearerConnection, tokenProvider } from './provider.ts';

export const casino = tokenProvider({
  name: 'casino',
  label: 'Casino',
  sent: z.object({ region: z.string() }),
  stored: z.object({ area: z.string() }),
  shown: z.object({ region: z.string() }),
  toStored: ({ region }) => ({ area: region }),
  toShown: ({ area }) => ({ region: area }),
  connect: (_stored, secrets) => bearerConnection('https://models.example/v1', secrets),
  models: [{ parameters: chat, modalities: textOnly, names: ['roulette'] }],
});
`;

let folder: string;
let service: ServiceProcess;
let project: string;
let stream: string;

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape; a wrong guess fails the test
type Json = any;
async function ask(path: string, body?: object, method = 'POST'): Promise<Response> {
  const response = await fetch(`${service.url}${path}`, {
    ...(body && { method, body: JSON.stringify(body) }),
    headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}
const post = async (path: string, body: object): Promise<Json> => (await ask(`/v2/projects${path}`, body)).json();
const inStream = (route: string, body: object) => post(`/${project}/${route}`, { log_stream_id: stream, ...body });
const search = async (body: object, kind = 'traces'): Promise<Json[]> => (await inStream(`${kind}/search`, body)).records;
const exported = async (body: object): Promise<string> =>
  (await ask(`/v2/projects/${project}/export_records`, { log_stream_id: stream, root_type: 'trace', ...body })).text();

/** The sources of the service, with these columns at the end of the registry, and the provider. */
async function copyWith(entries: string, copy: string): Promise<void> {
  await mkdir(copy);
  for (const name of ['start.ts', 'service.ts', 'package.json', 'api', 'client', 'shared', 'workers', 'workflows'])
    await cp(join(ROOT, name), join(copy, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const registry = join(copy, 'shared/columns/standard.ts');
  const [before, after, ...more] = (await readFile(registry, 'utf8')).split('\n] as const;');
  expect(more).toEqual([]);
  await writeFile(registry, `${before}${entries}] as const;${after}`);
  await writeFile(join(copy, 'shared/providers/casino.ts'), PROVIDER);
  // Every provider of the interface is there, so the copy has one of its own.
  const names = join(copy, 'shared/wire/integrations.ts');
  await writeFile(names, (await readFile(names, 'utf8')).replace("  'writer',\n", "  'writer',\n  'casino',\n"));
  const list = join(copy, 'shared/providers/index.ts');
  const listed = (await readFile(list, 'utf8')).replace(/\[\s*(openai,[^\]]*?),?\s*\]/, '[$1, casino]');
  await writeFile(list, `import { casino } from './casino.ts';\n${listed}`);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-column-'));
  const dataDir = join(folder, 'data');
  service = await (await serviceFolder(dataDir)).start();
  project = (await post('', { name: 'columns' })).id;
  stream = (await post(`/${project}/log_streams`, { name: 'main' })).id;
  await inStream('traces', { traces: [{ name: 'former', input: 'a question', region: 'lost' }] });
  await service.kill('SIGTERM');

  const copy = join(folder, 'copy');
  await copyWith(ENTRY + TIME_ENTRY, copy);
  service = await (await serviceFolder(dataDir, {}, { root: copy })).start();
  await inStream('traces', {
    traces: [
      {
        ...{ name: 'north', input: 'first', region: 'eu-north', queued_at: '2026-03-01T12:00:00+01:00' },
        spans: [{ type: 'tool', name: 'call', input: 'x', region: 'eu-west' }],
      },
      { name: 'south', input: 'second', region: 'af-south', queued_at: '2026-03-02T12:00:00Z' },
      // Odd values are made to fit, as those of every other column.
      { name: 'odd', input: 'third', region: 7, queued_at: '' },
    ],
  });
});
afterAll(async () => {
  await service?.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

test('it is logged, kept through an update, and read back; a record from before it has none', async () => {
  const records = await search({ sort: { column_id: 'name', ascending: true } });
  const shown = records.map(({ name, region, queued_at }) => [name, region, queued_at]);
  expect(shown).toEqual([
    ['former', null, null],
    ['north', 'eu-north', '2026-03-01T11:00:00.000000Z'],
    ['odd', '7', null],
    ['south', 'af-south', '2026-03-02T12:00:00.000000Z'],
  ]);
  const { id } = records.find(({ name }) => name === 'north');
  await ask(`/v2/projects/${project}/traces/${id}`).then(async (response) =>
    expect(await response.json()).toMatchObject({ region: 'eu-north', spans: [{ name: 'call', region: 'eu-west' }] }),
  );
  const update = { log_stream_id: stream, trace_id: id, output: 'done' };
  const response = await fetch(`${service.url}/v2/projects/${project}/traces/${id}`, {
    method: 'PATCH',
    body: JSON.stringify(update),
    headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
  });
  expect(response.status).toBe(200);
  const named = { filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: id }] };
  expect(await search(named)).toMatchObject([{ output: 'done', region: 'eu-north', queued_at: '2026-03-01T11:00:00.000000Z' }]);
});

test('it is filtered, sorted and selected', async () => {
  const regions = (body: object, kind?: string) => search(body, kind).then((found) => found.map(({ region }) => region));
  const contains = (value: string) => ({ filters: [{ type: 'text', column_id: 'region', operator: 'contains', value }] });
  expect(await regions(contains('eu-'))).toEqual(['eu-north']);
  expect(await regions(contains('eu-'), 'spans')).toEqual(['eu-west']);
  const since = { type: 'date', column_id: 'queued_at', operator: 'gt', value: '2026-03-02T00:00:00Z' };
  expect(await regions({ filters: [since] })).toEqual(['af-south']);
  const sorted = (column_id: string) => regions({ sort: { column_id, ascending: false } });
  expect(await sorted('region')).toEqual(['eu-north', 'af-south', '7', null]);
  expect((await sorted('queued_at')).slice(0, 2)).toEqual(['af-south', 'eu-north']);
  const { records } = await inStream('traces/partial_search', { ...contains('af'), select_columns: { column_ids: ['region'] } });
  expect(records).toMatchObject([{ name: 'south', region: 'af-south' }]);
  expect(records[0]).not.toHaveProperty('queued_at');
});

test('it is exported as CSV and as JSON lines', async () => {
  const sort = { name: 'name', ascending: true };
  const column_ids = ['name', 'region', 'queued_at'];
  expect(await exported({ export_format: 'csv', sort, column_ids })).toBe(
    'name,region,queued_at\r\nformer,,\r\nnorth,eu-north,2026-03-01T11:00:00.000000Z\r\nodd,7,\r\nsouth,af-south,2026-03-02T12:00:00.000000Z\r\n',
  );
  expect((await exported({ export_format: 'csv' })).split('\r\n')[0]).toMatch(/,selector_path,|,region,queued_at,/);
  const lines = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line): Json => JSON.parse(line).region);
  for (const export_format of ['jsonl', 'jsonl_flat'])
    expect(lines(await exported({ export_format, sort }))).toEqual([null, 'eu-north', '7', 'af-south']);
});

test('the catalog and the OpenAPI document have it', async () => {
  const { columns } = await inStream('traces/available_columns', {});
  expect(columns.find(({ id }: Json) => id === 'region')).toMatchObject({
    ...{ label: 'Region', category: 'standard', data_type: 'text', filter_type: 'text', filterable: true, sortable: true },
    ...{ is_optional: true, applicable_types: ['llm', 'agent', 'workflow', 'trace', 'control', 'retriever', 'tool'] },
  });
  const { schemas } = ((await (await ask('/openapi.json')).json()) as Json).components;
  const text = { type: ['string', 'null'] };
  for (const name of ['Trace', 'LlmSpan', 'ExtendedTraceRecord', 'PartialExtendedToolSpanRecord'])
    expect(schemas[name].properties.region).toEqual(text);
  expect(schemas.ExtendedSessionRecord.properties).not.toHaveProperty('region');
});

test('a provider is connected, shown without its secret, and lends its models to run settings and `based_on`', async () => {
  const integrations = async (path: string): Promise<Json> => (await ask(`/v2/integrations/${path}`)).json();
  expect(await integrations('available')).toEqual({
    integrations: ['custom', ...tokenProviders.map(({ name }) => name), 'casino'],
  });
  const saved: Json = await (await ask('/v2/integrations/casino', { token: 't-1', region: 'eu' }, 'PUT')).json();
  expect(saved).toMatchObject({ name: 'casino', provider: 'casino' });
  expect(await integrations('casino')).toEqual({
    id: saved.id,
    name: 'casino',
    extra: null,
    provider: 'casino',
    region: 'eu',
  });
  const models: Json = await (await ask('/v2/llm_integrations')).json();
  expect(models.casino).toMatchObject({ provider: 'casino', models: ['roulette'] });
  const based = { endpoint: 'https://93.184.215.14/v1', authentication_type: 'none' };
  const named = { ...based, model_properties: [{ name: 'own', alias: 'own', based_on: 'roulette' }] };
  expect(await (await ask('/v2/integrations/custom/own', named, 'PUT')).json()).toMatchObject({ name: 'own' });
  const { components, paths }: Json = await (await ask('/openapi.json')).json();
  expect(components.schemas.CasinoIntegrationCreate.required).toEqual(['region', 'token']);
  expect(Object.keys(paths).filter((path) => path.endsWith('/integrations/casino'))).toHaveLength(1);
});
