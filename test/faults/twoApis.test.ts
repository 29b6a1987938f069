// A service of its own: it has two api processes, which stop.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ServiceClient } from '../../client/http.ts';
import { createLogStream, createProject, type LiveRecords, liveRecords } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { FoldedRecord, type FoundRecord, type WrittenFields } from '../support/foldedRecords.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { type ServiceApi, startServiceServers } from '../support/serviceServers.ts';
import { API_KEY } from '../support/testService.ts';

const MOST_OF_ACCOUNT = 10;

describeWithServer('two apis over servers', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let apis: [ServiceApi, ServiceApi];
    let projectId: string;

    beforeAll(async () => {
      servers = await startServiceServers({ postgres, redis });
      apis = [await servers.api(), await servers.api()];
      await Promise.all(apis.map((api) => api.start()));
      projectId = (await createProject({ client: apis[0].client, name: 'followed' })).id;
    });
    afterAll(() => servers?.[Symbol.asyncDispose]());

    const newStream = async (name: string) => (await createLogStream({ client: apis[0].client, projectId, name })).id;
    const log = (client: ServiceClient, log_stream_id: string, count: number) =>
      client.send(`/projects/${projectId}/traces`, {
        body: {
          log_stream_id,
          traces: Array.from({ length: count }, () => ({ input: 'a', spans: [{ type: 'tool', input: 'b' }] })),
        },
      });

    /** The events that a client hears at an api. It ends with the test, at the latest. */
    function follow({ client }: ServiceApi, logStreamId: string, lastEventId?: string) {
      const left = new AbortController();
      onTestFinished(() => left.abort());
      const events = liveRecords({ client, projectId, logStreamId, lastEventId, signal: left.signal });
      const heard: LiveRecords[] = [];
      const next = async () => {
        const { value } = await events.next();
        heard.push(value as LiveRecords);
        return value as LiveRecords;
      };
      return {
        heard,
        next,
        async until(traces: number) {
          while (heard.at(-1)?.num_records.traces !== traces) await next();
        },
        leave: () => left.abort(),
      };
    }
    const sum = (heard: readonly LiveRecords[]) => heard.reduce((all, { num_new }) => all + num_new.traces, 0);
    const open = ({ url }: ServiceApi, stream: string, headers: Record<string, string> = {}) => {
      const left = new AbortController();
      onTestFinished(() => left.abort());
      const path = `${url}/projects/${projectId}/live_records?log_stream_id=${stream}`;
      return fetch(path, { headers: { 'Service-API-Key': API_KEY, ...headers }, signal: left.signal });
    };

    test('what one api stores is heard at the other, each record once, in order', async () => {
      const stream = await newStream('heard');
      const listeners = apis.map((api) => follow(api, stream));
      await Promise.all(listeners.map((listener) => listener.until(0)));
      let stored = 0;
      for (const [turn, count] of [3, 1, 4, 2].entries()) {
        stored += count;
        await log(apis[turn % 2]?.client as ServiceClient, stream, count);
        await Promise.all(listeners.map((listener) => listener.until(stored)));
      }
      // Both store at once.
      await Promise.all(Array.from({ length: 10 }, (_, turn) => log(apis[turn % 2]?.client as ServiceClient, stream, 2)));
      await Promise.all(listeners.map((listener) => listener.until(30)));
      for (const { heard } of listeners) {
        expect(sum(heard)).toBe(30);
        const held = heard.map(({ num_records }) => num_records.traces);
        expect(held).toEqual(held.toSorted((a, b) => a - b));
        expect(heard.at(-1)).toMatchObject({ num_records: { traces: 30, spans: 30 } });
      }
    });

    test('a listener goes on at the other api where it stopped', async () => {
      const stream = await newStream('resumed');
      await log(apis[0].client, stream, 2);
      const before = follow(apis[0], stream);
      const { id } = await before.next();
      before.leave();
      await log(apis[0].client, stream, 3);
      const after = follow(apis[1], stream, id);
      expect(await after.next()).toMatchObject({ num_new: { traces: 3, spans: 3 }, num_records: { traces: 5 } });
      await log(apis[0].client, stream, 1);
      await after.until(6);
      expect(sum(after.heard)).toBe(4);
    });

    test('a run whose records are changed and deleted at one api is counted as it is at the other', async () => {
      const stream = await newStream('changed');
      const listener = follow(apis[1], stream);
      await listener.until(0);
      await log(apis[0].client, stream, 3);
      await listener.until(3);
      const { records } = await apis[0].client.send<{ records: { id: string }[] }>(`/projects/${projectId}/traces/search`, {
        body: { log_stream_id: stream },
      });
      const trace_id = records[0]?.id as string;
      await apis[0].client.send(`/projects/${projectId}/traces/${trace_id}`, {
        method: 'PATCH',
        body: { log_stream_id: stream, trace_id, output: 'changed' },
      });
      await apis[0].client.send(`/projects/${projectId}/traces/delete`, {
        body: { log_stream_id: stream, filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: trace_id }] },
      });
      await listener.until(2);
      expect(sum(listener.heard)).toBe(3);
      await log(apis[0].client, stream, 2);
      await listener.until(4);
      expect(sum(listener.heard)).toBe(5);
    });

    test('an account has its streams in each api', async () => {
      const stream = await newStream('bounded');
      for (const api of apis) {
        const opened = await Promise.all(Array.from({ length: MOST_OF_ACCOUNT }, () => open(api, stream)));
        expect(opened.map(({ status }) => status)).toEqual(Array(MOST_OF_ACCOUNT).fill(200));
        const refused = await open(api, stream);
        expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
      }
    });

    test('a key that is revoked and a run that is deleted at one api end the streams of the other', async () => {
      const stream = await newStream('ended');
      const { api_key, id } = await apis[0].client.send<{ api_key: string; id: string }>('/users/api_keys', {
        body: { description: 'x', project_id: projectId },
      });
      const ofKey = await open(apis[1], stream, { 'Service-API-Key': api_key });
      const ofAdmin = await open(apis[1], stream);
      await apis[0].client.send(`/users/api_keys/${id}`, { method: 'DELETE' });
      expect(await ofKey.text()).toMatch(/event: end\ndata: \{"status":401,[^\n]*\n\n$/);
      await apis[0].client.send(`/projects/${projectId}/log_streams/${stream}`, { method: 'DELETE' });
      expect(await ofAdmin.text()).toMatch(/event: end\ndata: \{"status":404,[^\n]*\n\n$/);
    });

    // It ends the apis: the last one.
    describe('updates', () => {
      let [project, streamId] = ['', ''];
      const [traceId, spanId] = [newId(), newId()];

      beforeAll(async () => {
        const { client } = apis[0];
        project = `/projects/${projectId}`;
        streamId = await newStream('updated');
        const spans = [{ type: 'tool', id: spanId, input: 'x', output: 'logged' }];
        const traces = [{ id: traceId, input: 'q', output: 'logged', spans }];
        await client.send(`${project}/traces`, { body: { log_stream_id: streamId, traces } });
      });

      const folds = {
        trace: new FoldedRecord('trace', traceId, 'logged', true),
        span: new FoldedRecord('span', traceId, 'logged', true),
      };
      const idOf = { trace: traceId, span: spanId };

      async function update(api: ServiceApi, kind: 'trace' | 'span', { output, tag, score }: WrittenFields): Promise<void> {
        const body = { log_stream_id: streamId, [`${kind}_id`]: idOf[kind], output, tags: [tag], metrics: { score } };
        await api.client.send(`${project}/${kind}s/${idOf[kind]}`, { method: 'PATCH', body });
      }

      /** Each way to read a record, through each of the apis. */
      async function readsTheFold(kind: 'trace' | 'span', value: string): Promise<void> {
        for (const { client } of apis) {
          const filter = { type: 'text', column_id: 'output', operator: 'eq', value };
          const search = (filters: object[]) =>
            client.send<{ records: FoundRecord[] }>(`${project}/${kind}s/search`, { body: { log_stream_id: streamId, filters } });
          const { records } = await search([]);
          const found = (await search([filter])).records;
          const byId = await client.send<FoundRecord & { spans: FoundRecord[] }>(`${project}/traces/${traceId}`);
          expect([records.length, found.length]).toEqual([1, 1]);
          for (const record of [records[0], found[0], kind === 'trace' ? byId : byId.spans[0]])
            expect(folds[kind].fault(record)).toBeUndefined();
        }
      }

      test('updates of one trace and of its span, through both in turns, are read as one after the other by each', async () => {
        for (let turn = 0; turn < 10; turn++) {
          for (const kind of ['trace', 'span'] as const) {
            const fields = { output: `${kind} ${turn}`, tag: `tag ${turn}`, score: turn };
            await update(apis[turn % 2] as ServiceApi, kind, fields);
            folds[kind].update(fields, true);
            await readsTheFold(kind, fields.output);
          }
        }
      });

      test('updates of one trace through both at once are all in it', async () => {
        await Promise.all(
          Array.from({ length: 16 }, async (_, n) => {
            const fields = { output: 'at once', tag: `at once ${n}`, score: 1 };
            await update(apis[n % 2] as ServiceApi, 'trace', fields);
            folds.trace.update(fields, true);
          }),
        );
        await readsTheFold('trace', 'at once');
      });
    });

    test('each api that stops ends its own streams at once, and those of the other go on', async () => {
      const stream = await newStream('stopped');
      const staying = follow(apis[1], stream);
      await staying.until(0);
      const ending = (await open(apis[0], stream)).text();
      const stopped = apis[0].end('SIGTERM');
      // A stream that was not ended at once is cut without a word 4 s later.
      expect(await ending).toMatch(/event: end\ndata: \{"status":503,"detail":"the service is stopping[^"]*"\}\n\n$/);
      expect((await stopped).exitCode).toBe(0);
      await log(apis[1].client, stream, 2);
      await staying.until(2);
      const last = (await open(apis[1], stream)).text();
      const end = apis[1].end('SIGTERM');
      expect(await last).toContain('event: end\ndata: {"status":503');
      expect((await end).exitCode).toBe(0);
    });
  }),
);
