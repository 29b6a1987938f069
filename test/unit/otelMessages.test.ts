import { describe, expect, test } from 'vitest';
import { Attributes, type AttributeValue } from '../../shared/otel/attributes.ts';
import { type Mapped, mapSpan } from '../../shared/otel/mapSpan.ts';

type Given = Record<string, AttributeValue>;
const json = JSON.stringify;

const SECOND_NS = 1_000_000_000n;
const START_NS = 1_770_000_000n * SECOND_NS;

function mapped(attributes: Given, events: { name: string; attributes: Given }[] = [], resource: Given = {}): Mapped {
  return mapSpan({
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    parentId: undefined,
    parentIsRemote: false,
    name: 'step',
    side: undefined,
    traceState: '',
    startNs: START_NS,
    endNs: START_NS + 2n * SECOND_NS,
    failed: undefined,
    statusMessage: '',
    attributes: Attributes.of(Object.entries(attributes)),
    events: events.map(({ name, attributes: said }) => ({
      name,
      atNs: START_NS,
      attributes: Attributes.of(Object.entries(said)),
    })),
    links: [],
    resource: Attributes.of(Object.entries(resource)),
    scope: { name: '', version: '', attributes: new Attributes() },
  });
}
const spanOf = (...given: Parameters<typeof mapped>) => mapped(...given).span;

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const constructed = (kind: string, kwargs: object) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain', 'schema', 'messages', kind],
  kwargs,
});

describe('what libraries call their own is read by its ending:', () => {
  const chat = [user('q')];
  test.each<[string, Given, object]>([
    [
      'Langfuse',
      {
        'langfuse.observation.type': 'generation',
        'langfuse.observation.model.name': 'gpt-4o',
        'langfuse.observation.input': json(chat),
        'langfuse.observation.output': json({ role: 'assistant', content: 'a' }),
        'langfuse.trace.input': 'of the trace',
      },
      { type: 'llm', model: 'gpt-4o', input: chat, output: assistant('a') },
    ],
    [
      'MLflow',
      {
        'mlflow.spanType': '"CHAT_MODEL"',
        'mlflow.llm.model': '"gpt-4o"',
        'mlflow.spanInputs': json({ messages: chat, temperature: 0.5 }),
        'mlflow.spanOutputs': json({ id: 'x', choices: [{ finish_reason: 'stop', message: assistant('a') }] }),
      },
      { type: 'llm', model: 'gpt-4o', input: chat, output: assistant('a'), finish_reason: 'stop' },
    ],
    [
      'MLflow, a tool',
      { 'mlflow.spanType': '"TOOL"', 'mlflow.spanInputs': '{"city": "Bern"}', 'mlflow.spanOutputs': '"21 degrees"' },
      { type: 'tool', input: '{"city": "Bern"}', output: '21 degrees' },
    ],
    [
      'Mastra',
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.system_instructions': 'Be brief.',
        'mastra.agent_run.input': 'q',
        'mastra.agent_run.output': json({ text: 'a', files: [] }),
      },
      { type: 'agent', input: [{ role: 'system', content: 'Be brief.' }, user('q')], output: assistant('a') },
    ],
    [
      'Mastra, its records of messages',
      {
        'mastra.span.type': 'model_generation',
        'mastra.model_generation.input': json({
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: { format: 2, parts: [{ type: 'text', text: 'q' }] } },
          ],
        }),
        'mastra.model_generation.output': json({
          text: '',
          toolCalls: [{ type: 'tool-call', payload: { toolCallId: 'c', toolName: 'w', args: { city: 'Bern' } } }],
        }),
      },
      {
        type: 'llm',
        input: [{ role: 'system', content: 'Be brief.' }, user('q')],
        output: { ...assistant(''), tool_calls: [{ id: 'c', function: { name: 'w', arguments: '{"city":"Bern"}' } }] },
      },
    ],
    [
      'Genkit',
      {
        'genkit:metadata:subtype': 'model',
        'genkit:name': 'openai/gpt-4o-mini',
        'genkit:input': json({
          messages: [
            { role: 'user', content: [{ text: 'q' }] },
            { role: 'model', content: [{ toolRequest: { name: 'w', ref: 'c', input: { city: 'Bern' } } }] },
            { role: 'tool', content: [{ toolResponse: { name: 'w', ref: 'c', output: '21' } }] },
          ],
        }),
        'genkit:output': json({ message: { role: 'model', content: [{ text: 'a' }] }, finishReason: 'stop' }),
      },
      {
        type: 'llm',
        model: 'openai/gpt-4o-mini',
        input: [
          user('q'),
          { ...assistant(''), tool_calls: [{ id: 'c', function: { name: 'w', arguments: '{"city":"Bern"}' } }] },
          { role: 'tool', content: '21', tool_call_id: 'c' },
        ],
        output: assistant('a'),
        finish_reason: 'stop',
      },
    ],
    [
      'the Agent Development Kit',
      {
        'gen_ai.request.model': 'gemini-2.5-flash',
        'gcp.vertex.agent.llm_request': json({
          config: { system_instruction: 'Be brief.' },
          contents: [
            { role: 'user', parts: [{ text: 'q' }] },
            { role: 'model', parts: [{ function_call: { id: 'c', name: 'w', args: { city: 'Bern' } } }] },
            { role: 'user', parts: [{ function_response: { id: 'c', name: 'w', response: { t: 21 } } }] },
          ],
        }),
        'gcp.vertex.agent.llm_response': json({ content: { role: 'model', parts: [{ text: 'a' }] }, finish_reason: 'STOP' }),
      },
      {
        type: 'llm',
        input: [
          { role: 'system', content: 'Be brief.' },
          user('q'),
          { ...assistant(''), tool_calls: [{ id: 'c', function: { name: 'w', arguments: '{"city":"Bern"}' } }] },
          { role: 'tool', content: '{"t":21}', tool_call_id: 'c' },
        ],
        output: assistant('a'),
        finish_reason: 'STOP',
      },
    ],
    [
      'Braintrust',
      { 'braintrust.span_attributes': '{"type":"llm"}', 'braintrust.input_json': json(chat), 'braintrust.output_json': '"a"' },
      { type: 'llm', input: chat, output: assistant('a') },
    ],
    [
      'Laminar',
      { 'lmnr.span.type': 'TOOL', 'lmnr.span.input': '{"city":"Bern"}', 'lmnr.span.output': '{"t":21}' },
      { type: 'tool', input: '{"city":"Bern"}', output: '{"t":21}' },
    ],
    [
      'OpenLLMetry',
      { 'traceloop.span.kind': 'workflow', 'traceloop.entity.input': '{"args": []}', 'traceloop.entity.output': '"done"' },
      { type: 'workflow', input: '{"args": []}', output: 'done' },
    ],
    ['a library without a prefix', { input: 'q', output: 'a' }, { type: 'workflow', input: 'q', output: 'a' }],
  ])('%s', (_, attributes, wanted) => {
    expect(spanOf(attributes)).toMatchObject(wanted);
  });

  test.each([
    'session.id',
    'acme.session.id',
    'langfuse.session.id',
    'mlflow.trace.session',
    'genkit:sessionId',
    'gcp.vertex.agent.session_id',
    'langsmith.metadata.thread_id',
    'ai.telemetry.metadata.sessionId',
    'traceloop.association.properties.session_id',
    'gen_ai.conversation.id',
  ])('the session in %s, on a span or a resource', (name) => {
    expect(mapped({ [name]: 's 1' }).sessionId).toBe('s 1');
    if (!name.startsWith('gen_ai.') && name !== 'session.id') expect(mapped({}, [], { [name]: 's 1' }).sessionId).toBe('s 1');
  });

  test.each(['thread.id', 'mcp.session.id', 'langsmith.trace.session_id', 'db.session_id'])('%s is no session', (name) => {
    expect(mapped({ [name]: 's 1' }).sessionId).toBeUndefined();
  });

  test.each([
    'langfuse.user.id',
    'mlflow.trace.user',
    'ai.telemetry.metadata.userId',
    'traceloop.association.properties.user_id',
  ])('the user in %s', (name) => {
    expect(spanOf({ [name]: 'u' }).user_metadata).toMatchObject({ 'user.id': 'u', [name]: 'u' });
  });

  test.each<[string, AttributeValue]>([
    ['langfuse.trace.tags', ['a', 'b']],
    ['mastra.tags', '["a","b"]'],
    ['langsmith.span.tags', 'a, b'],
    ['tag.tags', ['a', 'b']],
  ])('the tags in %s', (name, value) => {
    expect(spanOf({ [name]: value }).tags).toEqual(['a', 'b']);
  });

  test('metadata by its own names, beside a value that is called so already', () => {
    const { user_metadata } = spanOf({
      'langfuse.trace.metadata.team': 'x',
      'langsmith.metadata.tier': 'gold',
      'mlflow.trace.metadata': '{"region": "eu"}',
      'langfuse.observation.metadata.service': 'theirs',
      service: 'own',
    });
    expect(user_metadata).toMatchObject({ team: 'x', tier: 'gold', region: 'eu', service: 'own' });
    expect(user_metadata['langfuse.observation.metadata.service']).toBe('theirs');
  });

  test.each(['acme', 'other.brand'])('what a dataset of %s gave and wants', (brand) => {
    const given = {
      [`${brand}.dataset.input`]: 'q',
      [`${brand}.dataset.output`]: 'a',
      [`${brand}.dataset.metadata`]: '{"topic": "x", "n": 1}',
    };
    const wanted = { dataset_input: 'q', dataset_output: 'a', dataset_metadata: { topic: 'x', n: '1' } };
    expect(spanOf(given)).toMatchObject(wanted);
    expect(spanOf({}, [], given)).toMatchObject(wanted);
    expect(spanOf(given).input).toBeUndefined();
  });

  test('what a task expects is neither its output nor that of a dataset', () => {
    const span = spanOf({ 'crewai.task.expected_output': 'a list', 'crewai.task.output': 'a, b' });
    expect(span).toMatchObject({ output: 'a, b', user_metadata: { 'crewai.task.expected_output': 'a list' } });
    expect(span.dataset_output).toBeUndefined();
    expect(spanOf({ 'langfuse.experiment.item.expected_output': 'a' }).dataset_output).toBe('a');
  });

  test('a convention counts before them, and what they say beside it is kept', () => {
    const span = spanOf({
      'gen_ai.operation.name': 'chat',
      'gen_ai.input.messages': json([{ role: 'user', parts: [{ type: 'text', content: 'q' }] }]),
      'acme.input': 'another',
    });
    expect(span).toMatchObject({ type: 'llm', input: [user('q')] });
    expect(span.user_metadata['acme.input']).toBe('another');
  });

  test.each(['db.query.input', 'http.request.input', 'cache.input'])('the number in %s is no input', (name) => {
    expect(spanOf({ [name]: 5 }).input).toBeUndefined();
  });

  test('a long input is whole', () => {
    const long = 'word '.repeat(10_000);
    expect(spanOf({ 'acme.step.inputs': long }).input).toBe(long);
  });
});

describe('messages as LangChain writes them', () => {
  const calls = [{ name: 'w', args: { city: 'Bern' }, id: 'c', type: 'tool_call' }];
  const toolCall = { id: 'c', function: { name: 'w', arguments: '{"city":"Bern"}' } };
  test.each<[string, unknown]>([
    [
      'serialized',
      [[constructed('SystemMessage', { content: 's', type: 'system' }), constructed('HumanMessage', { content: 'q' })]],
    ],
    [
      'as dictionaries',
      [
        { type: 'system', data: { content: 's', type: 'system' } },
        { type: 'human', data: { content: 'q' } },
      ],
    ],
    [
      'dumped',
      [
        { type: 'system', content: 's', additional_kwargs: {}, response_metadata: {} },
        { type: 'human', content: 'q', additional_kwargs: {}, id: '1' },
      ],
    ],
  ])('%s, in a prompt', (_, messages) => {
    const { input } = spanOf({ 'gen_ai.operation.name': 'chat', 'gen_ai.prompt': json({ messages }) });
    expect(input).toEqual([{ role: 'system', content: 's' }, user('q')]);
  });

  test('generations, with a call of a tool', () => {
    const message = constructed('AIMessage', {
      content: '',
      tool_calls: calls,
      additional_kwargs: { tool_calls: [{ id: 'c' }] },
    });
    const generations = [[{ text: '', message, generation_info: { finish_reason: 'tool_calls' } }]];
    expect(
      spanOf({ 'gen_ai.operation.name': 'chat', 'gen_ai.completion': json({ generations, llm_output: null }) }),
    ).toMatchObject({
      output: { ...assistant(''), tool_calls: [toolCall] },
      finish_reason: 'tool_calls',
    });
  });

  const state = [
    constructed('HumanMessage', { content: 'q' }),
    constructed('AIMessage', { content: '', tool_calls: calls }),
    constructed('ToolMessage', { content: '21', tool_call_id: 'c' }),
    constructed('AIMessage', { content: 'a' }),
  ];
  test.each<[string, Given]>([
    ['OpenInference', { 'input.value': json({ messages: [['user', 'q']] }), 'output.value': json({ messages: state }) }],
    [
      'OpenLLMetry',
      {
        'traceloop.entity.input': json({ inputs: { messages: [['user', 'q']] }, tags: ['t'], kwargs: {} }),
        'gen_ai.task.input': json({ inputs: { messages: [['user', 'q']] }, tags: ['t'], kwargs: {} }),
        'traceloop.entity.output': json({ outputs: { messages: state } }),
      },
    ],
    [
      'LangSmith, an update of it',
      {
        'gen_ai.prompt': json({ messages: [['user', 'q']] }),
        'gen_ai.completion': json({ output: [{ graph: null, update: { messages: state.slice(-1) }, resume: null, goto: [] }] }),
      },
    ],
  ])('the state of a graph, by %s', (_, attributes) => {
    const span = spanOf(attributes);
    expect(span).toMatchObject({ type: 'workflow', input: [user('q')], output: assistant('a') });
    expect(span.user_metadata).not.toHaveProperty('traceloop.entity.input');
    expect(span.user_metadata).not.toHaveProperty('gen_ai.task.input');
  });

  test('a tool message as the value of a tool', () => {
    const tool = { 'openinference.span.kind': 'TOOL', 'input.value': 'Bern' };
    const output = { type: 'tool', data: { content: '21 degrees', tool_call_id: 'c', status: 'success' } };
    expect(spanOf({ ...tool, 'output.value': json(output) })).toMatchObject({ output: '21 degrees', tool_call_id: 'c' });
    expect(spanOf({ ...tool, 'output.value': '{"content":"x"}' }).output).toBe('{"content":"x"}');
  });

  test('a tool message as the output of a tool', () => {
    const output = constructed('ToolMessage', { content: '21 degrees', tool_call_id: 'c', name: 'w' });
    const tool = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.prompt': '{"city": "Bern"}',
      'gen_ai.completion': json({ output }),
    };
    expect(spanOf(tool)).toMatchObject({ type: 'tool', input: '{"city": "Bern"}', output: '21 degrees' });
  });
});

describe('a conversation', () => {
  const messages = [
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'w', arguments: {} }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: '21' }] },
    { role: 'assistant', parts: [{ type: 'text', content: 'It is 21.' }] },
  ];
  test.each([
    ['an agent', 'invoke_agent'],
    ['a model that calls tools itself', 'chat'],
  ])('of %s ends with its answer, and all of it is kept', (_, operation) => {
    const span = spanOf({ 'gen_ai.operation.name': operation, 'gen_ai.output.messages': json(messages) });
    expect(span.output).toEqual(assistant('It is 21.'));
    const events = span.events ?? JSON.parse(span.user_metadata['gen_ai.output.events'] ?? '[]');
    expect(events).toMatchObject([{ role: 'assistant' }, { role: 'tool', content: '21' }]);
  });

  test('of an agent that only speaks ends with the last', () => {
    const said = [assistant('Let me see.'), assistant('It is 21.')];
    const attributes = { 'gen_ai.output.messages': json(said) };
    expect(spanOf({ ...attributes, 'gen_ai.operation.name': 'invoke_agent' }).output).toEqual(assistant('It is 21.'));
    expect(spanOf({ ...attributes, 'gen_ai.operation.name': 'chat' }).output).toEqual(assistant('Let me see.'));
  });

  test('in one message: the text is the answer, the result of the tool is not', () => {
    const parts = messages.flatMap((one): object[] => one.parts).reverse();
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.output.messages': json([{ role: 'assistant', parts }]),
    };
    expect(spanOf(attributes).output).toMatchObject({ content: 'It is 21.', tool_calls: [{ id: 'c' }] });
  });
});

describe('a form that says nothing', () => {
  const empty = [{ role: 'assistant', parts: [] }];
  test('hides none that does', () => {
    expect(
      spanOf({
        'gen_ai.operation.name': 'chat',
        'gen_ai.input.messages': json([{ role: 'user', parts: [{ type: 'text', content: '' }] }]),
        'gen_ai.output.messages': json(empty),
        'gen_ai.prompt.0.role': 'user',
        'gen_ai.prompt.0.content': 'q',
        'gen_ai.completion.0.role': 'assistant',
        'gen_ai.completion.0.content': 'a',
      }),
    ).toMatchObject({ input: [user('q')], output: assistant('a') });
  });

  test('of one convention hides none of another', () => {
    expect(
      spanOf({
        'openinference.span.kind': 'LLM',
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.content': '',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': '',
        'input.value': json({ messages: [user('q')] }),
        'output.value': 'a',
      }),
    ).toMatchObject({ input: [user('q')], output: assistant('a') });
  });

  test.each(['null', '""', '"null"'])('%s of a step is no output', (output) => {
    expect(spanOf({ 'traceloop.span.kind': 'task', 'traceloop.entity.output': output }).output).toBeUndefined();
  });
});

describe('a tool says what it was called with', () => {
  test.each<[string, Given, { name: string; attributes: Given }[]]>([
    [
      'in events',
      {},
      [
        { name: 'gen_ai.tool.message', attributes: { role: 'tool', content: '{"city": "Bern"}', id: 'c' } },
        { name: 'gen_ai.choice', attributes: { message: '[{"text": "21 degrees"}]', id: 'c' } },
      ],
    ],
    [
      'in the details of its operation',
      {},
      [
        {
          name: 'gen_ai.client.inference.operation.details',
          attributes: {
            'gen_ai.input.messages':
              '[{"role":"tool","parts":[{"type":"tool_call","id":"c","name":"w","arguments":"{\\"city\\": \\"Bern\\"}"}]}]',
          },
        },
        {
          name: 'gen_ai.client.inference.operation.details',
          attributes: {
            'gen_ai.output.messages': json([
              { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: [{ text: '21 degrees' }] }] },
            ]),
          },
        },
      ],
    ],
    ['in a prompt and its completion', { 'gen_ai.prompt': '{"city": "Bern"}', 'gen_ai.completion': '21 degrees' }, []],
    ['in attributes of the tool', { 'gen_ai.tool.input': '{"city": "Bern"}', 'gen_ai.tool.output': '21 degrees' }, []],
  ])('%s', (_, attributes, events) => {
    expect(spanOf({ 'gen_ai.operation.name': 'execute_tool', ...attributes }, events)).toMatchObject({
      type: 'tool',
      input: '{"city": "Bern"}',
      output: '21 degrees',
    });
  });
});

describe('the time to the first token', () => {
  test.each<[string, AttributeValue]>([
    ['gen_ai.response.time_to_first_chunk', 0.25],
    ['gen_ai.client.operation.time_to_first_chunk', 0.25],
    ['gen_ai.server.time_to_first_token', 0.25],
    ['gen_ai.server.time_to_first_token', 250],
    ['langfuse.observation.completion_start_time', `"${new Date(Number(START_NS / 1_000_000n) + 250).toISOString()}"`],
  ])('%s of %s', (name, value) => {
    const { metrics } = spanOf({ 'gen_ai.operation.name': 'chat', [name]: value });
    expect(metrics.time_to_first_token_ns).toBe(250_000_000);
  });
});

describe('what no reader knows', () => {
  test('is listed beside the metadata, settings of the conventions and what is around models is not', () => {
    const { user_metadata } = spanOf({
      'acme.prompt_text': 'q',
      'acme.score': 5,
      'gen_ai.request.max_tokens': 5,
      'gen_ai.request.model': 'm',
      'http.request.method': 'GET',
      'langfuse.trace.metadata.team': 'x',
      'gen_ai.future.thing': 'y',
    });
    expect(user_metadata['otel.unread']).toBe('acme.prompt_text, acme.score, gen_ai.future.thing');
    expect(user_metadata).toMatchObject({ 'acme.prompt_text': 'q', 'acme.score': '5', 'http.request.method': 'GET' });
    expect(spanOf({ input: 'q' }).user_metadata).not.toHaveProperty('otel.unread');
  });

  test('is a bounded list', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`acme.${n}${'x'.repeat(n)}`, n]));
    const list = spanOf(many).user_metadata['otel.unread'] ?? '';
    expect(list.length).toBeLessThan(1_300);
    expect(list).toMatch(/^acme\.0, .*, …$/);
  });
});
