// A service of its own: it reads all that it logs, down to `trace`, and puts modules into its folders.

import fs from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../api/http/route.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { everyEndpoint } from '../support/everyEndpoint.ts';
import { fairAnswer } from '../support/fairAnswer.ts';
import { gzipBomb } from '../support/gzipBomb.ts';
import { type RawConnection, rawConnection } from '../support/rawHttp.ts';
import { newExperiment } from '../support/runs.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';
import { startTestService } from '../support/service.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const endpoints = await everyEndpoint();
/** Every secret that this file gives to the service: none may come back, in a reply or in the log. */
const secrets = [
  'key-Zq81Kd',
  'header-Yx72Ld',
  'kwarg-Wv63Md',
  'oauth-id:Ut54Nd',
  'Runner-Rs45Pd',
  'Pass-Word-Qp36!',
  'upstream-On27Sd',
] as const;
const [KEY, HEADER, KWARG, TOKEN, RUNNER_HEADER, PASSWORD, UPSTREAM] = secrets;

let folder: string;
let service: TestService;
let stalled: RawConnection;
let logged = '';
const writeSync = fs.writeSync;

beforeAll(async () => {
  // The log of a service goes to file descriptor 2.
  fs.writeSync = ((fd: number, data: string | Buffer, ...rest: never[]) => {
    if (fd !== 2) return writeSync(fd, data as string, ...rest);
    logged += data;
    return Buffer.byteLength(data);
  }) as typeof fs.writeSync;
  folder = await mkdtemp(join(tmpdir(), 'assay-bad-input-'));
  await fs.promises.mkdir(join(folder, 'runners'));
  await writeFile(join(folder, 'secret.ts'), 'export default () => "not a runner";');
  service = await startTestService({
    LOG_LEVEL: 'trace',
    RUNNERS_DIR: join(folder, 'runners'),
    HANDLERS_DIR: join(folder, 'runners'),
  });
  stalled = await rawConnection(service.url);
  stalled.socket.write(`${post('/projects', { 'Content-Length': '100' })}{"name":`);
});
afterAll(async () => {
  fs.writeSync = writeSync;
  stalled.socket.destroy();
  await service[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

type Answer = { status: number; headers: Headers; text: string; body: never };
/** One request with a key of its own (the administrator's when absent), whose answer must be fair. */
async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method,
    headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json', ...headers },
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  fairAnswer({ status: response.status, headers: response.headers, text });
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (text === '' ? undefined : JSON.parse(text)) as never,
  };
}
const made = async (path: string, body: unknown): Promise<{ id: string }> => {
  const answer = await call('POST', path, body);
  expect([path, answer.status, answer.text]).toMatchObject([path, 200, {}]);
  return answer.body;
};
const messageOf = ({ body }: Answer): string => {
  const { detail } = body as { detail: string | { loc: unknown[]; msg: string }[] };
  return typeof detail === 'string' ? detail : detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
};
const post = (path: string, headers: Record<string, string>): string =>
  `POST ${path} HTTP/1.1\r\n${Object.entries({ Host: 'x', 'Service-API-Key': service.apiKey, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

async function dataset(name: string, csv: string): Promise<string> {
  const form = new FormData();
  form.append('name', name);
  form.append('file', new File([csv], 'rows.csv'));
  const response = await fetch(`${service.url}/datasets`, {
    method: 'POST',
    headers: { 'Service-API-Key': service.apiKey },
    body: form,
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

describe('a body', () => {
  test('that is missing, is no JSON or of another type is refused with its place', async () => {
    expect(messageOf(await call('POST', '/projects'))).toBe('body: a body is required');
    expect(messageOf(await call('POST', '/projects', '{"name": '))).toMatch(/^body: the body is not JSON/);
    expect(messageOf(await call('POST', '/projects', {}))).toBe('body.name: this field is required');
    expect(messageOf(await call('POST', '/projects', '[]'))).toMatch(/expected object/);
    const sent = await call('POST', '/projects', { name: newId() }, { 'content-type': 'application/x-www-form-urlencoded' });
    expect(sent.status).toBe(200);
  });

  test('that nests too deep is refused, whatever it is for', async () => {
    const deep = `{"name":"deep","labels":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(messageOf(await call('POST', '/projects', deep))).toBe('body: the body nests deeper than 1024 levels');
    for (const number of ['1', '12345678901234567890']) {
      const deepest = `{"name":"${newId()}","labels":${'['.repeat(1_023)}${number}${']'.repeat(1_023)}}`;
      expect((await call('POST', '/projects', deepest)).text).not.toContain('nests deeper');
    }
  });

  test('that is too large is 413, and the connection goes on', async () => {
    const { socket, answer } = await rawConnection(service.url);
    const size = 20 * 1024 * 1024;
    socket.write(post('/projects', { 'Content-Length': String(size) }));
    socket.write(Buffer.alloc(size, ' '));
    expect((await answer()).status).toBe(413);
    socket.write('GET /healthcheck HTTP/1.1\r\nHost: x\r\n\r\n');
    expect((await answer()).status).toBe(200);
    socket.destroy();
  });

  test('that stops before its end is answered 413 and cut off soon after', async () => {
    const { socket, answer, closed } = await rawConnection(service.url);
    socket.write(post('/projects', { 'Transfer-Encoding': 'chunked' }));
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    const sending = setInterval(() => socket.writable && socket.write(chunk.repeat(16)), 10);
    expect((await answer()).status).toBe(413);
    clearInterval(sending);
    await closed;
  });

  test('that grows when it is unpacked is stopped at the limit', async () => {
    const bomb = gzipBomb(500 * 1024 * 1024);
    expect(bomb.length).toBeLessThan(1024 * 1024);
    const before = process.memoryUsage().rss;
    expect((await call('POST', '/projects', bomb, { 'content-encoding': 'gzip' })).status).toBe(413);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('that does not unpack is 400, in an unknown packing 415', async () => {
    const whole = gzipSync(JSON.stringify({ name: newId() }));
    expect((await call('POST', '/projects', whole, { 'content-encoding': 'gzip' })).status).toBe(200);
    for (const broken of [Buffer.from('no gzip'), whole.subarray(0, whole.length - 5), Buffer.alloc(0)])
      expect(messageOf(await call('POST', '/projects', broken, { 'content-encoding': 'gzip' }))).toMatch(
        /^the body could not be read/,
      );
    expect((await call('POST', '/projects', whole, { 'content-encoding': 'zstd' })).status).toBe(415);
  });

  test('that breaks off leaves nothing waiting, packed or not', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Zlib' || one === 'TCPSocketWrap').length;
    const before = timers();
    const open = await Promise.all(['identity', 'gzip'].map(() => rawConnection(service.url)));
    for (const [index, { socket }] of open.entries()) {
      socket.write(post('/projects', { 'Content-Length': '100', ...(index === 0 ? {} : { 'Content-Encoding': 'gzip' }) }));
      socket.write(index === 0 ? '{' : gzipSync('{}').subarray(0, 10));
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const { socket } of open) socket.destroy();
    await expect.poll(timers).toBeLessThanOrEqual(before);
  });

  test('of which no more comes is 408', async () => {
    const { status, text, head } = await stalled.answer();
    expect([status, JSON.parse(text).standard_error.retriable]).toEqual([408, true]);
    expect(head).toMatch(/x-request-id/i);
    await stalled.closed;
  });
});

describe('what is no request of ours', () => {
  test('bytes that are not HTTP, and headers without an end, are answered in the form of the interface', async () => {
    for (const [sent, status] of [
      ['hello\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      ['POST /projects HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400],
      ['POST /projects HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ] as const) {
      const connection = await rawConnection(service.url);
      connection.socket.write(sent);
      const answer = await connection.answer();
      expect([answer.status, JSON.parse(answer.text).standard_error.http_status_code]).toEqual([status, status]);
      expect(answer.head).toMatch(/x-request-id: \S/i);
      await connection.closed;
    }
  });

  test('another method is 405 with those there are; another path is 404; a path that does not decode is 400', async () => {
    const wrong = await call('PATCH', '/v2/projects');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect((await call('DELETE', '/datasets')).status).toBe(405);
    expect((await call('GET', '/nothing/here')).status).toBe(404);
    expect((await call('GET', '/projects/%zz')).status).toBe(400);
    expect((await call('GET', '/projects/%00')).status).toBe(422);
  });
});

describe('a search', () => {
  let project: TestProject;
  let stream: string;
  beforeAll(async () => {
    project = await service.project();
    stream = (await made(`/projects/${project.id}/log_streams`, { name: 'searched' })).id;
  });
  const search = (body: object) =>
    call('POST', `/v2/projects/${project.id}/traces/partial_search`, { log_stream_id: stream, ...body });

  test('names the column that there is not, in filters, sort and selection', async () => {
    const name = "metrics/x' OR 1=1 --";
    const filter = { type: 'text', name: 'nonsense', operator: 'eq', value: 'x' };
    for (const [body, column] of [
      [{ filters: [filter] }, 'nonsense'],
      [{ filters: [{ ...filter, name: '__proto__' }] }, '__proto__'],
      [{ sort: { name: 'constructor', ascending: true, sort_type: 'column' } }, 'constructor'],
      [{ select_columns: { column_ids: ['inptu'] } }, 'inptu'],
    ] as const) {
      const answer = await search(body);
      expect(answer.status).toBe(422);
      expect(messageOf(answer)).toContain(column);
    }
    // A metric is what its user called it: unknown here, but never more than a name.
    for (const body of [
      { filters: [{ type: 'number', name, operator: 'gt', value: 0 }] },
      { select_columns: { metric_columns_names: [name] } },
    ])
      expect([200, 422]).toContain((await search(body)).status);
  });

  test('refuses a filter that nests too deep or has too many leaves', async () => {
    let deep: object = { type: 'text', name: 'input', operator: 'eq', value: 'x' };
    const leaves = Array.from({ length: 2_000 }, () => deep);
    for (let level = 0; level < 40; level++) deep = { not: deep };
    expect(messageOf(await search({ filters: [deep] }))).toMatch(/nests at most 32 levels/);
    expect(messageOf(await search({ filters: leaves }))).toMatch(/at most 1000 leaves/);
  });

  test('takes numbers as far as they go, and refuses the others', async () => {
    for (const limit of ['1e400', '-1', '1.5', '"10"', 'null', '9223372036854775808'])
      expect([200, 422]).toContain(
        (await call('POST', `/projects/${project.id}/traces/search`, `{"log_stream_id":"${stream}","limit":${limit}}`)).status,
      );
  });
});

describe('what belongs to another project', () => {
  test('is 404 wherever it is named', async () => {
    const [mine, theirs] = [await service.project(), await service.project()];
    const stream = await made(`/projects/${theirs.id}/log_streams`, { name: 'theirs' });
    const experiment = await made(`/projects/${theirs.id}/experiments`, { name: 'theirs' });
    const tag = await made(`/projects/${theirs.id}/experiments/${experiment.id}/tags`, {
      key: 'k',
      value: 'v',
      tag_type: 'generic',
    });
    const trace = newId();
    await made(`/projects/${theirs.id}/traces`, { log_stream_id: stream.id, traces: [{ id: trace, input: 'i' }] });
    const at = `/projects/${mine.id}`;
    const requests: [string, string, object?][] = [
      ...['traces', 'spans', 'sessions'].flatMap((kind): [string, string, object][] =>
        [{ log_stream_id: stream.id }, { experiment_id: experiment.id }].flatMap((run): [string, string, object][] => [
          ['POST', `${at}/${kind}/search`, run],
          ['POST', `${at}/${kind}/partial_search`, run],
          ['POST', `${at}/${kind}/count`, run],
          ['POST', `${at}/${kind}/delete`, run],
          ['POST', `${at}/${kind}/available_columns`, run],
        ]),
      ),
      ['POST', `${at}/traces`, { log_stream_id: stream.id, traces: [{ input: 'i' }] }],
      ['POST', `/ingest/traces/${mine.id}`, { experiment_id: experiment.id, traces: [{ input: 'i' }] }],
      ['POST', `${at}/sessions`, { log_stream_id: stream.id }],
      ['PATCH', `${at}/traces/${trace}`, { log_stream_id: stream.id, trace_id: trace, output: 'x' }],
      ['GET', `${at}/traces/${trace}`],
      ['GET', `${at}/log_streams/${stream.id}`],
      ['PUT', `${at}/log_streams/${stream.id}`, { name: 'mine now' }],
      ['DELETE', `${at}/log_streams/${stream.id}`],
      ['GET', `${at}/experiments/${experiment.id}`],
      ['PUT', `${at}/experiments/${experiment.id}`, { name: 'mine now' }],
      ['DELETE', `${at}/experiments/${experiment.id}`],
      ['GET', `${at}/experiments/${experiment.id}/progress`],
      ['POST', `${at}/experiments/${experiment.id}/run`, { records: [{ input: 'x' }] }],
      ['POST', `${at}/experiments/${experiment.id}/cancel`],
      ['POST', `${at}/experiments/${experiment.id}/rows/lease`, { process: newId(), wait_ms: 0 }],
      ['GET', `${at}/experiments/${experiment.id}/tags`],
      ['DELETE', `${at}/experiments/${experiment.id}/tags/${tag.id}`],
      ['POST', '/jobs', { job_name: 'playground_run', project_id: mine.id, run_id: experiment.id }],
    ];
    for (const [method, path, body] of requests)
      expect([method, path, (await call(method, path, body)).status]).toEqual([method, path, 404]);
    const left = await call('POST', `/projects/${theirs.id}/traces/count`, { log_stream_id: stream.id });
    expect(left.body).toEqual({ total_count: 1 });
  });
});

describe('a dataset file', () => {
  test.each([
    ['rows.jsonl', '{"a":1}\n{"a":2}\n{"a":\n{"a":4}\n', 'line 3'],
    ['rows.csv', 'a,b\n1,2\n1,2,3\n', 'line 3'],
    ['rows.csv', 'a,b\n1,2\n"1,2\n', 'line 3'],
    ['rows.json', '[\n{"a":1},\n[2]\n]', 'line 3'],
  ])('%s with a broken line is refused with its number, and there is no dataset', async (file, text, line) => {
    const name = newId();
    const form = new FormData();
    form.append('name', name);
    form.append('file', new File([text], file));
    const response = await fetch(`${service.url}/datasets?format=${file.split('.')[1]}`, {
      method: 'POST',
      headers: { 'Service-API-Key': service.apiKey },
      body: form,
    });
    const answer = await response.text();
    fairAnswer({ status: response.status, headers: response.headers, text: answer });
    expect([response.status, answer]).toEqual([422, expect.stringContaining(line)]);
    const found = await call('POST', '/datasets/query', { filters: [{ name: 'name', operator: 'eq', value: name }] });
    expect((found.body as { datasets: unknown[] }).datasets).toEqual([]);
  });
});

describe('a run that is refused', () => {
  test('for a variable that no row has leaves no experiment, no job and no use of the dataset', async () => {
    const project = await service.project();
    const rows = await dataset('refused rows', 'question,output\n1,2\n');
    const { selected_version } = (await call('POST', '/templates', { name: 'refused', template: 'Say {{answre}}' })).body as {
      selected_version: { id: string };
    };
    const refused = await call('POST', `/projects/${project.id}/experiments`, {
      name: 'refused',
      dataset: { dataset_id: rows, version_index: 1 },
      prompt_template_version_id: selected_version.id,
      trigger: true,
    });
    expect([refused.status, messageOf(refused)]).toEqual([422, expect.stringMatching(/answre.*question/s)]);
    expect((await call('GET', `/projects/${project.id}/experiments`)).body).toEqual([]);
    expect((await call('GET', `/datasets/${rows}`)).body).toMatchObject({ project_count: 0 });
    expect((await call('POST', `/projects/${project.id}/experiment-groups/query`, {})).body).toMatchObject({
      experiment_groups: [],
    });
  });

  test('stores none of its records: the next request brings its own', async () => {
    const project = await service.project();
    const { id, start } = await newExperiment(service.client, project.id, { name: 'second try' });
    const path = `/projects/${project.id}/experiments/${id}/run`;
    const wrong = { records: [{ input: 'wrong' }, { input: 'wrong' }], runner: { kind: 'module', name: 'unknown' } };
    expect((await call('POST', path, wrong)).status).toBe(404);
    expect(await start({ records: [{ input: 'right' }], runner: { kind: 'caller_function' } })).toMatchObject({ row_count: 1 });
  });
});

describe('names that could be paths', () => {
  const paths = [
    '../secret',
    '../secret.ts',
    '..%2fsecret',
    '/etc/passwd',
    'a/b',
    'a\\b',
    '..',
    '.',
    '.env',
    'x\0.ts',
    'https://example.com/x.ts',
  ];

  test('name no runner', async () => {
    const project = await service.project();
    const { id } = await newExperiment(service.client, project.id, { name: 'paths' });
    for (const name of paths) {
      const answer = await call('POST', `/projects/${project.id}/experiments/${id}/run`, {
        records: [{ input: 'x' }],
        runner: { kind: 'module', name },
      });
      expect([name, answer.status]).toEqual([name, 422]);
    }
  });

  test('name no handler file and no integration', async () => {
    const body = { endpoint: 'https://example.com', authentication_type: 'none' };
    for (const name of paths) {
      const config = { file_name: name, class_name: 'Handler' };
      expect([name, (await call('PUT', '/integrations/custom/paths', { ...body, custom_llm_config: config })).status]).toEqual([
        name,
        422,
      ]);
      if (name === '.' || name === '..') continue; // a URL loses these before they are sent
      expect([name, (await call('PUT', `/integrations/custom/${encodeURIComponent(name)}`, body)).status]).toEqual([name, 422]);
    }
    expect((await call('GET', '/integrations/custom/paths')).status).toBe(404);
  });
});

describe('requests that the service would make for a caller', () => {
  const forbidden = [
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://[::ffff:169.254.169.254]/',
    'http://metadata.google.internal/',
    'http://10.0.0.1/',
    'http://192.168.1.1:8080/',
    'http://[fd00::1]/',
    'http://0.0.0.0/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'https://user:password@example.com/',
    'javascript:alert(1)',
    '//example.com',
    '',
  ];

  test('go to no forbidden address: endpoint, token URL and runner are refused when they are saved', async () => {
    const project = await service.project();
    const { id } = await newExperiment(service.client, project.id, { name: 'outbound' });
    for (const url of forbidden) {
      const saved = [
        await call('PUT', '/integrations/custom/outbound', { endpoint: url, authentication_type: 'none' }),
        await call('PUT', '/integrations/custom/outbound', {
          endpoint: 'https://example.com',
          oauth2_token_url: url,
          token: TOKEN,
        }),
        await call('POST', `/projects/${project.id}/experiments/${id}/run`, {
          records: [{ input: 'x' }],
          runner: { kind: 'http', url },
        }),
      ];
      expect([url, ...saved.map(({ status }) => status)]).toEqual([url, 422, 422, 422]);
    }
    expect((await call('GET', '/integrations/custom/outbound')).status).toBe(404);
  });

  test.each([
    ['X-Key\r\nX-Injected', 'v'],
    ['X-Key', 'v\r\nX-Injected: 1'],
    ['X-Key', 'v\0'],
    ['Host', 'example.org'],
    ['Content-Length', '0'],
    ['Transfer-Encoding', 'chunked'],
    ['', 'v'],
    ['X Key', 'v'],
  ])('carry no header %j with %j', async (name, value) => {
    const project = await service.project();
    const { id } = await newExperiment(service.client, project.id, { name: 'headers' });
    const integration = { endpoint: 'https://example.com', authentication_type: 'none' };
    const answers = [
      await call('PUT', '/integrations/custom/injected', { ...integration, headers: { [name]: value } }),
      await call('PUT', '/integrations/custom/injected', {
        ...integration,
        authentication_type: 'api_key',
        api_key_header: name,
        api_key_value: value,
      }),
      await call('POST', `/projects/${project.id}/experiments/${id}/run`, {
        records: [{ input: 'x' }],
        runner: { kind: 'http', url: 'https://example.com', headers: { [name]: value } },
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422]);
  });

  test('follow no redirect to a forbidden address, and repeat nothing of an answer or a header', async () => {
    let redirects = false;
    const upstream = createServer((_request, response) => {
      if (redirects) response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
      else response.writeHead(400, { 'content-type': 'text/plain' }).end(`wrong key ${UPSTREAM}`);
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const project = await service.project();
    const errors: string[] = [];
    for (redirects of [false, true]) {
      const { start, end, traces } = await newExperiment(service.client, project.id, { name: 'upstream' });
      await start({
        records: [{ input: 'x' }],
        runner: { kind: 'http', url, headers: { 'X-Secret': RUNNER_HEADER } },
        max_call_attempts: 1,
      });
      await end();
      errors.push(...(await traces()).map((trace) => trace.error_message));
    }
    upstream.close();
    expect(errors).toEqual([expect.stringContaining('400'), expect.stringMatching(/redirect/)]);
    expect(errors.join()).not.toContain(UPSTREAM);
  });
});

describe('who may not', () => {
  const idIn = (path: string, project: string) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      name === 'project_id' ? project : name.endsWith('_id') ? newId() : name === 'name' ? 'custom' : '1',
    );
  const ofProjects = endpoints.filter(({ access }) => typeof access === 'object' && 'project' in access);
  const needOf = ({ access }: Endpoint) => (access as { project: string }).project;
  const projectKey = async (project: string, role: string) =>
    (
      (await call('POST', '/users/api_keys', { description: role, project_id: project, project_role: role })).body as {
        api_key: string;
      }
    ).api_key;

  test('reach another project with a key of one project', async () => {
    const [mine, theirs] = [await service.project(), await service.project()];
    const headers = { 'Service-API-Key': await projectKey(mine.id, 'owner') };
    for (const route of ofProjects) {
      const path = idIn(route.path, theirs.id);
      expect([route.path, (await call(route.method.toUpperCase(), path, undefined, headers)).status]).toEqual([route.path, 404]);
    }
    for (const [method, path] of [
      ['POST', '/users'],
      ['GET', '/users'],
      ['POST', '/groups'],
      ['POST', '/projects'],
      ['PUT', '/integrations/openai'],
      ['PUT', '/integrations/custom/x'],
      ['POST', '/users/api_keys'],
    ] as const)
      expect([path, (await call(method, path, method === 'GET' ? undefined : { description: 'x' }, headers)).status]).toEqual([
        path,
        403,
      ]);
    const job = { job_name: 'playground_run', project_id: theirs.id, run_id: newId() };
    expect((await call('POST', '/jobs', job, headers)).status).toBe(404);
    const seen = (await call('POST', '/projects/paginated', {}, headers)).body as { projects: { id: string }[] };
    expect(seen.projects.map(({ id }) => id)).toEqual([mine.id]);
  });

  test.each([
    ['viewer', ['read', 'find', 'export_data']],
    ['annotator', ['read', 'find', 'export_data', 'record_human_feedback']],
  ])('write to a project as its %s', async (role, may) => {
    const project = await service.project();
    const headers = { 'Service-API-Key': await projectKey(project.id, role) };
    const others = ofProjects.filter((route) => !may.includes(needOf(route)));
    expect(others.length).toBeGreaterThan(20);
    for (const route of others)
      expect([
        route.path,
        (await call(route.method.toUpperCase(), idIn(route.path, project.id), undefined, headers)).status,
      ]).toEqual([route.path, 403]);
  });

  test('change anything of the organization with the role read_only; out at once with a key or token that is taken back', async () => {
    const email = `${newId()}@example.com`;
    const user = await made('/users', { email, password: PASSWORD, role: 'read_only' });
    const form = new URLSearchParams({ username: email, password: PASSWORD });
    const login = async () => {
      const response = await fetch(`${service.url}/login`, { method: 'POST', body: form });
      return {
        Authorization: `Bearer ${((await response.json()) as { access_token: string }).access_token}`,
        'Service-API-Key': '',
      };
    };
    const token = await login();
    // Needs to read, and to choose for oneself; and queues, each of which has roles of its own.
    const reading = ['read_users', 'read_integrations', 'choose_integrations', 'read_assets', 'use_queues'];
    for (const route of endpoints) {
      if (typeof route.access !== 'object' || !('organization' in route.access) || reading.includes(route.access.organization))
        continue;
      expect([route.path, (await call(route.method.toUpperCase(), idIn(route.path, newId()), undefined, token)).status]).toEqual([
        route.path,
        403,
      ]);
    }
    const key = (await call('POST', '/users/api_keys', { description: 'own' }, token)).body as { id: string; api_key: string };
    const withKey = { 'Service-API-Key': key.api_key };
    expect((await call('GET', '/current_user', undefined, withKey)).status).toBe(200);
    expect((await call('DELETE', `/users/api_keys/${key.id}`, undefined, token)).status).toBe(204);
    expect((await call('GET', '/current_user', undefined, withKey)).status).toBe(401);
    const past = await call('POST', '/users/api_keys', { description: 'past', expires_at: '2020-01-01T00:00:00Z' }, token);
    if (past.status === 200)
      expect(
        (await call('GET', '/current_user', undefined, { 'Service-API-Key': (past.body as { api_key: string }).api_key })).status,
      ).toBe(401);
    expect((await call('DELETE', `/users/${user.id}`)).status).toBe(204);
    expect((await call('GET', '/current_user', undefined, token)).status).toBe(401);
    expect((await fetch(`${service.url}/login`, { method: 'POST', body: form })).status).toBe(401);
  });

  test('credentials with bytes that no account can have are 401, not an error of the store', async () => {
    for (const headers of [
      { Authorization: `Basic ${btoa('a\0b:c\0d')}` },
      { Authorization: 'Bearer a.b.c' },
      { Authorization: `Bearer ${'x'.repeat(8_000)}` },
      { Authorization: 'Basic %%%%' },
      { 'Service-AO-API-Key': "' OR 1=1 --" },
    ])
      expect((await call('GET', '/current_user', undefined, { 'Service-API-Key': '', ...headers })).status).toBe(401);
  });
});

test('an error of the metadata store is logged without the values it was given', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-bad-values-'));
  const database = await openSeededDatabase(join(directory, 'postgres'));
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  for (const sql of ['SELECT $1::int', 'SELECT $1::text FROM nowhere'])
    await database.query(sql, [PASSWORD]).catch((err: unknown) => log.error({ err }, 'unexpected error'));
  expect(lines).toHaveLength(2);
  expect(lines.join()).not.toContain(PASSWORD);
  await database.close();
  await rm(directory, { recursive: true });
});

describe('two at once', () => {
  test.each([
    ['/projects', (name: string) => ({ name }), [200, 409, 409, 409]],
    ['/projects/{project_id}/log_streams', (name: string) => ({ name }), [200, 409, 409, 409]],
    ['/templates', (name: string) => ({ name, template: 'x' }), [200, 409, 409, 409]],
    ['/users', (name: string) => ({ email: `${name}@example.com`, password: PASSWORD }), [200, 409, 409, 409]],
    ['/scorers', (name: string) => ({ name, scorer_type: 'llm' }), [200, 409, 409, 409]],
  ])('%s with the same name: one is made', async (path, body, expected) => {
    const project = await service.project();
    const name = newId();
    const answers = await Promise.all(expected.map(() => call('POST', path.replace('{project_id}', project.id), body(name))));
    expect(answers.map(({ status }) => status).sort()).toEqual(expected);
  });

  test('datasets with the same name: one is made, and the others leave no rows', async () => {
    const name = newId();
    const form = () => {
      const given = new FormData();
      given.append('name', name);
      given.append('file', new File(['a\n1\n'], 'rows.csv'));
      return fetch(`${service.url}/datasets`, { method: 'POST', headers: { 'Service-API-Key': service.apiKey }, body: given });
    };
    const answers = await Promise.all([form(), form(), form()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const found = await call('POST', '/datasets/query', { filters: [{ name: 'name', operator: 'eq', value: name }] });
    expect((found.body as { datasets: unknown[] }).datasets).toHaveLength(1);
  });

  test('starts of one run make one workflow', async () => {
    const project = await service.project();
    const { start } = await newExperiment(service.client, project.id, { name: 'once' });
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => start({ records: [{ input: 'x' }], runner: { kind: 'caller_function' } })),
    );
    expect(replies.filter(({ started }) => started)).toHaveLength(1);
    expect(new Set(replies.map(({ workflow_id }) => workflow_id)).size).toBe(1);
  });

  test('a project that is deleted amid writes is gone: every request is a reply or 404, and nothing comes back', async () => {
    const project = await service.project();
    const stream = await made(`/projects/${project.id}/log_streams`, { name: 's' });
    const rows = await dataset(newId(), 'a\n1\n');
    const at = `/projects/${project.id}`;
    const writes = () => [
      call('POST', `${at}/traces`, {
        log_stream_id: stream.id,
        traces: [{ id: newId(), input: 'i', spans: [{ type: 'tool', input: 'x' }] }],
      }),
      call('POST', `${at}/sessions`, { log_stream_id: stream.id }),
      call('POST', `${at}/experiments`, { name: 'e', dataset: { dataset_id: rows, version_index: 1 } }),
      call('POST', `${at}/log_streams`, { name: newId() }),
      call('POST', `/templates?project_id=${project.id}`, { name: newId(), template: 'x' }),
      call('POST', '/users/api_keys', { description: 'x', project_id: project.id, project_role: 'viewer' }),
    ];
    const first = Array.from({ length: 5 }, writes).flat();
    const deleted = call('DELETE', at);
    const answers = await Promise.all([...first, ...Array.from({ length: 5 }, writes).flat()]);
    expect((await deleted).status).toBe(200);
    expect(answers.filter(({ status }) => status !== 200 && status !== 404).map(({ text }) => text)).toEqual([]);
    expect((await call('GET', at)).status).toBe(404);
    expect((await call('POST', `${at}/traces/count`, { log_stream_id: stream.id })).status).toBe(404);
    expect((await call('GET', `/datasets/${rows}`)).body).toMatchObject({ project_count: 0 });
  });
});

describe('a caller who hangs up', () => {
  test('amid a wait for rows takes none with them', async () => {
    const project = await service.project();
    const { id, start } = await newExperiment(service.client, project.id, { name: 'hang up' });
    const process = newId();
    await start({ records: [{ input: 'x' }], runner: { kind: 'caller_function' }, process });
    const lease = (body: object, signal?: AbortSignal) =>
      service.client.send<{ rows: unknown[] }>(`/projects/${project.id}/experiments/${id}/rows/lease`, {
        body: { process, limit: 1, wait_ms: 20_000, ...body },
        signal,
      });
    expect((await lease({})).rows).toHaveLength(1);
    const hangUp = new AbortController();
    const waiting = lease({}, hangUp.signal).catch(() => 'hung up');
    await new Promise((resolve) => setTimeout(resolve, 300));
    hangUp.abort();
    expect(await waiting).toBe('hung up');
    await new Promise((resolve) => setTimeout(resolve, 300));
    // The answer of the first lease counts as lost: its row is on offer again, and no other caller waits for it.
    expect((await lease({ holding: [] })).rows).toHaveLength(1);
  });

  test('amid many searches leaves no connection and no timer behind', async () => {
    const project = await service.project();
    const stream = await made(`/projects/${project.id}/log_streams`, { name: 's' });
    const count = () => process.getActiveResourcesInfo().filter((one) => /Timeout|TCPSocket|TCPServer/.test(one)).length;
    const before = count();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        fetch(`${service.url}/projects/${project.id}/traces/search`, {
          method: 'POST',
          headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
          body: JSON.stringify({ log_stream_id: stream.id }),
          signal: AbortSignal.timeout(index),
        }).catch(() => undefined),
      ),
    );
    await expect.poll(count, { interval: 200 }).toBeLessThanOrEqual(before + 5);
    expect((await call('POST', `/projects/${project.id}/traces/search`, { log_stream_id: stream.id })).status).toBe(200);
  });
});

describe('secrets', () => {
  test('are in no reply of any GET route but the definition of an integration, and in no line of the log', async () => {
    const integration = {
      endpoint: 'https://example.com',
      authentication_type: 'api_key',
      api_key_header: 'X-Key',
      api_key_value: KEY,
      headers: { 'X-Extra': HEADER },
      custom_llm_config: { file_name: 'handler.ts', class_name: 'Handler', init_kwargs: { password: KWARG } },
    };
    expect((await call('PUT', '/integrations/custom/secret', integration)).status).toBe(200);
    expect((await call('PUT', '/integrations/custom/secret2', { endpoint: 'https://example.com', token: TOKEN })).status).toBe(
      200,
    );
    // Refusals must not repeat what was wrong either.
    for (const body of [{ ...integration, api_key_value: `${KEY}\n` }, { ...integration, endpoint: 7 }, `{"token": "${TOKEN}`])
      expect((await call('PUT', '/integrations/custom/secret', body)).text).not.toContain(body === integration ? '' : HEADER);
    const project = await service.project();
    const names: Record<string, string> = { project_id: project.id, name: 'secret', llm_integration: 'custom' };
    const texts = await Promise.all(
      endpoints
        .filter(({ method, path }) => method === 'get' && !path.endsWith('/definition'))
        .map(async ({ path }) =>
          (
            await fetch(service.url + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? newId()), {
              headers: { 'Service-API-Key': service.apiKey },
            })
          ).text(),
        ),
    );
    for (const secret of secrets) for (const text of [...texts, logged]) expect(text).not.toContain(secret);
    expect(logged).not.toContain(service.apiKey);
  });
});
