// A service of its own: it knows the key of its secrets, by which it makes tokens that are out of date or of another service.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { invalidCallers, made, type TestCaller, validCallers } from '../support/authorization/callers.ts';
import { columns, expected } from '../support/authorization/expectations.ts';
import { operationOf, plans, send, type Target } from '../support/authorization/requests.ts';
import { makeDataset, makeWorkspace, type Workspace } from '../support/authorization/workspace.ts';
import type { OpenApiDocument } from '../support/hostileRequests.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

const MINE = 'kestrel';
const THEIRS = 'osprey';
const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;
const ROWS = Object.keys(expected);
const ofOrganization = (row: string): boolean => row.endsWith(' of the organization');

let service: TestService;
let document: OpenApiDocument;
let valid: TestCaller[];
let invalid: TestCaller[];
let mine: Workspace;
let theirs: Workspace;
let organization: Pick<Workspace, 'dataset' | 'template' | 'scorer'>;
let maker: Record<string, string>;
let theirsBefore: string[];

beforeAll(async () => {
  service = await startTestService({ SECRET_KEYS });
  document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument;
  const [here, there] = [await makeWorkspace(service, MINE), await makeWorkspace(service, THEIRS)];
  [mine, theirs] = [here.workspace, there.workspace];
  maker = here.members.owner.headers;
  invalid = await invalidCallers(service, SECRET_KEYS);
  valid = await validCallers(service, here.members, mine.project, there.members.owner, theirs.project);
  organization = {
    dataset: await makeDataset(service, { 'Service-API-Key': service.apiKey }, 'rows of all'),
    template: (await made<{ id: string }>(service, '/templates', { name: 'prompt of all', template: 'x' })).id,
    scorer: (await made<{ id: string }>(service, '/scorers', { name: 'scorer of all', scorer_type: 'llm' })).id,
  };
  const provider = await service.request('PUT', '/integrations/openai', { token: 'sk-x' });
  expect(provider.status).toBe(200);
  theirsBefore = await everythingOf(theirs);
});
afterAll(() => service[Symbol.asyncDispose]());

/** `METHOD /path` of every operation of the document. */
const operations = (): string[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/^\/v2/, '')}`),
  );

test('every operation that the service serves has a row in the table', () => {
  const known = new Set(ROWS.map(operationOf));
  const missing = operations().filter((operation) => !known.has(operation));
  expect(
    missing,
    'say who may call these in test/support/authorization/expectations.ts, and how they are asked in requests.ts beside it',
  ).toEqual([]);
});

test('every row of the table, and every plan, is of an operation that the service serves', () => {
  const served = new Set(operations());
  expect(ROWS.filter((row) => !served.has(operationOf(row)))).toEqual([]);
  expect(Object.keys(plans).filter((row) => !served.has(operationOf(row)))).toEqual([]);
});

/** No credentials, all valid ones, and one invalid kind. Invalid ones are refused before the operation is known, so operations take turns with them. */
function callersOf(row: string): TestCaller[] {
  const [anonymous, ...others] = invalid as [TestCaller, ...TestCaller[]];
  return [anonymous, others[ROWS.indexOf(row) % others.length] as TestCaller, ...valid];
}

test.each(ROWS)('%s', async (row) => {
  const cells = cellsOf(expected[row] as string);
  const cellOf = ({ column }: TestCaller) => cells[columns.indexOf(column)] as string;
  const asked = callersOf(row).filter((caller) => cellOf(caller) !== '.');
  const answers = new Map<TestCaller, string>();
  const ask = async (caller: TestCaller) => answers.set(caller, await answerTo(row, caller, cellOf(caller)));
  // Where a request uses something up, one caller after the other sends it.
  if (plans[row]?.fresh) for (const caller of asked) await ask(caller);
  else await Promise.all(asked.map(ask));
  const wrong = asked.filter((caller) => answers.get(caller) !== cellOf(caller));
  const seen = columns.map((column) => {
    const one = wrong.find((caller) => caller.column === column) ?? asked.find((caller) => caller.column === column);
    return one ? (answers.get(one) as string) : '.';
  });
  expect(rowOf(seen), wrong.map((caller) => `${caller.name}: ${answers.get(caller)}`).join(', ')).toBe(rowOf(cells));
});

/** The cell of the table that the answer to a caller would stand in. */
async function answerTo(row: string, caller: TestCaller, cell: string): Promise<string> {
  const [method = '', path = ''] = row.split(' ');
  const takesBody = document.paths[`/v2${path}`]?.[method.toLowerCase()]?.requestBody !== undefined;
  const { status, text } = await send(row, targetOf(row, caller), takesBody, cell === '+' || cell === '!');
  expect(status, `${caller.name} was answered ${status}: ${text}`).toBeLessThan(500);
  // An error may name what it was asked for.
  const namesTheirs = caller.seesOtherProject || (isMixed(caller) && status >= 400);
  const hidden = [...(caller.seesProject ? [] : [MINE]), ...(namesTheirs ? [] : [THEIRS])];
  if (hidden.some((mark) => text.includes(mark))) return '!';
  if (status < 300) return '+';
  if (status === 422) return '2';
  return status >= 400 && status <= 409 ? String(status - 400) : String(status);
}

test('a key that only logs is let in where records are logged and where names are found', async () => {
  const body = { description: 'logs', project_id: mine.project, ingest_only: true };
  const { api_key } = await made<{ api_key: string }>(service, '/users/api_keys', body, maker);
  const inside = { seesProject: true, seesOtherProject: false };
  const caller: TestCaller = {
    name: 'a key that only logs',
    column: 'viewerKey',
    headers: { 'Service-API-Key': api_key },
    ...inside,
  };
  const letIn: string[] = [];
  for (const row of ROWS) {
    const isPublic = cellsOf(expected[row] as string)[0] === '+';
    const answer = isPublic ? '3' : await answerTo(row, caller, '3');
    if (!['1', '3', '4'].includes(answer)) letIn.push(row);
  }
  expect(letIn.sort()).toEqual(
    [
      ...['POST /login/social', 'GET /current_user', 'PUT /current_user/password', 'GET /collaborator_roles'],
      ...['GET /projects', 'GET /projects/all', 'POST /projects/paginated', 'POST /projects/count', 'GET /projects/{project_id}'],
      ...['', '/paginated', '/{log_stream_id}'].map((path) => `GET /projects/{project_id}/log_streams${path}`),
      ...['', '/search'].map((path) => `POST /projects/{project_id}/log_streams${path}`),
      ...['traces', 'spans', 'sessions', 'upload_file'].map((kind) => `POST /projects/{project_id}/${kind}`),
      ...['POST /ingest/traces/{project_id}', 'POST /ingest/spans/{project_id}'],
      ...['PATCH /projects/{project_id}/traces/{trace_id}', 'PATCH /projects/{project_id}/spans/{span_id}'],
      ...['POST /v1/traces', 'POST /otel/traces', 'POST /otel/v1/traces'],
      // Its token is asked for first.
      'GET /annotation_queues/{queue_id}/records/export/{export_id}',
    ].sort(),
  );
});

test('what was refused was not done', async () => {
  expect(await everythingOf(theirs)).toEqual(theirsBefore);
  for (const answer of await everythingOf(mine)) expect(answer).toMatch(/^200 /);
});

const isMixed = ({ column }: TestCaller): boolean => column === 'mixed' || column === 'mixedKey';

function targetOf(row: string, caller: TestCaller): Target {
  const own = ofOrganization(row) ? { ...mine, ...organization } : mine;
  return {
    service,
    caller,
    at: isMixed(caller) ? { ...theirs, project: mine.project } : own,
    maker: ofOrganization(row) ? { 'Service-API-Key': service.apiKey } : maker,
    ofProject: ofOrganization(row) ? undefined : mine.project,
  };
}

function cellsOf(row: string): string[] {
  const cells = [...row.replaceAll(' ', '')];
  if (cells.length !== columns.length) throw new Error(`a row of ${cells.length} cells, not ${columns.length}: ${row}`);
  return cells;
}

/** With the spaces of the table. */
const rowOf = (cells: readonly string[]): string =>
  [1, 4, 5, 1, 4, 1, 2]
    .map((length, index, all) => cells.slice(sum(all.slice(0, index)), sum(all.slice(0, index)) + length).join(''))
    .join(' ');
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** All of a project as the administrator reads it. */
async function everythingOf(at: Workspace): Promise<string[]> {
  const project = `/projects/${at.project}`;
  const paths = [
    ...[`${project}/users`, `${project}/groups`, `${project}/retention`, `${project}/playground_limits`],
    ...[`${project}/log_streams/${at.stream}`, `${project}/log_streams/${at.stream}/metric_settings`],
    ...[`${project}/experiments/${at.experiment}`, `${project}/experiments/${at.experiment}/tags/${at.tag}`],
    ...[`${project}/experiments/${at.running}`, `${project}/runs/${at.experiment}/scorer-settings`],
    ...[`${project}/traces/${at.trace}`, `${project}/spans/${at.span}`, `${project}/sessions/${at.session}`],
    ...[`/datasets/${at.dataset}`, `/datasets/${at.dataset}/content`, `/templates/${at.template}`, `/scorers/${at.scorer}`],
    ...[`/annotation_queues/${at.queue}`, `/annotation_queues/${at.queue}/users`, `/annotation_queues/${at.queue}/templates`],
    ...[`/annotation_queues/${at.queue}/records/${at.trace}`, `/integrations/custom/${at.integration}`],
  ];
  return Promise.all(
    paths.map(async (path) => {
      const { status, body } = await service.request('GET', path);
      return `${status} ${path} ${JSON.stringify(body)}`;
    }),
  );
}
