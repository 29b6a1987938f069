import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Document } from '@langchain/core/documents';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { BaseRetriever } from '@langchain/core/retrievers';
import { RunnableLambda } from '@langchain/core/runnables';
import { tool as lcTool } from '@langchain/core/tools';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai';
import express from 'express';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loggingMiddleware } from '../../client/aiSdk.ts';
import { traceErrors, traceRequests } from '../../client/express.ts';
import { traceHandler } from '../../client/fetchHandler.ts';
import { log } from '../../client/index.ts';
import { loggingCallbacks } from '../../client/langchain.ts';
import { logOpenAI } from '../../client/openai.ts';
import { type LoggedSpan, loggedTraces, tracesIn } from '../support/loggedTraces.ts';
import { type Answer, fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let projectId: string;
beforeAll(async () => {
  service = await sharedTestService();
  endpoint = await startModelEndpoint();
  projectId = (await service.project()).id;
});
afterAll(async () => {
  await endpoint?.close();
  await service?.[Symbol.asyncDispose]();
});

/** The llm spans that `work` logs in a trace. */
async function spansOf(work: () => unknown): Promise<LoggedSpan[]> {
  const [trace] = await loggedTraces(service, projectId, (logger) => logger.trace('go', work));
  return trace?.spans ?? [];
}

/** Events that are sent one after the other, the first after 20 ms. */
const streams =
  (events: object[], end = 'data: [DONE]\n\n'): Answer =>
  async (_request, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const event of events) {
      const type = (event as { type?: string }).type;
      response.write(`${type ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end(end);
  };

const weatherTool = {
  type: 'function' as const,
  function: { name: 'weather', description: 'Weather of a city', parameters: { type: 'object', properties: {} } },
};
const call = { id: 'call_1', type: 'function' as const, function: { name: 'weather', arguments: '{"city":"Oslo"}' } };
const chunk = (delta: object, rest: object = {}) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'parrot-2' },
  choices: [{ index: 0, delta, finish_reason: null, ...rest }],
});

describe('a client of OpenAI', () => {
  const openai = () => logOpenAI(logOpenAI(new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: 'k', maxRetries: 0 })));
  const messages = [{ role: 'user' as const, content: 'Oslo?' }];

  test('logs a chat: messages, tools, the tools that are called, tokens', async () => {
    endpoint.next(says('', { content: null, tool_calls: [call] }), says('It rains.'));
    const spans = await spansOf(async () => {
      const client = openai();
      const first = await client.chat.completions.create({ model: 'parrot', messages, tools: [weatherTool], temperature: 0.5 });
      const [choice] = first.choices;
      expect(choice?.message.tool_calls).toEqual([call]);
      const answered = { role: 'tool' as const, tool_call_id: 'call_1', content: 'rain' };
      const turn = [...messages, { role: 'assistant' as const, tool_calls: [call] }, answered];
      const { data, response } = await client.chat.completions.create({ model: 'parrot', messages: turn }).withResponse();
      expect([data.choices[0]?.message.content, response.status]).toEqual(['It rains.', 200]);
    });
    const { type: _type, ...logged } = call;
    expect(spans).toMatchObject([
      {
        ...{ type: 'llm', name: 'chat', model: 'parrot', temperature: 0.5, finish_reason: 'tool_calls', tools: [weatherTool] },
        input: messages,
        output: { role: 'assistant', content: '', tool_calls: [logged] },
        metrics: { num_input_tokens: 12, num_output_tokens: 3 },
      },
      {
        input: [messages[0], { role: 'assistant', tool_calls: [logged] }, { role: 'tool', tool_call_id: 'call_1' }],
        output: { content: 'It rains.' },
        finish_reason: 'stop',
      },
    ]);
  });

  test('logs a stream of a chat when it has been read, whichever way', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    const texts = [chunk({ role: 'assistant', content: 'It ' }), chunk({ content: 'rains' }, { finish_reason: 'stop' })];
    const part = (text: string, more: object = {}) =>
      chunk({
        role: 'assistant',
        tool_calls: [
          { index: 0, type: 'function', ...more, function: { ...('id' in more ? { name: 'weather' } : {}), arguments: text } },
        ],
      });
    endpoint.next(
      streams([...texts, { ...chunk({}), choices: [], usage }]),
      streams([part('{"city":', { id: 'call_1' }), part('"Oslo"}'), chunk({}, { finish_reason: 'tool_calls' })]),
      streams(texts),
      streams([...texts, ...texts]),
    );
    const spans = await spansOf(async () => {
      const { completions } = openai().chat;
      const ask = { model: 'parrot', messages, stream: true as const };
      let said = '';
      for await (const { choices } of await completions.create(ask)) said += choices[0]?.delta.content ?? '';
      expect(said).toBe('It rains');
      const final = await completions.stream({ model: 'parrot', messages, tools: [weatherTool] }).finalMessage();
      expect(final.tool_calls).toMatchObject([{ function: call.function }]);
      const [left, right] = (await completions.create(ask)).tee();
      for await (const _ of left);
      for await (const _ of right);
      for await (const { choices } of await completions.create(ask)) if (choices[0]?.delta.content === 'rains') break;
    });
    expect(spans).toMatchObject([
      { model: 'parrot-2', output: { content: 'It rains' }, metrics: { num_input_tokens: 7, num_output_tokens: 2 } },
      { output: { tool_calls: [{ id: 'call_1', function: call.function }] }, finish_reason: 'tool_calls' },
      { output: { content: 'It rains' } },
      { output: { content: 'It rains' } },
    ]);
    for (const { metrics } of spans) expect(metrics.time_to_first_token_ns).toBeGreaterThan(15_000_000);
  });

  test('logs responses, streamed or not', async () => {
    const response = {
      ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'parrot-2', status: 'completed', error: null },
      output: [
        { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'I look.', annotations: [] }] },
        { type: 'function_call', id: 'f', call_id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
      ],
      usage: { input_tokens: 11, output_tokens: 5, total_tokens: 16 },
    };
    endpoint.next(
      (_request, reply) => void reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response)),
      streams(
        [
          { type: 'response.created', response: { ...response, output: [], usage: null } },
          { type: 'response.output_text.delta', delta: 'I look.' },
          { type: 'response.completed', response },
        ],
        '',
      ),
    );
    const spans = await spansOf(async () => {
      const client = openai();
      const { output_text } = await client.responses.create({
        ...{ model: 'parrot', instructions: 'Be brief.' },
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'Oslo?' }] },
          { type: 'function_call', call_id: 'call_0', name: 'weather', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_0', output: 'which city?' },
        ],
      });
      expect(output_text).toBe('I look.');
      for await (const _ of await client.responses.create({ model: 'parrot', input: 'Oslo?', stream: true }));
    });
    const answer = {
      ...{ name: 'responses', model: 'parrot-2', finish_reason: 'completed' },
      output: { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'call_1', function: call.function }] },
      metrics: { num_input_tokens: 11, num_output_tokens: 5 },
    };
    expect(spans).toMatchObject([
      {
        ...answer,
        input: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Oslo?' },
          { role: 'assistant', tool_calls: [{ id: 'call_0' }] },
          { role: 'tool', content: 'which city?', tool_call_id: 'call_0' },
        ],
      },
      { ...answer, input: [{ role: 'user', content: 'Oslo?' }] },
    ]);
  });

  test('logs what the provider refuses, and costs the caller nothing without a logger', async () => {
    endpoint.next(fails(429, { error: { message: 'slow down' } }), fails(429, { error: { message: 'slow down' } }), says('ok'));
    const ask = () => openai().chat.completions.create({ model: 'parrot', messages });
    const [span] = await spansOf(async () => {
      const create = ask();
      await expect(create).rejects.toMatchObject({ status: 429 });
    });
    expect(span).toMatchObject({ model: 'parrot', status_code: 429, error_message: expect.stringContaining('slow down') });
    await expect(ask()).rejects.toThrow('slow down'); // no logger any more
    expect((await ask()).choices[0]?.message.content).toBe('ok');
  });
});

const work = log({ kind: 'tool', name: 'work' }, async (text: string) => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  return text.toUpperCase();
});

/** External ids of the sessions of these traces, in their order. */
async function sessionsOf(traces: (LoggedSpan & { session_id?: string })[]): Promise<unknown[]> {
  const ids = traces.map(({ session_id }) => session_id);
  return Promise.all(
    ids.map(
      async (id) => (await service.request('GET', `/v2/projects/${projectId}/sessions/${id}`)).body as { external_id?: string },
    ),
  ).then((sessions) => sessions.map(({ external_id }) => external_id));
}

describe('an application of Express', () => {
  test('has a trace for each request, however many it answers at a time', async () => {
    const app = express();
    app.use(express.json());
    app.use(
      traceRequests<express.Request>({
        session: ({ headers }) => (headers['x-user'] ? { externalId: String(headers['x-user']) } : undefined),
        ignore: ({ path }) => path === '/health',
        fields: () => ({ tags: ['web'] }),
      }),
    );
    app.post('/shout', async ({ body }, response) => void response.json({ said: await work(body.text) }));
    app.get('/broken', async () => {
      await work('before');
      throw Object.assign(new Error('of the handler'), { status: 418 });
    });
    app.get('/health', (_request, response) => void response.send('ok'));
    app.use(traceErrors());
    app.use(
      ((error, _request, response, _next) => void response.status(error.status).send('no tea')) as express.ErrorRequestHandler,
    );
    const server = await new Promise<Server>((resolve) => {
      const started: Server = app.listen(0, '127.0.0.1', () => resolve(started));
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const shout = async (user: string) => {
      const headers = { 'content-type': 'application/json', 'x-user': user };
      const answer = await fetch(`${url}/shout?x=1`, { method: 'POST', headers, body: JSON.stringify({ text: user }) });
      expect(await answer.json()).toEqual({ said: user.toUpperCase() });
    };
    const traces = await loggedTraces(service, projectId, async () => {
      await Promise.all(['ana', 'ben', 'cleo'].map(shout));
      await (await fetch(`${url}/broken?why`)).text();
      await (await fetch(`${url}/health`)).text();
      await new Promise((resolve) => server.close(resolve));
    });
    await fetch(url).catch(() => undefined);
    const shouts = traces.filter(({ name }) => name === 'POST /shout');
    expect((await sessionsOf(shouts)).toSorted()).toEqual(['ana', 'ben', 'cleo']);
    for (const { input, output, spans } of shouts) {
      const { text } = JSON.parse(String(input)) as { text: string };
      expect(output).toBe(JSON.stringify({ said: text.toUpperCase() }));
      expect(spans).toMatchObject([{ name: 'work', input: text }]);
    }
    expect(traces.filter((trace) => !shouts.includes(trace))).toMatchObject([
      {
        ...{ name: 'GET /broken', input: 'GET /broken?why', output: 'no tea', status_code: 418, tags: ['web'] },
        error_message: 'Error: of the handler',
        spans: [{ name: 'work' }],
      },
    ]);
  });
});

describe('a handler of the Fetch API', () => {
  test('has a trace for each request, which ends with its response', async () => {
    const handler = traceHandler(
      async (request: Request, greeting: string) => {
        const { pathname } = new URL(request.url);
        if (pathname === '/broken') throw new TypeError('of the handler');
        if (pathname === '/image') return new Response(new Uint8Array([1, 2]), { headers: { 'content-type': 'image/png' } });
        const text = await request.text();
        const bytes = new TextEncoder().encode(`${greeting} ${await work(text)} €`);
        // Cut in the middle of a character.
        return new Response(ReadableStream.from([bytes.subarray(0, -2), bytes.subarray(-2)]), { status: 201 });
      },
      { session: () => ({ externalId: 'fetched' }) },
    );
    const traces = await loggedTraces(service, projectId, async () => {
      const answer = await handler(new Request('http://x/say?y', { method: 'POST', body: 'ana' }), 'hello');
      expect([answer.status, await answer.text()]).toEqual([201, 'hello ANA €']);
      await expect(handler(new Request('http://x/broken?z'), '')).rejects.toThrow('of the handler');
      expect((await (await handler(new Request('http://x/image'), '')).arrayBuffer()).byteLength).toBe(2);
    });
    // All of them may have begun in the same millisecond.
    expect(traces.toSorted((a, b) => String(a.name).localeCompare(String(b.name)))).toMatchObject([
      { name: 'GET /broken', input: 'GET /broken?z', status_code: 500, error_message: 'TypeError: of the handler' },
      { name: 'GET /image', output: null, status_code: 200 },
      { name: 'POST /say', input: 'ana', output: 'hello ANA €', status_code: 201, spans: [{ name: 'work' }] },
    ]);
    expect(new Set(await sessionsOf(traces))).toEqual(new Set(['fetched']));
  });
});

describe('the AI SDK', () => {
  const model = () =>
    wrapLanguageModel({
      model: createOpenAICompatible({ name: 'local', baseURL: `${endpoint.url}/v1`, includeUsage: true })('parrot'),
      middleware: loggingMiddleware(),
    });
  const weather = tool({
    description: 'Weather of a city',
    inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: ({ city }) => work(city),
  });

  test('logs the calls of a model, with tools, and what these do between them', async () => {
    endpoint.next(says('', { tool_calls: [call] }), says('It rains.'));
    const spans = await spansOf(async () => {
      const { text } = await generateText({
        ...{ model: model(), prompt: 'Oslo?', tools: { weather }, temperature: 0 },
        stopWhen: stepCountIs(2),
      });
      expect(text).toBe('It rains.');
    });
    const metrics = { num_input_tokens: 12, num_output_tokens: 3 };
    expect(spans).toMatchObject([
      {
        ...{ type: 'llm', model: 'parrot', finish_reason: 'tool-calls', metrics },
        input: [{ role: 'user', content: 'Oslo?' }],
        output: { tool_calls: [{ id: 'call_1', function: call.function }] },
        tools: [{ name: 'weather' }],
      },
      { type: 'tool', name: 'work', input: 'Oslo' },
      {
        input: [{ role: 'user' }, { role: 'assistant', tool_calls: [{ id: 'call_1' }] }, { role: 'tool', content: 'OSLO' }],
        ...{ output: { content: 'It rains.' }, metrics },
      },
    ]);
  });

  test('logs a stream, and what the provider refuses', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    endpoint.next(
      streams([
        chunk({ role: 'assistant', content: 'It ' }),
        chunk({ content: 'rains' }, { finish_reason: 'stop' }),
        { ...chunk({}), choices: [], usage },
      ]),
      fails(400, { error: { message: 'too long' } }),
    );
    const spans = await spansOf(async () => {
      let said = '';
      for await (const piece of streamText({ model: model(), prompt: 'Oslo?' }).textStream) said += piece;
      expect(said).toBe('It rains');
      await expect(generateText({ model: model(), prompt: 'Oslo?', maxRetries: 0 })).rejects.toThrow();
    });
    expect(spans).toMatchObject([
      { output: { content: 'It rains' }, metrics: { num_input_tokens: 7, num_output_tokens: 2 }, finish_reason: 'stop' },
      { model: 'parrot', status_code: 400 },
    ]);
    expect(spans[0]?.metrics.time_to_first_token_ns).toBeGreaterThan(0);
  });
});

describe('LangChain', () => {
  const usage_metadata = { input_tokens: 9, output_tokens: 4, total_tokens: 13 };

  test('logs chains, models, tools and retrievers as they nest', async () => {
    const calls = [{ id: 'call_1', name: 'weather', args: { city: 'Oslo' } }];
    class Scripted extends BaseChatModel {
      _llmType() {
        return 'scripted';
      }
      async _generate() {
        const message = new AIMessage({ content: 'I look.', tool_calls: calls, usage_metadata } as object);
        return { generations: [{ text: 'I look.', message }] };
      }
    }
    const model = new Scripted({});
    const weather = lcTool(async ({ city }: { city: string }) => `rain in ${city}`, {
      name: 'weather',
      description: 'Weather of a city',
      schema: { type: 'object', properties: { city: { type: 'string' } } },
    });
    class Pages extends BaseRetriever {
      lc_namespace = ['test'];
      override async _getRelevantDocuments(query: string) {
        return [new Document({ pageContent: `about ${query}`, metadata: { page: 1 } })];
      }
    }
    const chain = RunnableLambda.from(async (question: string, config) => {
      await new Pages().invoke(question, config);
      const answer = await model.invoke([new HumanMessage(question)], config);
      return (weather as unknown as RunnableLambda<unknown, string>).invoke(answer.tool_calls?.[0]?.args, config);
    }).withConfig({ runName: 'ask' });
    const [inside, alone] = await loggedTraces(service, projectId, async (logger) => {
      const callbacks = [loggingCallbacks()];
      await logger.trace('go', () => chain.invoke('Oslo?', { callbacks }));
      expect(await chain.invoke('Oslo?', { callbacks })).toBe('rain in Oslo');
    });
    const ask = {
      ...{ type: 'workflow', name: 'ask', output: 'rain in Oslo' },
      spans: [
        { type: 'retriever', input: 'Oslo?', output: [{ content: 'about Oslo?', metadata: { page: 1 } }] },
        {
          ...{ type: 'llm', input: [{ role: 'user', content: 'Oslo?' }] },
          output: { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'call_1', function: call.function }] },
          metrics: { num_input_tokens: 9, num_output_tokens: 4 },
        },
        { type: 'tool', name: 'weather', output: 'rain in Oslo' },
      ],
    };
    expect(inside?.spans).toMatchObject([ask]);
    expect(alone).toMatchObject({ name: 'ask', output: 'rain in Oslo', spans: [ask] });
  });

  test('logs the time to the first token of a stream, and what is thrown', async () => {
    const spans = await spansOf(async () => {
      const callbacks = [loggingCallbacks()];
      const model = new FakeListChatModel({ responses: ['It rains'], sleep: 5 });
      let said = '';
      for await (const piece of await model.stream('Oslo?', { callbacks })) said += piece.content;
      expect(said).toBe('It rains');
      const broken = RunnableLambda.from(() => {
        throw new TypeError('of the chain');
      });
      await expect(broken.invoke('x', { callbacks })).rejects.toThrow('of the chain');
    });
    expect(spans).toMatchObject([
      { type: 'llm', output: { role: 'assistant', content: 'It rains' } },
      { type: 'workflow', status_code: 500, error_message: 'TypeError: of the chain' },
    ]);
    expect(spans[0]?.metrics.time_to_first_token_ns).toBeGreaterThan(0);
  });
});

describe('the snippets of the page, as they stand there', () => {
  const root = join(import.meta.dirname, '../..');
  const page = readFileSync(join(root, 'docs/wrappers.md'), 'utf8');
  const snippets = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
  const folder = mkdtempSync(join(tmpdir(), 'assay-wrappers-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const oneCall = {
    output: { content: 'Hello, world' },
    input: [{ role: 'user', content: 'Hello' }],
    metrics: { num_input_tokens: 12 },
  };
  const cases = [
    { entry: 'openai', logged: { spans: [{ type: 'llm', model: 'gpt-4o-mini', ...oneCall }] } },
    { entry: 'aiSdk', logged: { spans: [{ type: 'llm', model: 'gpt-4o-mini', ...oneCall }] } },
    { entry: 'langchain', logged: { input: '{"question":"Hello"}', output: 'Hello, world', spans: [{ type: 'workflow' }] } },
    {
      entry: 'express',
      use: `
        const server = app.listen(0, '127.0.0.1');
        await new Promise((resolve) => server.once('listening', resolve));
        const url = 'http://127.0.0.1:' + server.address().port;
        await fetch(url + '/health');
        const headers = { 'content-type': 'application/json', 'x-conversation': 'seven' };
        await (await fetch(url + '/chat', { method: 'POST', headers, body: '{"text":"Hello"}' })).text();
        server.close();`,
      logged: { name: 'POST /chat', input: '{"text":"Hello"}', output: '{"answer":"Hello"}', status_code: 200 },
    },
    {
      entry: 'fetchHandler',
      use: `await (await POST(new Request('http://localhost/shout', { method: 'POST', body: 'Hello' }))).text();`,
      logged: { name: 'POST /shout', input: 'Hello', output: 'HELLO', status_code: 200 },
    },
  ];

  test('are all of them run', () => {
    expect(snippets.map((code) => /@assay\/client\/(\w+)/.exec(code)?.[1])).toEqual(cases.map(({ entry }) => entry));
  });

  test.each(cases)('$entry', async ({ entry, use = '', logged }) => {
    endpoint.otherwise(says('Hello, world'));
    const code = snippets.find((one) => one.includes(`@assay/client/${entry}`))?.replace('@assay/client', join(root, 'client'));
    const script = `
      import { Logger } from '${join(root, 'client/index.ts')}';
      const logger = new Logger({ logStream: 'page ${entry}' });
      ${code?.replace(`/${entry}'`, `/${entry}.ts'`)}
      ${use}
      await logger.close();`;
    writeFileSync(join(folder, `${entry}.ts`), script);
    await promisify(execFile)(process.execPath, [join(folder, `${entry}.ts`)], {
      env: {
        ...{
          PATH: process.env.PATH,
          SERVICE_API_URL: service.url,
          SERVICE_API_KEY: service.apiKey,
          SERVICE_PROJECT_ID: projectId,
        },
        ...{ OPENAI_BASE_URL: `${endpoint.url}/v1`, OPENAI_API_KEY: 'k' },
      },
    });
    expect(await tracesIn(service, projectId, `page ${entry}`)).toMatchObject([logged]);
  });
});
