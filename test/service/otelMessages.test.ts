import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
beforeAll(async () => {
  service = await sharedTestService();
  project = await service.project();
});
afterAll(() => service[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: records as they come over the wire
type Json = any;

/**
 * An export request as a library sends it, and what is wanted of it. `find:spans` wants a filter with this text to find the record; sessions are named
 * by their `external_id`.
 */
interface Case {
  seenWith: string;
  checks: [of: 'sessions' | 'spans' | 'traces' | 'find:spans' | 'find:traces', name: string, path: string, wanted: unknown][];
  body: Json;
}

const FOLDER = join(import.meta.dirname, '../fixtures/otel');

async function find(what: string, stream: string, filters: object[] = []): Promise<Json[]> {
  const { body: streams } = await service.request('GET', `/projects/${project.id}/log_streams`);
  const log_stream_id = (streams as Json[]).find(({ name }) => name === stream)?.id;
  const body = { log_stream_id, filters, limit: 100 };
  const answer = await service.request('POST', `/projects/${project.id}/${what}/search`, body);
  expect(answer.status).toBe(200);
  return (answer.body as Json).records;
}

const valueAt = (record: Json, path: string): unknown => path.split('.').reduce((value, name) => value?.[name], record);

describe('what libraries send is read as they meant it', () => {
  test.each(readdirSync(FOLDER))('%s', async (file) => {
    const { body, checks } = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Case;
    const answer = await service.request('POST', '/v1/traces', body, { project: project.name, logstream: file });
    expect(answer).toMatchObject({ status: 200, body: {} });
    for (const [of, name, path, wanted] of checks) {
      const [what = '', isFind] = of.split(':').reverse();
      const filters = isFind ? [{ type: 'text', name: path, operator: 'contains', value: wanted }] : [];
      const record = (await find(what, file, filters)).find((one) => (what === 'sessions' ? one.external_id : one.name) === name);
      expect(record, `${of} ${name}`).toBeDefined();
      if (!isFind) expect(valueAt(record, path), `${of} ${name} ${path}`).toEqual(wanted);
    }
  });
});
