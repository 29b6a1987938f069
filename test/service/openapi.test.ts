import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWithServer } from '../support/describeWithServer.ts';
import { everyEndpoint } from '../support/everyEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

type Json = Record<string, unknown>;
interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters: { name: string; in: string; required: boolean; schema: Json }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Json }> }>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Json; schemas: Record<string, Json> };
}

const endpoints = await everyEndpoint();
let service: TestService;
let document: Document;

beforeAll(async () => {
  service = await sharedTestService();
  document = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document;
});
afterAll(() => service[Symbol.asyncDispose]());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, name: `${method} ${path}`, operation })),
  );

/** Every value in the document with its place. */
function* everyValue(value: unknown, place = '#'): Generator<[string, unknown]> {
  yield [place, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* everyValue(inner, `${place}/${key}`);
}

describe('the OpenAPI document', () => {
  test('is one of OpenAPI 3.1.0, of interface version 0.1.0, with and without the prefix', async () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Assay', version: '0.1.0' } });
    expect(await (await fetch(`${service.url}/v2/openapi.json`)).json()).toEqual(document);
  });

  test('is there as one of OpenAPI 3.0, too, with the same operations and schemas, for what does not read 3.1', async () => {
    const older = (await (await fetch(`${service.url}/openapi-3.0.json`)).json()) as Document;
    expect(older).toMatchObject({ openapi: '3.0.4', info: document.info });
    expect(Object.keys(older.components.schemas)).toEqual(Object.keys(document.components.schemas));
    const bare = ({ parameters, requestBody, responses, ...rest }: Operation) => ({
      ...rest,
      parameters: parameters.map(({ name, in: where, required }) => [name, where, required]),
      bodies: Object.keys(requestBody?.content ?? {}),
      answers: Object.entries(responses).map(([status, { content }]) => [status, Object.keys(content ?? {})]),
    });
    const bared = ({ paths }: Document) =>
      Object.entries(paths).map(([path, methods]) => [path, Object.entries(methods).map(([method, it]) => [method, bare(it)])]);
    expect(bared(older)).toEqual(bared(document));
    const { discriminator } = older.components.schemas.LoggedSpan as Json;
    expect(discriminator).toEqual(document.components.schemas.LoggedSpan?.discriminator);

    const unknown = ['const', 'prefixItems', 'propertyNames', 'patternProperties', 'examples', 'contentEncoding', 'definitions'];
    const newer: string[] = [];
    for (const [place, value] of everyValue(older)) {
      if (typeof value !== 'object' || value === null || /\/(properties|mapping)$/.test(place)) continue;
      const { type, exclusiveMinimum, exclusiveMaximum } = value as Json;
      const isNewer =
        unknown.some((key) => key in value) ||
        type === 'null' ||
        Array.isArray(type) ||
        [exclusiveMinimum, exclusiveMaximum].some((bound) => typeof bound === 'number') ||
        ('$ref' in value && Object.keys(value).length > 1);
      if (isNewer) newer.push(place);
    }
    expect(newer).toEqual([]);
  });

  test('names the four ways to authenticate', () => {
    expect(document.components.securitySchemes).toEqual({
      ClassicAPIKeyHeader: { type: 'apiKey', in: 'header', name: 'Service-API-Key' },
      APIKeyHeader: { type: 'apiKey', in: 'header', name: 'Service-AO-API-Key' },
      OAuth2PasswordBearer: { type: 'oauth2', flows: { password: { tokenUrl: expect.stringMatching(/\/login$/), scopes: {} } } },
      HTTPBasic: { type: 'http', scheme: 'basic' },
    });
    const anyOfThem = Object.keys(document.components.securitySchemes).map((name) => ({ [name]: [] }));
    const byRoute = new Map(endpoints.map((route) => [`${route.method} /v2${route.path}`, route.access]));
    for (const { name, operation } of operations())
      expect(operation.security, name).toEqual(byRoute.get(name) === 'public' ? undefined : anyOfThem);
  });

  test('lists every route under /v2, and the service serves each of them', () => {
    const declared = endpoints.map((route) => `${route.method} /v2${route.path}`);
    expect(
      operations()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(declared.sort());
  });

  test('gives each operation an id of its own, a summary and a tag', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    for (const { name, operation } of operations()) {
      expect(operation.operationId, name).toMatch(/^[a-z][a-z0-9_]*$/i);
      expect(operation.summary, name).toBeTruthy();
      expect(operation.tags, name).toHaveLength(1);
    }
  });

  test('declares each parameter of a path, and no other', () => {
    for (const { name, path, operation } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const declared = operation.parameters.filter((parameter) => parameter.in === 'path');
      expect(declared.map((parameter) => parameter.name).sort(), name).toEqual(inPath.sort());
      expect(
        declared.every((parameter) => parameter.required),
        name,
      ).toBe(true);
      const places = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(places).size, name).toBe(places.length);
    }
  });

  test('has an answer for success, for wrong input and for wrong credentials', () => {
    for (const { name, operation } of operations()) {
      const statuses = Object.keys(operation.responses);
      expect(
        statuses.filter((status) => status.startsWith('2')),
        name,
      ).toHaveLength(1);
      expect(operation.responses['422']?.content?.['application/json']?.schema, name).toEqual({
        $ref: '#/components/schemas/HTTPValidationError',
      });
      if (operation.security) expect(statuses, name).toEqual(expect.arrayContaining(['401', '403']));
      for (const response of Object.values(operation.responses)) expect(response.description, name).toBeTruthy();
    }
  });

  test('lists the statuses and the media types of each route', () => {
    const of = (method: string, path: string) => {
      const operation = document.paths[`/v2${path}`]?.[method];
      const { requestBody, responses }: Partial<Operation> = operation ?? {};
      const types = (content: Record<string, unknown> | undefined) => Object.keys(content ?? {});
      return {
        body: types(requestBody?.content),
        ok: types(responses?.['200']?.content),
        statuses: Object.keys(responses ?? {}).join(' '),
      };
    };
    const json = ['application/json'];
    const otlp = ['application/x-protobuf', 'application/json'];
    expect(of('get', '/healthcheck')).toEqual({ body: [], ok: json, statuses: '200 422 431 500 503' });
    expect(of('post', '/projects')).toEqual({
      body: json,
      ok: json,
      statuses: '200 400 401 403 408 409 413 415 421 422 429 431 500 503',
    });
    expect(of('post', '/projects/{project_id}/traces').statuses).toBe('200 400 401 403 404 408 413 415 421 422 429 431 500 503');
    expect(of('post', '/otel/traces')).toMatchObject({ body: otlp, ok: otlp });
    expect(Object.keys(document.paths['/v2/otel/traces']?.post?.responses['503']?.content ?? {}).sort()).toEqual(otlp.toSorted());
    expect(of('post', '/datasets')).toMatchObject({ body: ['multipart/form-data'], ok: json });
    expect(of('get', '/datasets/{dataset_id}/download').ok).toEqual(['text/csv', 'application/x-ndjson']);
    expect(of('patch', '/datasets/{dataset_id}/content').statuses).toContain(' 409 412 413 ');
    expect(of('post', '/projects/{project_id}/export_records').ok).toEqual([
      ...['application/x-ndjson', 'text/csv', 'application/vnd.apache.parquet'],
    ]);
    expect(of('post', '/login')).toMatchObject({
      body: ['application/x-www-form-urlencoded'],
      statuses: expect.stringContaining(' 401 '),
    });
  });

  test('describes a body by its media type: files are no JSON, nor are messages of another protocol', () => {
    const of = (method: string, path: string) => {
      const { requestBody, responses }: Partial<Operation> = document.paths[`/v2${path}`]?.[method] ?? {};
      return (status?: number) => (status === undefined ? requestBody : responses?.[status])?.content;
    };
    const [text, binary] = [{ type: 'string' }, { type: 'string', format: 'binary' }];
    for (const path of ['/otel/traces', '/otel/v1/traces', '/v1/traces']) {
      const otlp = of('post', path);
      const message = (name: string) => ({
        'application/x-protobuf': { schema: { ...binary, description: expect.stringContaining(name) } },
        'application/json': { schema: { type: 'object', description: expect.stringContaining(name) } },
      });
      expect(otlp()).toEqual(message('ExportTraceServiceRequest'));
      expect(otlp(200)).toEqual(message('ExportTraceServiceResponse'));
      for (const status of [400, 401, 403, 404, 408, 413, 415, 429, 500, 503])
        expect(otlp(status), `${path} ${status}`).toEqual({
          'application/x-protobuf': message('google.rpc.Status')['application/x-protobuf'],
          'application/json': { schema: { $ref: '#/components/schemas/Error' } },
        });
    }
    const csv = { 'text/csv': { schema: text } };
    const lines = { 'application/x-ndjson': { schema: text } };
    const parquet = { 'application/vnd.apache.parquet': { schema: binary } };
    expect(of('post', '/projects/{project_id}/export_records')(200)).toEqual({ ...lines, ...csv, ...parquet });
    expect(of('get', '/datasets/{dataset_id}/download')(200)).toEqual({ ...csv, ...lines });
    expect(of('post', '/annotation_queues/{queue_id}/records/export')(200)).toEqual({ ...lines, ...csv });
    expect(of('get', '/annotation_queues/{queue_id}/records/export/{export_id}')(200)).toEqual({ ...lines, ...csv });
    expect(of('get', '/datasets/{dataset_id}/download')(404)).toEqual({
      'application/json': { schema: { $ref: '#/components/schemas/Error' } },
    });
  });

  test('describes what a 422 really holds', async () => {
    expect(document.components.schemas.HTTPValidationError).toMatchObject({
      properties: { detail: { items: { $ref: '#/components/schemas/ValidationError' } } },
    });
    expect(document.components.schemas.ValidationError).toMatchObject({
      required: ['loc', 'msg', 'type'],
      properties: { loc: { type: 'array' }, msg: { type: 'string' } },
    });
    const { status, body } = await service.request('POST', '/v2/projects', { name: 7 });
    expect(status).toBe(422);
    const { detail } = body as { detail: Json[] };
    expect(detail[0]).toMatchObject({ loc: ['body', 'name'], msg: expect.any(String), type: expect.any(String) });
  });

  test('holds together: every reference leads somewhere, every schema is one', () => {
    const dangling: string[] = [];
    for (const [place, value] of everyValue(document)) {
      if (!place.endsWith('/$ref') || typeof value !== 'string') continue;
      const target = value
        .slice(2)
        .split('/')
        .reduce<unknown>(
          (inner, key) => (inner as Json | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')],
          document,
        );
      if (!value.startsWith('#/') || target === undefined) dangling.push(`${place}: ${value}`);
    }
    expect(dangling).toEqual([]);

    const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
    for (const [place, value] of everyValue(document)) {
      if (
        typeof value !== 'object' ||
        value === null ||
        !place.match(/\/(schema|schemas\/\w+|properties\/\w+|items|anyOf\/\d+|oneOf\/\d+)$/)
      )
        continue;
      const { type, required, $schema, $defs } = value as {
        type?: unknown;
        required?: unknown;
        $schema?: unknown;
        $defs?: unknown;
      };
      // A property may itself be called `type`.
      if (typeof type === 'string') expect(types, place).toContain(type);
      if (required !== undefined && Array.isArray(required)) expect(new Set(required).size, place).toBe(required.length);
      expect([$schema, $defs], place).toEqual([undefined, undefined]);
    }
    const used = new Set([...everyValue(document)].flatMap(([place, value]) => (place.endsWith('/$ref') ? [value] : [])));
    const unused = Object.keys(document.components.schemas).filter((name) => !used.has(`#/components/schemas/${name}`));
    expect(unused).toEqual([]);
  });
});

/** The routes of records in the published interface. */
const recordRoutes = [
  'post /projects/{project_id}/traces/aggregated',
  'post /projects/{project_id}/traces',
  'post /projects/{project_id}/spans',
  'post /projects/{project_id}/sessions',
  'post /ingest/traces/{project_id}',
  'post /ingest/spans/{project_id}',
  'get /ingest/healthz',
  'patch /projects/{project_id}/traces/{trace_id}',
  'patch /projects/{project_id}/spans/{span_id}',
  'get /projects/{project_id}/traces/{trace_id}',
  'get /projects/{project_id}/spans/{span_id}',
  'get /projects/{project_id}/sessions/{session_id}',
  'post /projects/{project_id}/metrics-testing/available_columns',
  'post /projects/{project_id}/metrics-testing/{run_id}/health-score',
  'post /projects/{project_id}/metrics/search',
  'post /projects/{project_id}/metrics/search/v2',
  'post /projects/{project_id}/metrics/custom_search',
  'post /projects/{project_id}/export_records',
  ...['traces', 'spans', 'sessions'].flatMap((what) =>
    ['available_columns', 'search', 'partial_search', 'count', 'delete'].map(
      (route) => `post /projects/{project_id}/${what}/${route}`,
    ),
  ),
];

describe('the routes of records', () => {
  const schemaOf = (name: string) => document.components.schemas[name] as Json & { properties: Record<string, Json> };

  test.each(recordRoutes)('%s has a body and an answer of which every key is said', (route) => {
    const [method = '', path = ''] = route.split(' ');
    const operation = document.paths[`/v2${path}`]?.[method];
    expect(operation).toBeDefined();
    const bodies = [operation?.requestBody, operation?.responses['200']].flatMap((part) => Object.values(part?.content ?? {}));
    expect(bodies.length).toBeGreaterThan(0);
    for (const { schema } of bodies) expect(Object.keys(schema)).not.toEqual([]);
    if (method !== 'get') expect(operation?.requestBody?.content['application/json']?.schema.$ref).toMatch(/Request$/);
  });

  test('traces and spans of a request are typed by kind', () => {
    const kinds = ['llm', 'tool', 'retriever', 'workflow', 'agent', 'control'];
    const body = (name: string, key: string) => schemaOf(name).properties[key];
    expect(body('LogTracesIngestRequest', 'traces')).toEqual({
      ...{ type: 'array', minItems: 1, items: { $ref: '#/components/schemas/Trace' } },
    });
    expect(body('LogSpansIngestRequest', 'spans')).toEqual({
      ...{ type: 'array', minItems: 1, items: { $ref: '#/components/schemas/LoggedSpan' } },
    });
    expect(schemaOf('LoggedSpan').discriminator).toEqual({
      propertyName: 'type',
      mapping: Object.fromEntries(kinds.map((kind) => [kind, expect.stringMatching(new RegExp(`schemas/${kind}Span$`, 'i'))])),
    });
    for (const holder of ['Trace', 'WorkflowSpan', 'AgentSpan', 'ToolSpan', 'RetrieverSpan'])
      expect(JSON.stringify(schemaOf(holder).properties.spans), holder).toContain('#/components/schemas/LoggedSpan');
    expect(schemaOf('LlmSpan').properties).not.toHaveProperty('spans');
  });

  test('a column is told with every key of the interface, its enums by their names', () => {
    const { properties } = schemaOf('LogRecordsColumnInfo');
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(['scorer_config', 'insight_type', 'label_color']));
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(properties).toMatchObject({ category: ref('ColumnCategory'), data_type: ref('DataType'), data_unit: ref('DataUnit') });
    expect(properties).toMatchObject({ filter_type: ref('LogRecordsFilterType'), applicable_types: { items: ref('StepType') } });
    expect(schemaOf('DataType').enum).toHaveLength(20);
    expect(schemaOf('ComputeHealthScoreRequest').properties).toMatchObject({ output_type: ref('OutputTypeEnum') });
    expect(JSON.stringify(schemaOf('HealthScoreResult').properties.health_score_type)).toContain('schemas/HealthScoreType');
  });

  test('a metric result is typed by its state, a record by its kind', () => {
    const mapping = (name: string) => Object.keys((schemaOf(name).discriminator as { mapping: Json }).mapping).sort();
    const states = ['computing', 'error', 'failed', 'not_applicable', 'not_computed', 'pending', 'roll_up', 'success'];
    expect(mapping('MetricResult')).toEqual(states);
    const { records } = schemaOf('LogRecordsQueryResponse').properties as { records: { items: Json } };
    expect(Object.keys((records.items.discriminator as { mapping: Json }).mapping).sort()).toEqual([
      ...['agent', 'control', 'llm', 'retriever', 'session', 'tool', 'trace', 'workflow'],
    ]);
  });
});

const program = '/usr/bin/chromium';
describeWithServer(
  'the page of the API',
  { name: 'chromium', path: existsSync(program) ? program : undefined },
  (executablePath) => {
    let browser: Browser;
    beforeAll(async () => {
      const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
      const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
      browser = await chromium.launch({ executablePath, args: [...args, ...quiet] });
    });
    afterAll(() => browser.close());

    test('loads without an error, from this service alone, and lists the operations', async () => {
      const page = await browser.newPage();
      const wrong: string[] = [];
      await page.addInitScript(
        "addEventListener('securitypolicyviolation', (it) => console.error(it.violatedDirective + ' refused ' + it.blockedURI));",
      );
      page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
      page.on('pageerror', (error) => wrong.push(error.message));
      page.on(
        'request',
        (request) => /^(data:|blob:)/.test(request.url()) || request.url().startsWith(service.url) || wrong.push(request.url()),
      );
      page.on('response', (response) => response.ok() || wrong.push(`${response.status()} ${response.url()}`));
      await page.goto(`${service.url}/docs`);
      await page.locator('.opblock-tag').first().waitFor();
      expect(await page.locator('.info .title').textContent()).toContain('Assay');
      const tags = new Set(endpoints.map((route) => route.tag));
      expect(await page.locator('.opblock-tag').count()).toBe(tags.size);

      await page.locator('.opblock-tag[data-tag="Experiments"]').click();
      const search = page.locator('#operations-Experiments-post_projects_project_id_experiments_search');
      await search.click();
      await search.locator('.opblock-body').waitFor();
      expect(await search.textContent()).toContain('Find experiments');

      await page.locator('.opblock-tag[data-tag="Records"]').click();
      const log = page.locator('#operations-Records-post_projects_project_id_traces');
      await log.click();
      await log.locator('.opblock-body').waitFor();
      // The example is made of the schemas: a trace with its fields, not an untyped list.
      expect(await log.locator('.body-param__example').textContent()).toContain('"user_metadata"');
      // And its own calls of the service: the answer of one that needs no key stands on the page.
      await page.locator('.opblock-tag[data-tag="Health"]').click();
      const health = page.locator('#operations-Health-get_healthcheck');
      await health.click();
      await health.locator('.try-out__btn').click();
      await health.locator('.execute').click();
      await health.locator('.live-responses-table .response-col_description').first().waitFor();
      expect(await health.locator('.live-responses-table').textContent()).toContain('api_version');
      expect(wrong).toEqual([]);
      await page.close();
    });

    test('is shown in no frame of another page', async () => {
      const outer = createServer((_request, response) => {
        response.setHeader('content-type', 'text/html').end(`<iframe src="${service.url}/docs"></iframe>`);
      });
      await new Promise<void>((resolve) => outer.listen(0, '127.0.0.1', resolve));
      const page = await browser.newPage();
      const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
      await page.goto(`http://127.0.0.1:${(outer.address() as AddressInfo).port}/`);
      await refused;
      expect(page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
      await page.close();
      outer.closeAllConnections();
      outer.close();
    });

    test('runs no script but its own', async () => {
      const page = await browser.newPage();
      await page.goto(`${service.url}/docs`);
      const refused = page.waitForEvent('console', (message) => message.text().includes('script-src'));
      await page.evaluate(`
        const script = document.createElement('script');
        script.textContent = 'document.title = "taken over"';
        document.body.append(script);
      `);
      await refused;
      expect(await page.title()).toBe('Assay API');
      await page.close();
    });
  },
);
