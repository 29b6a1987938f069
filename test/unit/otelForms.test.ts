import { describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { openOtlp } from '../../shared/otel/otlp.ts';
import { recordsOf } from '../../shared/otel/recordsOf.ts';
import type { LoggedRecord, RecordChange } from '../../shared/records/recordChange.ts';
import { otlpJson, pairs } from '../support/otlpJson.ts';

// biome-ignore lint/suspicious/noExplicitAny: records of every kind; a wrong guess fails the test
type Json = any;
type Given = Record<string, string | number>;

const json = JSON.stringify;
const otlp = openOtlp();
const run = { projectId: newId(), runId: newId() };

/** The records of an export request with one root span: what is written of it. */
function recordsFrom(body: object): { span: Json; trace: Json } {
  const resources = otlp.readRequest(Buffer.from(json(body)), 'json');
  expect(resources.flatMap(({ rejected }) => rejected)).toEqual([]);
  const changes = recordsOf(
    run,
    resources.flatMap(({ spans }) => spans),
  );
  const logged = changes.flatMap((change: RecordChange): LoggedRecord[] => (change.action === 'log' ? [change.record] : []));
  const trace = logged.find(({ type }) => type === 'trace');
  return { trace, span: logged.find(({ parent_id }) => parent_id === trace?.id) };
}

const spanOf = (attributes: Given, more: object = {}): Json => recordsFrom(otlpJson(attributes, more)).span;

const event = (name: string, attributes: Given) => ({ name, timeUnixNano: '1770000000223456789', attributes: pairs(attributes) });
const chat = (attributes: Given): Given => ({ 'gen_ai.operation.name': 'chat', ...attributes });

interface Case {
  name: string;
  attributes: Given;
  more?: object;
  wanted: object;
}

const forms: Case[] = [
  {
    name: 'messages as span events',
    attributes: chat({ 'gen_ai.request.model': 'm', 'gen_ai.usage.prompt_tokens': 3 }),
    more: {
      events: [
        event('gen_ai.system.message', { content: 'Be brief.' }),
        event('gen_ai.user.message', { content: 'Hi' }),
        event('gen_ai.choice', { index: '0', finish_reason: 'stop', message: '{"role":"assistant","content":"Hello"}' }),
      ],
    },
    wanted: {
      type: 'llm',
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      output: { role: 'assistant', content: 'Hello' },
      finish_reason: 'stop',
      metrics: { num_input_tokens: 3, num_total_tokens: 3, duration_ns: 1_000_000_000 },
      created_at: '2026-02-02T02:40:00.123456Z',
    },
  },
  {
    name: 'messages as numbered attributes',
    attributes: {
      'llm.request.type': 'chat',
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'Hi',
      'gen_ai.prompt.10.role': 'user',
      'gen_ai.prompt.10.content': 'last',
      'gen_ai.prompt.2.role': 'ai',
      'gen_ai.prompt.2.content': 'middle',
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.tool_calls.0.id': 'c',
      'gen_ai.completion.0.tool_calls.0.name': 'f',
      'gen_ai.completion.0.tool_calls.0.arguments': '{}',
    },
    wanted: {
      input: [{ content: 'Hi' }, { role: 'assistant', content: 'middle' }, { content: 'last' }],
      output: { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] },
    },
  },
  {
    name: 'OpenInference: retrieved documents',
    attributes: {
      'openinference.span.kind': 'RETRIEVER',
      'input.value': 'capital of France',
      'input.mime_type': 'text/plain',
      'retrieval.documents.0.document.content': 'Paris',
      'retrieval.documents.0.document.id': 'd1',
      'retrieval.documents.0.document.metadata': '{"page":4}',
      'retrieval.documents.1.document.content': 'Lyon',
    },
    wanted: {
      type: 'retriever',
      input: 'capital of France',
      output: [{ content: 'Paris', metadata: { id: 'd1', page: 4 } }, { content: 'Lyon' }],
    },
  },
  {
    name: 'an answer in several messages, with reasoning and a tool call',
    attributes: {
      'llm.request.type': 'chat',
      'gen_ai.completion.0.role': 'thinking',
      'gen_ai.completion.0.content': 'let me think',
      'gen_ai.completion.1.role': 'assistant',
      'gen_ai.completion.1.content': 'hello',
      'gen_ai.completion.1.finish_reason': 'end_turn',
      'gen_ai.completion.2.role': 'assistant',
      'gen_ai.completion.2.function_call.name': 'weather',
      'gen_ai.completion.2.function_call.arguments': '{"city":"Oslo"}',
    },
    wanted: {
      output: { role: 'assistant', content: 'hello' },
      finish_reason: 'end_turn',
      events: [
        { type: 'reasoning', content: 'let me think' },
        { type: 'message', content_parts: [{ type: 'tool_call', id: '', name: 'weather', arguments: '{"city":"Oslo"}' }] },
      ],
    },
  },
  {
    name: 'an answer in several messages, which call two tools',
    attributes: {
      'openinference.span.kind': 'LLM',
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': 'calling two',
      'llm.output_messages.1.message.role': 'assistant',
      'llm.output_messages.1.message.tool_calls.0.tool_call.function.name': 'one',
      'llm.output_messages.2.message.role': 'assistant',
      'llm.output_messages.2.message.tool_calls.0.tool_call.function.name': 'two',
    },
    wanted: {
      output: { content: 'calling two', tool_calls: [{ function: { name: 'one' } }, { function: { name: 'two' } }] },
    },
  },
  {
    name: 'a retriever of another library, and a count beside its documents',
    attributes: {
      'traceloop.span.kind': 'task',
      'gen_ai.operation.name': 'vector_db_retrieve',
      'traceloop.entity.output': '{"documents":[{"page_content":"d","metadata":{"k":1}}],"count":1}',
    },
    wanted: {
      type: 'retriever',
      output: [{ content: 'd', metadata: { k: 1 } }],
      user_metadata: { 'output.count': '1' },
    },
  },
  { name: 'a model without a name', attributes: { 'gen_ai.request.model': '' }, wanted: { type: 'workflow' } },
  {
    name: 'instructions before every form of messages',
    attributes: {
      agent_name: 'helper',
      'gen_ai.system_instructions': '[{"type":"text","content":"be nice"}]',
      'pydantic_ai.all_messages': json([
        { role: 'user', parts: [{ type: 'text', content: 'q' }] },
        { role: 'assistant', parts: [{ type: 'text', content: 'done' }] },
      ]),
      final_result: 'done',
    },
    wanted: {
      type: 'agent',
      input: [
        { role: 'system', content: 'be nice' },
        { role: 'user', content: 'q' },
      ],
      output: { role: 'assistant', content: 'done' },
    },
  },
];

/** Parts of messages beside their content: each is in the record. */
const besideContents: Case[] = [
  {
    name: 'what is spoken',
    attributes: chat({
      'gen_ai.input.messages': json([{ role: 'user', content: 'q', name: 'ada' }]),
      'gen_ai.output.messages': json([
        { role: 'assistant', finish_reason: 'stop', content: null, audio: { id: 'a1', transcript: 'aloud' } },
      ]),
    }),
    wanted: {
      output: { role: 'assistant', content: 'aloud' },
      user_metadata: { 'input.0.name': 'ada', 'output.audio': '{"id":"a1","transcript":"aloud"}' },
    },
  },
  {
    name: 'what is thought, and annotations',
    attributes: chat({
      'gen_ai.output.messages': json([
        {
          ...{ role: 'assistant', finish_reason: 'stop', content: 'a', reasoning_content: 'hm' },
          annotations: [{ url: 'u' }],
        },
      ]),
    }),
    wanted: {
      output: { content: 'a' },
      events: [{ type: 'reasoning', content: 'hm' }],
      user_metadata: { 'output.annotations': '[{"url":"u"}]' },
    },
  },
  {
    name: 'the thoughts of Gemini',
    attributes: chat({
      'gen_ai.output.messages': json([
        { role: 'assistant', finish_reason: 'stop', parts: [{ text: 'hm', thought: true }, { text: 'a' }] },
      ]),
    }),
    wanted: { output: { content: 'a' }, events: [{ type: 'reasoning', content: 'hm' }] },
  },
  {
    name: 'the log probabilities of a choice',
    attributes: chat({
      'gen_ai.completion': json({ choices: [{ index: 0, logprobs: [-1], message: { role: 'assistant', content: 'a' } }] }),
    }),
    wanted: { output: { content: 'a' }, user_metadata: { 'output.logprobs': '[-1]' } },
  },
  {
    name: 'what is beside the documents of a search',
    attributes: {
      'db.operation.name': 'search',
      'gen_ai.output.messages': json([{ role: 'assistant', content: { documents: [{ content: 'd' }] }, more: 'x' }]),
    },
    wanted: { type: 'retriever', output: [{ content: 'd' }], user_metadata: { 'output.more': 'x' } },
  },
  {
    name: 'the thoughts of an agent',
    attributes: {
      'gen_ai.agent.name': 'a',
      'pydantic_ai.all_messages': json([
        { role: 'user', parts: [{ type: 'text', content: 'q' }] },
        {
          role: 'assistant',
          parts: [
            { type: 'thinking', content: 'hm' },
            { type: 'text', content: 'said' },
          ],
        },
      ]),
      final_result: 'said',
    },
    wanted: {
      output: { content: 'said' },
      user_metadata: { 'gen_ai.output.events': '[{"type":"reasoning","content":"hm"}]' },
    },
  },
];

const someDocuments = { 'gen_ai.output.messages': '[{"content":"Paris","metadata":{}}]' };
/** A kind that a span states counts more than its documents and its database. */
const namesOfThemselves: Case[] = [
  ...(
    [
      ['llm', { 'gen_ai.operation.name': 'chat' }],
      ['tool', { 'gen_ai.operation.name': 'execute_tool' }],
      ['agent', { 'openinference.span.kind': 'AGENT' }],
      ['workflow', { 'ai.operationId': 'ai.generateText' }],
      ['workflow', { 'gen_ai.operation.name': 'invoke_workflow' }],
      ['workflow', { 'openinference.span.kind': 'CHAIN' }],
    ] as const
  ).map(([type, attributes]) => ({
    name: `${json(attributes)} beside documents and a search`,
    attributes: { ...someDocuments, 'db.operation': 'search', ...attributes },
    wanted: { type },
  })),
  // The kinds of Traceloop say less than the operation of a database, and a workflow or task of its says nothing of an answer.
  ...(
    [
      ['llm', { 'gen_ai.request.model': 'gpt-4o' }],
      ['tool', { 'traceloop.span.kind': 'tool' }],
      ['agent', { 'traceloop.span.kind': 'agent' }],
      ['retriever', { 'traceloop.span.kind': 'workflow' }],
    ] as const
  ).flatMap(([type, attributes]) => [
    { name: `${json(attributes)} beside documents`, attributes: { ...someDocuments, ...attributes }, wanted: { type } },
    {
      name: `${json(attributes)} beside documents and a query`,
      attributes: { 'db.operation': 'query', ...someDocuments, ...attributes },
      wanted: { type: 'retriever', output: [{ content: 'Paris' }] },
    },
  ]),
  {
    name: 'an answer with its sources',
    attributes: { 'output.value': json({ answer: 'Paris', documents: [{ content: 'Paris' }] }) },
    wanted: { type: 'workflow', output: json({ answer: 'Paris', documents: [{ content: 'Paris' }] }) },
  },
  ...['gen_ai.output.messages', 'output.value'].map((attribute) => ({
    name: `calls beside documents in ${attribute}`,
    attributes: {
      [attribute]: json([
        { role: 'assistant', content: '[{"content":"Paris"}]', tool_calls: [{ id: 'c1', function: { name: 'f' } }] },
      ]),
    },
    wanted: { type: 'workflow' },
  })),
  {
    name: 'a statement of SQL',
    attributes: { 'db.operation': 'SELECT', 'db.statement': 'SELECT 1' },
    wanted: { type: 'workflow', user_metadata: { 'db.operation': 'SELECT' } },
  },
  {
    name: 'a text in parts',
    attributes: { 'gen_ai.output.messages': json([{ role: 'assistant', content: [{ type: 'text', text: 'Paris' }] }]) },
    wanted: { type: 'workflow', output: { role: 'assistant', content: 'Paris' } },
  },
];

const [PARIS, LYON] = [{ content: 'Paris', metadata: { page: 4 } }, { content: 'Lyon' }];
const olderForms: [name: string, attributes: Given, more?: object][] = (() => {
  const documents = json({ documents: [PARIS, LYON] });
  const choice = (attributes: Given) => ({ events: [{ name: 'gen_ai.choice', attributes: pairs(attributes) }] });
  return [
    ['whole', { 'gen_ai.completion': documents }],
    ['numbered', { 'gen_ai.completion.0.role': 'assistant', 'gen_ai.completion.0.content': documents }],
    ['an event with a message', {}, choice({ message: json({ role: 'assistant', content: documents }) })],
    ['an event with a content', {}, choice({ content: documents, finish_reason: 'stop' })],
    [
      'with types of their own',
      { 'output.value': '[{"type":"Article","page_content":"Paris","page":4},{"type":"document","content":"Lyon"}]' },
    ],
  ];
})();
const documentsInOlderForms: Case[] = olderForms.map(([name, attributes, more = {}]) => ({
  name,
  attributes: { 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': 'capital of France', ...attributes },
  more,
  wanted: { type: 'retriever', input: 'capital of France', output: [PARIS, LYON] },
}));

const ownNames: Case[] = (
  [
    ['gen_ai.tool.name', { 'gen_ai.operation.name': 'execute_tool' }],
    ['tool.name', { 'openinference.span.kind': 'TOOL' }],
    ['ai.toolCall.name', { 'ai.operationId': 'ai.toolCall' }],
    ['traceloop.entity.name', { 'traceloop.span.kind': 'tool' }],
  ] as const
).map(([key, attributes]) => ({
  name: `beside ${key}`,
  attributes: { ...attributes, [key]: 'forecast' },
  more: { name: 'my own name' },
  wanted: { type: 'tool', name: 'my own name', user_metadata: { [key]: 'forecast' } },
}));

const statuses: Case[] = [99_999_999_999, '404.5', -1, 'teapot'].map((code) => ({
  name: `a status ${code} of HTTP that is none is kept`,
  attributes: { 'http.response.status_code': code },
  wanted: { status_code: 200, user_metadata: { 'http.response.status_code': String(code) } },
}));

const answersInJson: Case[] = ['gen_ai.completion', 'gen_ai.output.messages'].map((name) => ({
  name: `an answer in JSON of the application is a text: ${name}`,
  attributes: chat({ [name]: '{"answer": 42, "content": "all"}' }),
  wanted: { output: { role: 'assistant', content: '{"answer": 42, "content": "all"}' } },
}));

describe.each([
  ['a form of the conventions', forms],
  ['what a message says beside its content is kept', besideContents],
  ['what a span calls itself counts more than its documents and its database', namesOfThemselves],
  ['documents in the older forms of an answer are a retrieval too', documentsInOlderForms],
  ['a span keeps its own name, in every convention', ownNames],
  ['an odd value', [...statuses, ...answersInJson]],
])('%s:', (_, cases) => {
  test.each(cases)('$name', ({ attributes, more, wanted }) => {
    expect(spanOf(attributes, more)).toMatchObject(wanted);
  });
});

describe('a retrieval', () => {
  type Answer = (documents: Json) => Json;
  test.each<[string, Given, Answer]>([
    ['a search of a database', { 'db.operation': 'search' }, (documents) => [{ role: 'assistant', content: { documents } }]],
    ['a query of a database', { 'db.operation': 'query' }, (documents) => [{ role: 'assistant', content: documents }]],
    ['a list of documents', {}, (documents) => documents],
    ['documents by name', {}, (documents) => ({ documents })],
    ['documents by name in a message', {}, (documents) => [{ role: 'assistant', content: { documents } }]],
    ['documents by name beside a role', {}, (documents) => [{ role: 'assistant', documents, id: null }]],
    ['documents by name in a part', {}, (documents) => [{ role: 'assistant', parts: [{ documents }] }]],
    ['documents as text in a message', {}, (documents) => [{ role: 'tool', content: json({ documents }) }]],
    [
      'documents as text in a part',
      {},
      (documents) => [{ role: 'assistant', parts: [{ type: 'text', content: json({ documents }) }] }],
    ],
    [
      'documents as text in the only part of a content',
      {},
      (documents) => [{ role: 'assistant', content: [{ type: 'text', text: json(documents) }] }],
    ],
    [
      'documents in a message below its name',
      {},
      (documents) => ({ messages: [{ role: 'assistant', content: json({ documents }) }] }),
    ],
  ])('is %s, with its documents', (_, attributes, answer) => {
    const documents = [{ content: 'Paris', metadata: { page: 4, rank: 'a' } }, { content: 'Lyon' }];
    const retrieval = { type: 'retriever', name: 'chat', input: 'capital of France', output: documents };
    const inMessages = spanOf({
      ...attributes,
      'gen_ai.system': 'my-own-sdk',
      'gen_ai.input.messages': json([{ role: 'user', content: 'capital of France' }]),
      'gen_ai.output.messages': json(answer(documents)),
    });
    expect(inMessages).toMatchObject(retrieval);
    expect(Object.keys(inMessages.user_metadata).filter((key) => key.includes('messages'))).toEqual([]);
    const values = { 'input.value': 'capital of France', 'output.value': json(answer(documents)) };
    expect(spanOf({ ...attributes, ...values })).toMatchObject(retrieval);
    const ofTask = {
      'traceloop.span.kind': 'task',
      'traceloop.entity.input': 'capital of France',
      'traceloop.entity.output': json(answer(documents)),
    };
    expect(spanOf({ ...attributes, ...ofTask })).toMatchObject(retrieval);
  });

  test('keeps what its texts and documents do not say', () => {
    const span = spanOf({
      'gen_ai.input.messages': json([
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'capital of France' },
      ]),
      'output.value': json([
        { type: 'tool', content: '[{"content":"Paris"}]', name: 'atlas', tool_call_id: 'c1', additional_kwargs: {} },
      ]),
    });
    expect(span).toMatchObject({ type: 'retriever', input: 'capital of France', output: [{ content: 'Paris' }] });
    expect(span.user_metadata).toEqual({
      ...{ 'output.name': 'atlas', 'output.tool_call_id': 'c1', 'output.additional_kwargs': '{}' },
      'gen_ai.input.messages': expect.stringContaining('Be brief.'),
    });
    const both = spanOf({
      'gen_ai.output.messages': '[{"role":"assistant","content":"Two were found."}]',
      'output.value': '[{"content":"Paris"}]',
    });
    expect(both).toMatchObject({ type: 'retriever', output: [{ content: 'Paris' }] });
    expect(both.user_metadata).toMatchObject({ output: expect.stringContaining('Two were found.') });
  });

  test.each<[string, string, Given]>([
    ['the results of a query', 'db.query.result', { 'db.operation': 'query' }],
    ['the results of a search', 'db.search.result', { 'db.operation.name': 'search', 'traceloop.span.kind': 'tool' }],
    ['the results of Pinecone', 'pinecone.query.result', {}],
  ])('has %s in events as its documents', (_, name, attributes) => {
    const result = (fields: Given) => ({
      name,
      attributes: pairs(Object.fromEntries(Object.entries(fields).map(([field, value]) => [`${name}.${field}`, value]))),
    });
    const span = spanOf(attributes, {
      events: [
        { name: 'db.query.embeddings', attributes: pairs({ 'db.query.embeddings.vector': '[0.5]' }) },
        result({ id: 'd1', distance: 2, metadata: '{"page": 4}', vector: '[0.25]', document: 'Paris' }),
        result({ id: 'd2', score: 1 }),
        { name, attributes: pairs({ _id: 'd3', text: 'Lyon' }) },
      ],
    });
    expect(span).toMatchObject({
      type: 'retriever',
      output: [
        { content: 'Paris', metadata: { id: 'd1', distance: 2, page: 4 } },
        { content: '', metadata: { id: 'd2', score: 1 } },
        { content: 'Lyon', metadata: { _id: 'd3' } },
      ],
    });
    const left = JSON.parse(span.user_metadata['otel.events']);
    expect(left.map(([one, , fields]: [string, null, Json]) => [one, Object.values(fields)])).toEqual([
      ['db.query.embeddings', ['[0.5]']],
      [name, ['[0.25]']],
    ]);
  });

  test('that finds nothing has no documents, one that answers with text has one', () => {
    const search = (answer: Json) =>
      spanOf({ 'db.operation': 'query', 'gen_ai.output.messages': json([{ role: 'assistant', content: answer }]) }).output;
    expect(search([])).toEqual([]);
    expect(search({ documents: [] })).toEqual([]);
    const ended = [{ role: 'assistant', content: [{ content: 'Paris' }], finish_reason: 'stop', tool_calls: null }];
    expect(spanOf({ 'gen_ai.output.messages': json(ended) })).toMatchObject({
      ...{ type: 'retriever', output: [{ content: 'Paris' }] },
      user_metadata: { 'gen_ai.output.finish_reason': 'stop' },
    });
    expect(search('Paris')).toMatchObject([{ content: 'Paris' }]);
  });
});

test('a root of a system that is no provider, with neither model nor operation, is a workflow', () => {
  const { span, trace } = recordsFrom(
    otlpJson({
      'gen_ai.system': 'my-own-sdk',
      'gen_ai.input.messages': '[{"role":"user","content":"Weather?"}]',
      'gen_ai.output.messages': '[{"role":"assistant","content":"Rain."}]',
    }),
  );
  expect(span).toMatchObject({
    ...{ type: 'workflow', name: 'chat', user_metadata: { 'gen_ai.system': 'my-own-sdk' } },
    input: [{ role: 'user', content: 'Weather?' }],
    output: { role: 'assistant', content: 'Rain.' },
  });
  expect(trace).toMatchObject({ name: 'chat', input: 'Weather?', output: 'Rain.' });
});

test('several conventions at once: the first says what the span is, each fills what the others leave open', () => {
  const genAi = chat({ 'gen_ai.request.model': 'gpt-4o', 'gen_ai.usage.output_tokens': 4 });
  const call = spanOf({ ...genAi, 'openinference.span.kind': 'LLM', 'llm.token_count.prompt': 10 });
  expect(call).toMatchObject({ type: 'llm', model: 'gpt-4o', metrics: { num_input_tokens: 10, num_total_tokens: 14 } });
  const chain = spanOf({ ...genAi, 'openinference.span.kind': 'CHAIN' });
  expect(chain).toMatchObject({ type: 'workflow', user_metadata: { 'gen_ai.request.model': 'gpt-4o' } });
  expect(chain.metrics).toEqual({ duration_ns: 1_000_000_000, num_output_tokens: 4, num_total_tokens: 4 });
  const embedding = spanOf({ 'gen_ai.operation.name': 'aembedding', 'gen_ai.usage.input_tokens': 7 });
  expect(embedding).toMatchObject({ type: 'workflow', metrics: { num_input_tokens: 7 } });
});

test('contents in the forms of other providers', () => {
  const blocks = [
    { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }] },
    { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'add', input: { a: 2 } } }] },
    { role: 'user', content: [{ toolResult: { toolUseId: 't1', content: [{ text: '4' }] } }] },
    { type: 'function_call', call_id: 'c2', name: 'sub', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c2', output: '0' },
  ];
  expect(spanOf(chat({ 'gen_ai.input.messages': json(blocks) })).input).toEqual([
    { role: 'user', content: 'data:image/png;base64,AAAA' },
    { role: 'assistant', content: '', tool_calls: [{ id: 't1', function: { name: 'add', arguments: '{"a":2}' } }] },
    { role: 'tool', content: '4', tool_call_id: 't1' },
    { role: 'assistant', content: '', tool_calls: [{ id: 'c2', function: { name: 'sub', arguments: '{}' } }] },
    { role: 'tool', content: '0', tool_call_id: 'c2' },
  ]);
});

test('an odd one among messages costs the others nothing', () => {
  const said = [
    { role: 'system', content: 'Be brief.' },
    null,
    'hello',
    { role: 'assistant' },
    { step: 1 },
    { role: 'tool', x: 2 },
  ];
  expect(spanOf(chat({ 'gen_ai.input.messages': json(said) })).input).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: '' },
    { role: 'user', content: '{"step":1}' },
    { role: 'tool', content: '{"role":"tool","x":2}' },
  ]);
});

test("the items of OpenAI's Responses: reasoning that is not shown is no message, calls and their results meet", () => {
  const items = [
    { role: 'user', content: 'how much?' },
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { type: 'reasoning', id: 'rs_2', content: null, summary: [{ type: 'summary_text', text: 'subtract' }] },
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'sub', arguments: '{}' },
    { type: 'function_call_output', id: 'fco_1', call_id: 'c1', output: '0' },
    { type: 'reasoning', id: 'rs_3', summary: [] },
  ];
  const values = { 'openinference.span.kind': 'LLM', 'input.value': json(items), 'output.value': 'nothing' };
  const { span, trace } = recordsFrom(otlpJson(values));
  expect(span.input).toEqual([
    { role: 'user', content: 'how much?' },
    { role: 'assistant', content: 'subtract' },
    { role: 'assistant', content: '', tool_calls: [{ id: 'c1', function: { name: 'sub', arguments: '{}' } }] },
    { role: 'tool', content: '0', tool_call_id: 'c1' },
  ]);
  expect(trace).toMatchObject({ input: 'how much?', output: 'nothing' });
});

test('an older status of HTTP counts where the present one is none, and a wait that no number holds is kept', () => {
  const span = spanOf({
    ...{ 'http.response.status_code': 7, 'http.status_code': '404', 'gen_ai.request.model': 'gpt-4o' },
    'gen_ai.response.time_to_first_chunk': '1e9',
  });
  expect(span).toMatchObject({
    status_code: 404,
    user_metadata: { 'http.response.status_code': '7', 'gen_ai.response.time_to_first_chunk': '1e9' },
  });
  expect(span.metrics).toEqual({ duration_ns: 1_000_000_000 });
});

test('names that mean something in JavaScript harm nothing', () => {
  const span = spanOf({
    __proto__2: 'x',
    constructor: 'c' as never,
    'gen_ai.prompt.__proto__.role': 'user',
    metadata: '{"__proto__":{"polluted":"yes"},"constructor":"d"}',
    ['__proto__' as string]: 'p',
  });
  expect(span.user_metadata).toMatchObject({ _proto_: expect.any(String), constructor: 'd' });
  expect(({} as Json).polluted).toBeUndefined();
});

test('what stands beside the attributes of a span is in its metadata', () => {
  const body = otlpJson(
    { team: 'search' },
    {
      kind: 'SPAN_KIND_CLIENT',
      traceState: 'vendor=1',
      links: [{ traceId: '1af7651916cd43dd8448eb211c80319c', spanId: '17ad6b7169203331', attributes: pairs({ why: 'retry' }) }],
    },
    { 'service.name': 'shop', tier: 'gold', team: 'all', 'host.name': 'h1', 'my.project.name': 'not here' },
  );
  Object.assign(body.resourceSpans[0]?.scopeSpans[0] as Json, {
    scope: { name: 'story', version: '1.2', attributes: pairs({ library: 'own' }) },
  });
  expect(recordsFrom(body).span.user_metadata).toEqual({
    ...{ team: 'search', 'resource.team': 'all', 'service.name': 'shop', tier: 'gold' },
    ...{ 'otel.scope.name': 'story', 'otel.scope.version': '1.2', 'otel.scope.attributes.library': 'own' },
    ...{ 'otel.kind': 'client', 'otel.trace_state': 'vendor=1' },
    'otel.links': '[["1af7651916cd43dd8448eb211c80319c:17ad6b7169203331",{"why":"retry"}]]',
  });
});

test('what a resource says in words that the span has keeps its place beside it', () => {
  const small = { 'session.id': 's2', 'input.value': 'other', 'service.name': 'shop', constructor: 'ours' };
  expect(recordsFrom(otlpJson({ 'session.id': 's1', 'input.value': 'q' }, {}, small)).span.user_metadata).toEqual({
    ...{ 'resource.session.id': 's2', 'resource.input.value': 'other', 'service.name': 'shop' },
    constructor: 'ours',
  });
});

test.each([
  ['a type that is an object', '[{"content":"x","type":{"toString":1}}]'],
  ['a role that is an object', '[{"content":"x","role":{"a":1}}]'],
  ['events without names', '[{"event.name":{"a":1},"content":"x"}]'],
])('%s costs no span', (_, odd) => {
  expect(json(spanOf({ 'output.value': odd, events: odd }))).toContain('\\"content\\":\\"x\\"');
});

test('messages and events keep what they say beside their texts', () => {
  const span = spanOf(
    {
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.input.messages': json([
        {
          ...{ role: 'user', name: 'author' },
          content: [{ type: 'tool_result', tool_use_id: 't1', content: 'no such file', is_error: true, ok: false }],
        },
      ]),
    },
    {
      events: [
        {
          name: 'gen_ai.choice',
          attributes: pairs({
            ...{ message: '{"role":"assistant","content":"Sorry."}', confidence: 1, 'gen_ai.response.id': 'r1' },
            reasoning_content: 'It is not there.',
          }),
        },
      ],
    },
  );
  expect(span).toMatchObject({
    input: [{ role: 'tool', content: 'no such file', tool_call_id: 't1' }],
    events: [{ type: 'reasoning', content: 'It is not there.' }],
    output: { role: 'assistant', content: 'Sorry.' },
    user_metadata: {
      ...{ 'input.0.is_error': 'true', 'input.0.ok': 'false', 'input.0.name': 'author', 'output.confidence': '1' },
      'otel.events': '[["gen_ai.choice",null,{"gen_ai.response.id":"r1"}]]',
    },
  });
  const parts = pairs({ 'gen_ai.event.content': '[{"type":"text","text":"Open it."}]', 'gen_ai.message.index': 0 });
  const inParts = spanOf({ 'gen_ai.request.model': 'gpt-4o' }, { events: [{ name: 'gen_ai.user.message', attributes: parts }] });
  expect(inParts).toMatchObject({ input: [{ role: 'user', content: 'Open it.' }] });
  expect(inParts.user_metadata).not.toHaveProperty('otel.events');
});
