// A service of its own: it has two api processes.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { FoldedRecord, type FoundRecord, type WrittenFields } from '../support/foldedRecords.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { redisProgram } from '../support/redisServer.ts';
import { type ServiceApi, startServiceServers } from '../support/serviceServers.ts';

describeWithServer('two apis over servers', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    let servers: Awaited<ReturnType<typeof startServiceServers>>;
    let apis: [ServiceApi, ServiceApi];
    let [project, streamId] = ['', ''];
    const [traceId, spanId] = [newId(), newId()];

    beforeAll(async () => {
      servers = await startServiceServers({ postgres, redis });
      apis = [await servers.api(), await servers.api()];
      await Promise.all(apis.map((api) => api.start()));
      const { client } = apis[0];
      project = `/projects/${(await client.send<{ id: string }>('/projects', { body: { name: 'turns' } })).id}`;
      streamId = (await client.send<{ id: string }>(`${project}/log_streams`, { body: { name: 'stream' } })).id;
      const spans = [{ type: 'tool', id: spanId, input: 'x', output: 'logged' }];
      const traces = [{ id: traceId, input: 'q', output: 'logged', spans }];
      await client.send(`${project}/traces`, { body: { log_stream_id: streamId, traces } });
    });
    afterAll(() => servers?.[Symbol.asyncDispose]());

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
  }),
);
