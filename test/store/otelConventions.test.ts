import { join } from 'node:path';
import { fc, test } from '@fast-check/vitest';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, expect } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { ingestOtelSpans } from '../../shared/otel/ingestOtelSpans.ts';
import { openOtlp } from '../../shared/otel/otlp.ts';
import { spanRecordId, traceRecordId } from '../../shared/otel/recordsOf.ts';
import { targetOfHeaders } from '../../shared/otel/target.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { startRecordService } from '../support/recordService.ts';

/** 20 s on a machine that has nothing else to do. */
const PATIENCE_MS = 300_000;

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService({});
});
afterAll(() => service[Symbol.asyncDispose]());

type Value = string | number | boolean | string[];
type Attributes = Record<string, Value>;
interface Event {
  name: string;
  attributes: Attributes;
}

// The calls of an application, in no convention's words.
interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
}
interface Call {
  does: 'chat';
  model: string;
  temperature: number;
  input: Message[];
  answer: string;
  toolCalls: { id: string; name: string; arguments: string }[];
  tokens: { input: number; cached: number; output: number };
  finishReason: string;
}
interface ToolUse {
  does: 'tool';
  tool: string;
  callId: string;
  arguments: string;
  result: string;
}
interface Retrieval {
  does: 'retrieval';
  query: string;
  documents: { content: string; id: string; score: number }[];
}
interface Step {
  does: 'agent' | 'workflow';
  name: string;
  question: string;
  answer: string;
}
type Act = Call | ToolUse | Retrieval | Step;

/** An act in the words of a convention, and what the interface then says of it. */
type Convention = (act: Act) => Said;
interface Said {
  attributes: Attributes;
  events?: Event[];
  expected: { type: string; metrics?: object };
}

const messageIn = ({ role, content }: Message) => ({ role, parts: [{ type: 'text', content }] });
const toolCalls = ({ toolCalls: calls }: Call) =>
  calls.length === 0
    ? {}
    : { tool_calls: calls.map(({ id, name, arguments: given }) => ({ id, function: { name, arguments: given } })) };

const kindOf = { chat: 'llm', tool: 'tool', retrieval: 'retriever', agent: 'agent', workflow: 'workflow' } as const;
const expectedCall = (call: Call) => ({
  ...{ type: 'llm', model: call.model, temperature: call.temperature, finish_reason: call.finishReason },
  input: call.input,
  output: { role: 'assistant', content: call.answer, ...toolCalls(call) },
  metrics: {
    num_input_tokens: call.tokens.input,
    num_output_tokens: call.tokens.output,
    num_total_tokens: call.tokens.input + call.tokens.output,
  },
});
const expectedOther = (act: Exclude<Act, Call>) => {
  if (act.does === 'tool') return { type: 'tool', tool_call_id: act.callId, input: act.arguments, output: act.result };
  if (act.does === 'retrieval')
    return {
      ...{ type: 'retriever', input: act.query },
      output: act.documents.map(({ content, id, score }) => ({ content, metadata: { id, score } })),
    };
  return { type: act.does, ...(act.does === 'agent' ? { agent_name: act.name } : {}) };
};

const agentName = (key: string, { does, name }: Step): Attributes => (does === 'agent' ? { [key]: name } : {});

const genAiCall = ({ model, temperature, tokens, finishReason }: Call): Attributes => ({
  ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'asked for' },
  ...{ 'gen_ai.response.model': model, 'gen_ai.request.temperature': temperature },
  ...{ 'gen_ai.usage.input_tokens': tokens.input, 'gen_ai.usage.output_tokens': tokens.output },
  ...{ 'gen_ai.usage.cache_read.input_tokens': tokens.cached, 'gen_ai.response.finish_reasons': [finishReason] },
});

/** The conventions of OpenTelemetry in their current form: messages as JSON in attributes. */
const genAi: Convention = (act) => {
  switch (act.does) {
    case 'chat': {
      const answer = [
        ...(act.answer === '' ? [] : [{ type: 'text', content: act.answer }]),
        ...act.toolCalls.map(({ id, name, arguments: given }) => ({ type: 'tool_call', id, name, arguments: given })),
      ];
      return {
        attributes: {
          ...genAiCall(act),
          'gen_ai.input.messages': JSON.stringify(act.input.map(messageIn)),
          'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: answer, finish_reason: act.finishReason }]),
        },
        expected: expectedCall(act),
      };
    }
    case 'tool':
      return {
        attributes: {
          ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': act.tool, 'gen_ai.tool.call.id': act.callId },
          ...{ 'gen_ai.tool.call.arguments': act.arguments, 'gen_ai.tool.call.result': act.result },
        },
        expected: expectedOther(act),
      };
    case 'retrieval':
      return {
        attributes: {
          ...{ 'gen_ai.operation.name': 'retrieval', 'gen_ai.retrieval.query.text': act.query },
          'gen_ai.retrieval.documents': JSON.stringify(act.documents),
        },
        expected: expectedOther(act),
      };
    default: {
      const operation = act.does === 'agent' ? 'invoke_agent' : 'invoke_workflow';
      return {
        attributes: {
          'gen_ai.operation.name': operation,
          ...agentName('gen_ai.agent.name', act),
          'gen_ai.input.messages': JSON.stringify([messageIn({ role: 'user', content: act.question })]),
          'gen_ai.output.messages': JSON.stringify([messageIn({ role: 'assistant', content: act.answer })]),
        },
        expected: {
          ...expectedOther(act),
          input: [{ role: 'user', content: act.question }],
          output: { role: 'assistant', content: act.answer },
        },
      };
    }
  }
};

/** The form before: one event for each message, and `gen_ai.choice`. */
const genAiEvents: Convention = (act) => {
  if (act.does !== 'chat') return genAi(act);
  const calls = act.toolCalls.map(({ id, name, arguments: given }) => ({
    ...{ id, type: 'function', function: { name, arguments: given } },
  }));
  const message = { content: act.answer, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  return {
    attributes: genAiCall(act),
    events: [
      ...act.input.map(({ role, content }) => ({ name: `gen_ai.${role}.message`, attributes: { content } })),
      {
        name: 'gen_ai.choice',
        attributes: { index: 0, finish_reason: act.finishReason, message: JSON.stringify(message) },
      },
    ],
    expected: expectedCall(act),
  };
};

/** The form of the instrumentations before there was a convention: numbered attributes. */
const numbered: Convention = (act) => {
  if (act.does !== 'chat') return genAi(act);
  const attributes: Attributes = { ...genAiCall(act), 'gen_ai.completion.0.role': 'assistant' };
  for (const [n, { role, content }] of act.input.entries()) {
    attributes[`gen_ai.prompt.${n}.role`] = role;
    attributes[`gen_ai.prompt.${n}.content`] = content;
  }
  attributes['gen_ai.completion.0.content'] = act.answer;
  attributes['gen_ai.completion.0.finish_reason'] = act.finishReason;
  for (const [n, call] of act.toolCalls.entries())
    for (const [key, value] of Object.entries(call)) attributes[`gen_ai.completion.0.tool_calls.${n}.${key}`] = value;
  return { attributes, expected: expectedCall(act) };
};

const openInference: Convention = (act) => {
  switch (act.does) {
    case 'chat': {
      const attributes: Attributes = {
        ...{ 'openinference.span.kind': 'LLM', 'llm.model_name': act.model, 'llm.finish_reason': act.finishReason },
        'llm.invocation_parameters': JSON.stringify({ temperature: act.temperature, max_tokens: 9 }),
        ...{ 'llm.token_count.prompt': act.tokens.input, 'llm.token_count.completion': act.tokens.output },
        ...{ 'llm.token_count.prompt_details.cache_read': act.tokens.cached },
        ...{ 'input.value': JSON.stringify({ messages: act.input }), 'input.mime_type': 'application/json' },
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': act.answer,
      };
      for (const [n, { role, content }] of act.input.entries()) {
        attributes[`llm.input_messages.${n}.message.role`] = role;
        attributes[`llm.input_messages.${n}.message.content`] = content;
      }
      for (const [n, { id, name, arguments: given }] of act.toolCalls.entries()) {
        const call = `llm.output_messages.0.message.tool_calls.${n}.tool_call`;
        attributes[`${call}.id`] = id;
        attributes[`${call}.function.name`] = name;
        attributes[`${call}.function.arguments`] = given;
      }
      return { attributes, expected: expectedCall(act) };
    }
    case 'tool':
      return {
        attributes: {
          ...{ 'openinference.span.kind': 'TOOL', 'tool.name': act.tool, 'tool_call.id': act.callId },
          ...{ 'input.value': act.arguments, 'output.value': act.result },
        },
        expected: expectedOther(act),
      };
    case 'retrieval': {
      const attributes: Attributes = { 'openinference.span.kind': 'RETRIEVER', 'input.value': act.query };
      for (const [n, { content, id, score }] of act.documents.entries()) {
        attributes[`retrieval.documents.${n}.document.content`] = content;
        attributes[`retrieval.documents.${n}.document.id`] = id;
        attributes[`retrieval.documents.${n}.document.score`] = score;
      }
      return { attributes, expected: expectedOther(act) };
    }
    default:
      return {
        attributes: {
          'openinference.span.kind': act.does === 'agent' ? 'AGENT' : 'CHAIN',
          ...agentName('agent.name', act),
          ...{ 'input.value': act.question, 'output.value': act.answer },
        },
        expected: { ...expectedOther(act), input: act.question, output: act.answer },
      };
  }
};

/** The AI SDK for TypeScript, which writes the model's calls with both. It knows neither retrieval nor agents. */
const vercelAi: Convention = (act) => {
  switch (act.does) {
    case 'chat': {
      const content = (role: string, text: string) => (role === 'system' ? text : [{ type: 'text', text }]);
      return {
        attributes: {
          ...{ 'ai.operationId': 'ai.generateText.doGenerate', 'ai.model.id': 'asked for', 'ai.response.model': act.model },
          ...{ 'ai.settings.temperature': act.temperature, 'ai.response.finishReason': act.finishReason },
          'ai.prompt.messages': JSON.stringify(
            act.input.map(({ role, content: one }) => ({ role, content: content(role, one) })),
          ),
          'ai.response.text': act.answer,
          'ai.response.toolCalls': JSON.stringify(
            act.toolCalls.map(({ id, name, arguments: given }) => ({ toolCallId: id, toolName: name, input: JSON.parse(given) })),
          ),
          ...{ 'gen_ai.usage.input_tokens': act.tokens.input, 'gen_ai.usage.output_tokens': act.tokens.output },
          'ai.usage.cachedInputTokens': act.tokens.cached,
        },
        expected: expectedCall(act),
      };
    }
    case 'tool':
      return {
        attributes: {
          ...{ 'ai.operationId': 'ai.toolCall', 'ai.toolCall.name': act.tool, 'ai.toolCall.id': act.callId },
          ...{ 'ai.toolCall.args': act.arguments, 'ai.toolCall.result': act.result },
        },
        expected: expectedOther(act),
      };
    case 'workflow':
      return {
        attributes: {
          ...{ 'ai.operationId': 'ai.generateText', 'ai.prompt': JSON.stringify({ prompt: act.question }) },
          'ai.response.text': act.answer,
        },
        expected: {
          ...expectedOther(act),
          input: [{ role: 'user', content: act.question }],
          output: { role: 'assistant', content: act.answer },
        },
      };
    default:
      return openInference(act);
  }
};

/** The two older forms of OpenTelemetry hold texts and JSON in the same place, so a text that is JSON may come back as what it says. */
const conventions: Record<string, Convention> = { genAi, genAiEvents, numbered, openInference, vercelAi };

const isJson = (text: string): boolean => /^\s*[[{"\d-]|^\s*(true|false|null)\s*$/.test(text);
const text = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    fc.constantFrom("it's", 'a "b"', 'line\nbreak', '💥 Été 日本語', 'back\\slash', '<b>', '\u0000', '__proto__'),
  )
  .filter((one) => one.isWellFormed() && one.trim() !== '' && !isJson(one));
const jsonText = fc
  .dictionary(fc.constantFrom('a', 'city', '__q'), fc.oneof(text, fc.integer()))
  .map((value) => JSON.stringify(value));
const name = fc.string({ unit: fc.constantFrom(...'abcXYZ_-1'), minLength: 1, maxLength: 8 });
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record<Call>({
      does: fc.constant('chat'),
      model: fc.constantFrom('gpt-4o-2024-08-06', 'my model', 'claude'),
      temperature: fc.integer({ min: 0, max: 16 }).map((n) => n / 8),
      input: fc.array(fc.record({ role: fc.constantFrom('system', 'user', 'assistant', 'tool'), content: text }), {
        minLength: 1,
        maxLength: 4,
      }),
      answer: text,
      toolCalls: fc.array(fc.record({ id: name, name, arguments: jsonText }), { maxLength: 2 }),
      tokens: fc
        .record({ input: fc.nat({ max: 10_000 }), share: fc.nat({ max: 100 }), output: fc.nat({ max: 5000 }) })
        .map(({ input, share, output }) => ({ input, cached: Math.floor((input * share) / 100), output })),
      finishReason: fc.constantFrom('stop', 'tool_calls', 'length'),
    }),
  },
  fc.record<ToolUse>({ does: fc.constant('tool'), tool: name, callId: name, arguments: jsonText, result: text }),
  fc.record<Retrieval>({
    does: fc.constant('retrieval'),
    query: text,
    documents: fc.array(
      fc.record({ content: text, id: name.map((one) => `d${one}`), score: fc.integer({ min: 1, max: 99 }).map((n) => n / 100) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  }),
  fc.record<Step>({ does: fc.constantFrom('agent', 'workflow'), name, question: text, answer: text }),
);

const otlp = openOtlp();
const root = new protobuf.Root();
root.resolvePath = (_origin, target) => join(import.meta.dirname, '../../shared/otel/definitions', target);
root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
const requestType = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');

const anyValue = (value: Value): object => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map(anyValue) } };
};
const pairs = (attributes: Attributes) => Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const hex = (n: number) => (n + 1).toString(16).padStart(16, '0');
const START_NS = 1_770_000_000_000_000_000n;

/** The bytes of a request; ids are hexadecimal in JSON and bytes in protobuf. */
function requestOf(spans: readonly Record<string, unknown>[], encoding: 'json' | 'protobuf'): Uint8Array {
  if (encoding === 'json') return Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  const inBytes = spans.map((span) => ({
    ...span,
    ...Object.fromEntries(
      ['traceId', 'spanId', 'parentSpanId'].flatMap((key) =>
        key in span ? [[key, Buffer.from(span[key] as string, 'hex')]] : [],
      ),
    ),
  }));
  return requestType.encode(requestType.fromObject({ resourceSpans: [{ scopeSpans: [{ spans: inBytes }] }] })).finish();
}

interface Tree {
  id: string;
  spans?: Tree[];
}
const everySpan = (tree: Tree): Tree[] => (tree.spans ?? []).flatMap((span) => [span, ...everySpan(span)]);
const caller = { userId: newId(), email: 'tester@example.com', role: 'admin' } as const;
const nowhere = targetOfHeaders({});
const messageOf = (failed: boolean) => (failed ? { status_code: 500, error_message: 'broke' } : { status_code: 200 });

test.prop(
  [
    fc.array(fc.record({ act, failed: fc.boolean(), above: fc.nat({ max: 20 }), note: text }), { minLength: 1, maxLength: 6 }),
    fc.constantFrom(...Object.keys(conventions)),
    fc.constantFrom('json' as const, 'protobuf' as const),
  ],
  { numRuns: propertyRuns(25) },
)(
  'what an application says in any convention is what the interface says of it',
  async (acts, convention, encoding) => {
    const space = service.space();
    const said = acts.map(({ act: one }) => (conventions[convention] as Convention)(one));
    const spans = acts.map(({ failed, above, note }, n) => ({
      ...{ traceId: TRACE, spanId: hex(n), ...(n === 0 ? {} : { parentSpanId: hex(above % n) }) },
      ...{ name: `span ${n}`, kind: 1 },
      startTimeUnixNano: String(START_NS + BigInt(n) * 1_000_000_000n),
      endTimeUnixNano: String(START_NS + BigInt(n) * 1_000_000_000n + 5_000_000n),
      attributes: pairs({ ...(said[n]?.attributes as Attributes), 'app.note': note }),
      events: (said[n]?.events ?? []).map(({ name: event, attributes }) => ({
        ...{ timeUnixNano: String(START_NS), name: event, attributes: pairs(attributes) },
      })),
      status: failed ? { code: 2, message: 'broke' } : { code: 1 },
    }));
    const read = otlp.readRequest(requestOf(spans, encoding), encoding);
    const result = await ingestOtelSpans({ writer: service.writer, findTarget: async () => space.run }, caller, nowhere, read);
    expect(result).toMatchObject({ rejectedSpans: 0, errorMessage: '' });

    const { status, body: trace } = await space.get(`/traces/${traceRecordId(space.run, TRACE)}`);
    expect(status).toBe(200);
    const found = new Map(everySpan(trace as Tree).map((span) => [span.id, span]));
    expect(found.size).toBe(acts.length);
    for (const [n, { failed, note, above }] of acts.entries()) {
      const { expected } = said[n] as Said;
      const seconds = String(n).padStart(2, '0');
      expect(found.get(spanRecordId(space.run, TRACE, hex(n)))).toMatchObject({
        name: `span ${n}`,
        ...expected,
        ...messageOf(failed),
        created_at: `2026-02-02T02:40:${seconds}.000000Z`,
        parent_id: n === 0 ? trace.id : spanRecordId(space.run, TRACE, hex(above % n)),
        user_metadata: { 'app.note': note },
        metrics: { ...expected.metrics, duration_ns: 5_000_000 },
      });
    }
    // The columns that a search looks at say the same.
    for (const [n, { act: one }] of acts.entries()) {
      const filters = [
        { type: 'text', column_id: 'type', operator: 'eq', value: kindOf[one.does] },
        { type: 'id', column_id: 'id', value: spanRecordId(space.run, TRACE, hex(n)) },
        ...(one.does === 'chat'
          ? [
              { type: 'text', column_id: 'model', operator: 'eq', value: one.model },
              { type: 'number', column_id: 'metrics/num_input_tokens', operator: 'eq', value: one.tokens.input },
            ]
          : []),
      ];
      expect(await space.search('spans', filters)).toHaveLength(1);
    }
  },
  PATIENCE_MS,
);

test('cached tokens beside the input tokens are counted once, whichever way they are reported', async () => {
  const space = service.space();
  const usage = (input: number, cached: number) => ({
    'gen_ai.operation.name': 'chat',
    ...{ 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.cache_read.input_tokens': cached, 'gen_ai.usage.output_tokens': 1 },
  });
  const spans = [usage(100, 60), usage(40, 60)].map((attributes, n) => ({
    ...{ traceId: TRACE, spanId: hex(n), name: 'chat', attributes: pairs(attributes) },
    ...{ startTimeUnixNano: String(START_NS), endTimeUnixNano: String(START_NS + 1n) },
  }));
  const read = otlp.readRequest(requestOf(spans, 'protobuf'), 'protobuf');
  await ingestOtelSpans({ writer: service.writer, findTarget: async () => space.run }, caller, nowhere, read);
  const found = await space.search('spans');
  expect(found.map((span: { metrics: { num_input_tokens: number } }) => span.metrics.num_input_tokens)).toEqual([100, 100]);
});
