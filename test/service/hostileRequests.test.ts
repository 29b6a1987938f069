// A service of its own: it is sent what may break it, and fills what lists all of an organization.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { everyEndpoint } from '../support/everyEndpoint.ts';
import { fairAnswer } from '../support/fairAnswer.ts';
import { type HostileRequest, hostileRequests, type KnownIds, type OpenApiDocument } from '../support/hostileRequests.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

/** Requests per route; more by hand: `BAD_INPUT_RUNS=500 npx vitest run test/service/hostileRequests.test.ts`. */
const RUNS = Number(process.env.BAD_INPUT_RUNS ?? 12);
/** A route that has not answered by then hangs. */
const PATIENCE_MS = 60_000;

const endpoints = await everyEndpoint();
let service: TestService;
let document: OpenApiDocument;
let known: KnownIds;

beforeAll(async () => {
  service = await startTestService({ LOG_LEVEL: process.env.BAD_INPUT_LOG ?? 'silent' });
  document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument;
  known = await knownIds(service);
});
afterAll(() => service[Symbol.asyncDispose]());

const send = async ({ method, path, headers, body }: HostileRequest) => {
  const response = await fetch(service.url + path, {
    method,
    headers: { 'Service-API-Key': service.apiKey, ...headers },
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body === undefined || method === 'GET' ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await textOf(response) };
};

/** The answer's content; of a stream of events, which goes on, what comes first. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(first?.value);
}

/** Passes for a status and a media type that the document says of the operation. */
function listedAnswer(
  { status, headers }: { status: number; headers: Headers },
  { responses }: OpenApiDocument['paths'][string][string],
): void {
  expect(Object.keys(responses)).toContain(String(status));
  const types = Object.keys(responses[status]?.content ?? {});
  const type = headers.get('content-type')?.split(';')[0];
  expect(types.length === 0 ? type === undefined : types.includes(String(type)), `${status} ${type}`).toBe(true);
}

/** A path with `..` in it may lead elsewhere. */
const leadsTo = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(new URL(path, service.url).pathname);

describe('whatever is sent, the answer is a reply or an error of the interface', () => {
  test.each(endpoints.map((route) => [route.method, `/v2${route.path}`] as const))(
    '%s %s',
    async (method, path) => {
      await fc.assert(
        fc.asyncProperty(hostileRequests(document, method, path, known), async (request) => {
          const answer = await send(request);
          fairAnswer(answer);
          const operation = document.paths[path]?.[method];
          if (operation && leadsTo(path, request.path)) listedAnswer(answer, operation);
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    120_000 + RUNS * 2_000,
  );
});

/** Requests that once got something else than a fair answer. */
const kept: [method: string, path: string, body?: string][] = [
  ['POST', '/v2/projects/paginated?limit=71', '{}'],
  ['POST', '/v2/projects/count?starting_token=1e400', 'null'],
  ['POST', '/v2/projects/paginated', '{"filters":[{"name":"name","operator":"contains","value":"\\\\"}]}'],
  ['POST', '/v2/projects/paginated', '{"filters":[{"name":"name","operator":"one_of","value":["\\ud800"]}]}'],
  ['POST', '/v2/users'],
  ['GET', `/v2/projects?project_name=${'x'.repeat(20_000)}`],
  ['PATCH', '/v2/projects'],
  ['PUT', '/v2/integrations/vertex_ai', '{"token":"{\\"a\\":1}"}'],
];
test.each(kept.map((one) => [one.join(' ').slice(0, 100), ...one] as const))('%s', async (_, method, path, body) => {
  fairAnswer(await send({ method, path, headers: { 'content-type': 'application/json' }, body }));
});

/** One of everything that a path or a body can name, in the project under attack and in another one. */
async function knownIds({ request, client: _, ...service }: TestService): Promise<KnownIds> {
  const post = async (path: string, body: unknown): Promise<{ id: string }> => {
    const answer = await request('POST', path, body);
    expect([path, answer.status, answer.body]).toMatchObject([path, 200, {}]);
    return answer.body;
  };
  const projects = [await service.project(), await service.project()];
  const made = await Promise.all(
    projects.map(async ({ id: project }, index) => {
      const stream = await post(`/projects/${project}/log_streams`, { name: 'stream' });
      const experiment = await post(`/projects/${project}/experiments`, { name: 'experiment' });
      const tag = await post(`/projects/${project}/experiments/${experiment.id}/tags`, {
        key: 'k',
        value: 'v',
        tag_type: 'generic',
      });
      const template = await post(`/templates?project_id=${project}`, { name: `prompt ${index}`, template: 'Say {{input}}' });
      const trace = crypto.randomUUID();
      const span = crypto.randomUUID();
      const spans = [{ type: 'workflow', id: span, input: 'i', output: 'o', spans: [] }];
      await post(`/projects/${project}/traces`, {
        log_stream_id: stream.id,
        traces: [{ id: trace, input: 'i', output: 'o', spans }],
      });
      const session = await post(`/projects/${project}/sessions`, { log_stream_id: stream.id, name: 'session' });
      return {
        project,
        stream: stream.id,
        experiment: experiment.id,
        tag: tag.id,
        template: template.id,
        trace,
        span,
        session: (session as never as { id: string }).id,
      };
    }),
  );
  const form = new FormData();
  form.append('name', 'rows');
  form.append('file', new File(['input,output\n1,2\n3,4\n'], 'rows.csv'));
  const dataset = await fetch(`${service.url}/datasets`, {
    method: 'POST',
    headers: { 'Service-API-Key': service.apiKey },
    body: form,
  });
  const { id: datasetId } = (await dataset.json()) as { id: string };
  const { id: userId } = (await request('GET', '/current_user')).body as { id: string };
  const [stream] = made;
  const queue = await post('/annotation_queues', { name: 'queue' });
  const questions = await post(`/annotation_queues/${queue.id}/templates`, {
    template: { name: 'Good?', constraints: { annotation_type: 'score', min: 0, max: 10 } },
  });
  const annotationTemplates = (questions as never as { id: string }[]).map(({ id }) => id);
  await post(`/annotation_queues/${queue.id}/records`, {
    project_id: stream?.project,
    run_id: stream?.stream,
    record_selector: { record_ids: [stream?.trace, stream?.span] },
  });
  const each = (key: keyof (typeof made)[number]) => made.map((one) => one[key]);
  return {
    project_id: each('project'),
    log_stream_id: each('stream'),
    experiment_id: each('experiment'),
    run_id: [...each('stream'), ...each('experiment')],
    tag_id: each('tag'),
    queue_id: [queue.id],
    record_id: [...each('trace'), ...each('span')],
    record_ids: [...each('trace'), ...each('span')],
    annotation_template_id: annotationTemplates,
    template_id: [...each('template'), ...annotationTemplates],
    prompt_template_id: each('template'),
    trace_id: each('trace'),
    span_id: each('span'),
    parent_id: [...each('trace'), ...each('span')],
    session_id: each('session'),
    dataset_id: [datasetId],
    user_id: [userId],
  };
}
