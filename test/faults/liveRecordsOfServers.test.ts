// A service of its own: it has two api processes, which stop.

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ServiceClient } from '../../client/http.ts';
import { createLogStream, createProject, type LiveRecords, liveRecords } from '../../client/index.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { type ServiceApi, startServiceServers } from '../support/serviceServers.ts';
import { API_KEY } from '../support/testService.ts';

const MOST_OF_ACCOUNT = 10;

describeWithServer('live records of two apis', postgresProgram, (postgres) =>
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
