import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Logger, ServiceClient } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { newAccount, newKey } from '../support/authorization/callers.ts';
import { otlpSpan } from '../support/otlpSpan.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

interface Named {
  id: string;
  name: string;
}
const aName = (): string => `not there ${newId()}`;
const projectsNamed = async (name: string): Promise<Named[]> =>
  (await service.request('GET', `/projects?project_name=${encodeURIComponent(name)}`)).body;
const streamsOf = async (projectId: string): Promise<Named[]> =>
  (await service.request('GET', `/projects/${projectId}/log_streams`)).body;
const tracesOf = async (projectId: string, logStreamId: string): Promise<number> =>
  (
    (await service.request('POST', `/projects/${projectId}/traces/count`, { log_stream_id: logStreamId })).body as {
      total_count: number;
    }
  ).total_count;

/** The one project of the name, its one log stream, and how many traces that has. */
async function onlyRun(project: string) {
  const found = await projectsNamed(project);
  expect(found).toHaveLength(1);
  const { id } = found[0] as Named;
  const streams = await streamsOf(id);
  expect(streams).toHaveLength(1);
  const [stream] = streams as [Named];
  return { projectId: id, stream: stream.name, traces: await tracesOf(id, stream.id) };
}

const madeBy = ({ headers }: { headers: Headers }) => JSON.parse(headers.get('x-service-made') ?? '[]') as unknown[];

/** A client that keeps what it warns of. */
function warningClient(apiKey = service.apiKey) {
  const warned: string[] = [];
  const client = new ServiceClient({ apiUrl: service.url, apiKey, logger: { warn: (line) => void warned.push(line) } });
  return { client, warned };
}

describe('a logger', () => {
  test('whose project is not there makes it with its log stream, and nothing is lost', async () => {
    const projectName = aName();
    const { client, warned } = warningClient();
    const logger = new Logger({ client, projectName, logStream: 'script', flushEveryMs: 0 });
    for (let index = 0; index < 150; index++) logger.startTrace(`question ${index}`).conclude('answer');
    await logger.flush();
    expect(await onlyRun(projectName)).toMatchObject({ stream: 'script', traces: 150 });
    expect(warned).toEqual([`made the project ${JSON.stringify(projectName)}, since it was not there`]);
  });

  test('ends in one project and one log stream with ten others that begin at the same time', async () => {
    const projectName = aName();
    const loggers = Array.from({ length: 10 }, () => {
      const { client } = warningClient();
      return new Logger({ client, projectName, logStream: 'at once', flushEveryMs: 0 });
    });
    for (const logger of loggers) logger.startTrace('in').conclude('out');
    await Promise.all(loggers.map((logger) => logger.flush()));
    expect(await onlyRun(projectName)).toMatchObject({ stream: 'at once', traces: 10 });
  });

  test('says which name was closest to the one that it made', async () => {
    const { name: projectName } = await service.project();
    const first = warningClient();
    const logger = new Logger({ client: first.client, projectName: `${projectName}x`, logStream: 'production', flushEveryMs: 0 });
    logger.startTrace('in').conclude('out');
    await logger.flush();
    expect(first.warned).toEqual([
      `made the project "${projectName}x", since it was not there; the closest name that was there is "${projectName}"`,
    ]);
    const second = warningClient();
    const slipped = new Logger({
      ...{ client: second.client, projectName: `${projectName}x`, logStream: 'prodution', flushEveryMs: 0 },
    });
    slipped.startTrace('in').conclude('out');
    await slipped.flush();
    expect(second.warned).toEqual([
      'made the log stream "prodution", since it was not there; the closest name that was there is "production"',
    ]);
  });

  test('makes nothing for an id, for a run that is named by id, and without a name', async () => {
    const flushed = async (options: object) => {
      const logger = new Logger({ client: warningClient().client, flushEveryMs: 0, ...options });
      logger.startTrace('in').conclude('out');
      await logger.flush();
    };
    await expect(flushed({ projectId: newId() })).rejects.toMatchObject({ name: 'ValueError' });
    const projectName = aName();
    await expect(flushed({ projectName, experimentId: newId() })).rejects.toThrow('there is no project called');
    await expect(flushed({ projectName, logStreamId: newId() })).rejects.toThrow('there is no project called');
    expect(await projectsNamed(projectName)).toEqual([]);
    await expect(flushed({})).rejects.toThrow('name the project');
  });

  test('whose key may create none says so, and sends what waits once the project is there', async () => {
    const projectName = aName();
    const { id, headers } = await newAccount(service, 'read_only');
    const { id: projectId } = await service.project();
    const keys = [await newKey(service, headers), await newKey(service, { 'Service-API-Key': service.apiKey }, projectId)];
    for (const key of keys) {
      const logger = new Logger({ client: warningClient(key).client, projectName, logStream: 'x', flushEveryMs: 0 });
      logger.startTrace('in').conclude('out');
      await expect(logger.flush()).rejects.toMatchObject({
        name: 'ValueError',
        message: expect.stringMatching(
          /there is no project called .* lacks create_project\): name one that is there, or have it created/,
        ),
      });
    }
    expect(await projectsNamed(projectName)).toEqual([]);
    const viewer = await newKey(service, { 'Service-API-Key': service.apiKey }, projectId, 'viewer');
    const stream = new Logger({ client: warningClient(viewer).client, projectId, logStream: 'x', flushEveryMs: 0 });
    stream.startTrace('in').conclude('out');
    await expect(stream.flush()).rejects.toMatchObject({
      name: 'ValueError',
      message: expect.stringMatching(
        /there is no log stream called "x".* lacks log_data\): name one that is there, or have it created/,
      ),
    });
    expect((await service.request('PUT', `/users/${id}`, { role: 'user' })).status).toBe(200);
    const logger = new Logger({ client: warningClient(keys[0]).client, projectName, logStream: 'x', flushEveryMs: 0 });
    logger.startTrace('in').conclude('out');
    await logger.flush();
    expect(await onlyRun(projectName)).toMatchObject({ traces: 1 });
  });
});

describe('an OpenTelemetry exporter', () => {
  const post = (headers: Record<string, string>, resource?: Record<string, string>) =>
    service.request('POST', '/v1/traces', otlpSpan(resource), headers);

  test('whose project is not there makes it with its log stream, named by headers or by a resource', async () => {
    const project = aName();
    const answer = await post({ project });
    expect(answer).toMatchObject({ status: 200, body: {} });
    const { projectId, stream, traces } = await onlyRun(project);
    expect({ stream, traces }).toEqual({ stream: 'default', traces: 1 });
    expect(madeBy(answer)).toEqual([
      { kind: 'project', id: projectId, name: project },
      { kind: 'log_stream', id: expect.any(String), name: 'default' },
    ]);
    expect(madeBy(await post({ project }))).toEqual([]);
    expect(await onlyRun(project)).toMatchObject({ traces: 2 });

    const byResource = `Büro ${newId()}`;
    const other = await post({}, { 'some_sdk.project.name': ` ${byResource} `, 'assay.log_stream': 'café' });
    expect(madeBy(other)).toMatchObject([{ name: byResource }, { name: 'café' }]);
    expect(await onlyRun(byResource)).toMatchObject({ stream: 'café', traces: 1 });
  });

  test('ends in one project and one log stream with nineteen others that begin at the same time', async () => {
    const project = aName();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post({ project, logstream: 'at once' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await onlyRun(project)).toMatchObject({ stream: 'at once', traces: 20 });
    expect(answers.flatMap(madeBy)).toHaveLength(2);
  });

  test('gets a name that is a typo off made, with the closest in the header and in a warning of the protocol', async () => {
    const { name } = await service.project();
    const slip = name.replace('project', 'porject');
    const answer = await post({ project: slip, logstream: 'x' });
    expect(madeBy(answer)).toMatchObject([{ kind: 'project', name: slip, closest: name }, { kind: 'log_stream' }]);
    expect(answer.body).toEqual({
      partialSuccess: { errorMessage: `made the project "${slip}"; the closest name that was there is "${name}"` },
    });
    expect(await onlyRun(slip)).toMatchObject({ traces: 1 });
  });

  test('gets no project made of an id, for a run that is named by id, and of what is no name', async () => {
    const project = aName();
    expect((await post({ project: newId() })).status).toBe(404);
    expect((await post({}, { 'cloud.project.id': project })).status).toBe(404);
    expect((await post({ project, experimentid: newId() })).status).toBe(404);
    expect((await post({ project, logstream: newId() })).status).toBe(404);
    expect(await post({ project, logstream: 'x'.repeat(1_001) })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'logstream'], type: 'name_invalid' }] },
    });
    expect(await projectsNamed(project)).toEqual([]);
    const long = 'x'.repeat(1_001);
    expect(await post({ project: long })).toMatchObject({ status: 422, body: { detail: [{ loc: ['header', 'project'] }] } });
    expect(await post({}, { 'assay.project': long })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'resourceSpans'] }] },
    });
  });

  test('without the right to create projects is refused before its body is read, and told what to do', async () => {
    const project = aName();
    const readOnly = await newKey(service, (await newAccount(service, 'read_only')).headers);
    const ofProject = await newKey(service, { 'Service-API-Key': service.apiKey }, (await service.project()).id);
    const refused = async (key: string) =>
      service.request('POST', '/v1/traces', 'no request of OpenTelemetry', { project, 'Service-API-Key': key });
    expect(await refused(readOnly)).toMatchObject({
      status: 404,
      body: {
        detail: expect.stringContaining('read_only lacks create_project: name one that is there, or ask an administrator'),
      },
    });
    expect(await refused(ofProject)).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('this key belongs to one project: name that one or none') },
    });
    // By a resource, it is refused with its spans.
    const ofResource = await post({ 'Service-API-Key': readOnly }, { 'assay.project': project });
    expect(ofResource).toMatchObject({ status: 404, body: { detail: expect.stringContaining('lacks create_project') } });
    expect(await projectsNamed(project)).toEqual([]);
  });

  test('with the role user makes a project of its own', async () => {
    const project = aName();
    const { headers } = await newAccount(service, 'user');
    expect((await post({ ...headers, 'Service-API-Key': '', project })).status).toBe(200);
    const { body } = await service.request('GET', `/projects?project_name=${encodeURIComponent(project)}`, undefined, {
      ...headers,
      'Service-API-Key': '',
    });
    expect(body).toMatchObject([{ permissions: expect.arrayContaining([{ action: 'delete', allowed: true }]) }]);
  });

  test('that is refused as a whole makes nothing', async () => {
    const project = aName();
    expect((await service.request('POST', '/v1/traces', 'not JSON', { project })).status).toBe(400);
    expect((await service.request('POST', '/v1/traces', { resourceSpans: [] }, { project })).status).toBe(200);
    expect(await projectsNamed(project)).toEqual([]);
  });
});
