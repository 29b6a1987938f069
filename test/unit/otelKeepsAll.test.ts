import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { Attributes, type AttributeValue } from '../../shared/otel/attributes.ts';
import { mapSpan } from '../../shared/otel/mapSpan.ts';

/** Makes a word that stands nowhere else. */
type Word = () => string;
type Given = Record<string, AttributeValue>;
interface Said {
  attributes: Given;
  events?: { name: string; attributes: Given }[];
}

const json = JSON.stringify;

/** Spans in one form of one convention each, with a word of its own in every place that can hold one. */
const forms: Record<string, (word: Word) => Said> = {
  openInference: (word) => ({
    attributes: {
      'llm.model_name': word(),
      'llm.finish_reason': word(),
      'llm.invocation_parameters': json({ temperature: 0.5, stop: word() }),
      'llm.prompt_template.template': word(),
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': word(),
      'llm.input_messages.0.message.name': word(),
      'llm.input_messages.1.message.role': 'tool',
      'llm.input_messages.1.message.tool_call_id': word(),
      'llm.input_messages.1.message.contents.0.message_content.text': word(),
      'llm.input_messages.1.message.contents.1.message_content.file': word(),
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': word(),
      'llm.output_messages.0.message.refusal': word(),
      'llm.output_messages.1.message.role': 'assistant',
      'llm.output_messages.1.message.tool_calls.0.tool_call.id': word(),
      'llm.output_messages.1.message.tool_calls.0.tool_call.function.name': word(),
      'llm.output_messages.1.message.tool_calls.0.tool_call.function.arguments': word(),
      'llm.output_messages.2.message.role': 'assistant',
      'llm.output_messages.2.message.content': word(),
      'llm.output_messages.2.message.tool_calls.0.tool_call.function.name': word(),
      'llm.tools.0.tool.json_schema': json({ name: word() }),
      metadata: json({ team: word() }),
      'tag.tags': [word()],
      'session.id': word(),
      'user.id': word(),
    },
  }),
  genAi: (word) => ({
    attributes: {
      'gen_ai.request.model': word(),
      'gen_ai.request.seed': word(),
      'gen_ai.request.temperature': 0.25,
      'gen_ai.response.finish_reasons': [word()],
      'gen_ai.system_instructions': json([{ type: 'text', content: word() }]),
      'gen_ai.input.messages': json([
        {
          role: 'user',
          parts: [
            { type: 'text', content: word() },
            { type: 'uri', modality: 'image', uri: word() },
          ],
        },
        { role: 'assistant', parts: [{ type: 'tool_call', id: word(), name: word(), arguments: { a: word() } }] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: word(), response: word(), error: word() }] },
      ]),
      'gen_ai.output.messages': json([
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', content: word() },
            { type: 'text', content: word() },
          ],
        },
        {
          role: 'assistant',
          parts: [
            { type: 'text', content: word() },
            { type: 'tool_call', id: word(), name: word(), arguments: word() },
          ],
          finish_reason: word(),
        },
      ]),
      'gen_ai.tool.definitions': json([{ name: word() }]),
      'gen_ai.conversation.id': word(),
      'server.address': word(),
    },
    events: [{ name: 'cache.miss', attributes: { key: word() } }],
  }),
  genAiEvents: (word) => ({
    attributes: { 'gen_ai.request.model': word(), 'gen_ai.system': word() },
    events: [
      { name: 'gen_ai.user.message', attributes: { content: word() } },
      {
        name: 'gen_ai.tool.message',
        attributes: {
          content: json([{ toolResult: { toolUseId: word(), content: [{ text: word() }], status: word() } }]),
          'gen_ai.tool.name': word(),
        },
      },
      {
        name: 'gen_ai.choice',
        attributes: { index: 1, message: json({ content: word() }), finish_reason: word(), confidence: word() },
      },
      {
        name: 'gen_ai.choice',
        attributes: {
          index: 0,
          finish_reason: word(),
          confidence: word(),
          'gen_ai.response.id': word(),
          message: json([{ text: word() }, { toolUse: { toolUseId: word(), name: word(), input: { a: word() } } }]),
        },
      },
    ],
  }),
  instructionsBesideEvents: (word) => ({
    attributes: { 'gen_ai.request.model': word(), 'gen_ai.system_instructions': word() },
    events: [
      { name: 'gen_ai.user.message', attributes: { content: word() } },
      { name: 'gen_ai.choice', attributes: { message: json({ answer: word() }), finish_reason: word() } },
    ],
  }),
  responses: (word) => ({
    attributes: {
      'gen_ai.request.model': word(),
      'gen_ai.input.messages': json([
        { role: 'user', content: word() },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'reasoning', id: 'rs_2', content: null, summary: [{ type: 'summary_text', text: word() }] },
        { type: 'function_call', id: 'fc_1', call_id: word(), name: word(), arguments: word() },
        { type: 'function_call_output', id: 'fco_1', call_id: word(), output: word() },
      ]),
      'gen_ai.output.messages': json([
        { type: 'reasoning', content: null, summary: [{ type: 'summary_text', text: word() }] },
        { type: 'function_call', id: 'fc_2', call_id: word(), name: word(), arguments: word() },
      ]),
    },
  }),
  answersOfTheApplicationsForm: (word) => ({
    attributes: {
      'gen_ai.request.model': word(),
      'gen_ai.input.messages': json({ question: word() }),
      'gen_ai.output.messages': json({ answer: word(), content: word() }),
      'gen_ai.tool.definitions': json({ one: word() }),
      'gen_ai.retrieval.documents': json({ one: word() }),
      metadata: json([word()]),
      'error.type': word(),
    },
  }),
  wholeInTheApplicationsForm: (word) => ({
    attributes: {
      'gen_ai.request.model': word(),
      'gen_ai.prompt': json({ question: word() }),
      'gen_ai.completion': json({ answer: word() }),
    },
  }),
  listInTheApplicationsForm: (word) => ({
    attributes: { 'gen_ai.request.model': word() },
    events: [{ name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': json([word(), { answer: word() }]) } }],
  }),
  numbered: (word) => ({
    attributes: {
      'gen_ai.request.model': word(),
      'llm.headers': word(),
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': word(),
      'gen_ai.prompt.0.name': word(),
      'gen_ai.completion.0.role': 'thinking',
      'gen_ai.completion.0.content': word(),
      'gen_ai.completion.1.role': 'assistant',
      'gen_ai.completion.1.content': word(),
      'gen_ai.completion.1.finish_reason': word(),
      'gen_ai.completion.1.function_call.name': word(),
      'gen_ai.completion.1.function_call.arguments': word(),
      'gen_ai.completion.2.role': 'assistant',
      'gen_ai.completion.2.tool_calls.0.id': word(),
      'gen_ai.completion.2.tool_calls.0.name': word(),
      'gen_ai.completion.2.tool_calls.0.arguments': word(),
    },
  }),
  vercelAi: (word) => ({
    attributes: {
      'ai.operationId': 'ai.streamText.doStream',
      'ai.model.id': word(),
      'ai.settings.maxOutputTokens': word(),
      'ai.prompt.messages': json([
        { role: 'system', content: word() },
        {
          role: 'user',
          content: [
            { type: 'text', text: word() },
            { type: 'image', image: word() },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: word(), toolName: word(), input: { a: word() } }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: word(), toolName: 'same', output: { type: 'text', value: word() } }],
        },
      ]),
      'ai.prompt.tools': [json({ type: 'function', name: word() })],
      'ai.response.text': word(),
      'ai.response.reasoning': word(),
      'ai.response.toolCalls': json([{ toolCallId: word(), toolName: word(), input: word() }]),
      'ai.response.finishReason': word(),
      'ai.telemetry.metadata.sessionId': word(),
      'ai.telemetry.metadata.user': word(),
    },
  }),
  tool: (word) => ({
    attributes: {
      'gen_ai.tool.name': word(),
      'gen_ai.tool.call.id': word(),
      'gen_ai.tool.call.arguments': word(),
      'gen_ai.tool.call.result': word(),
      'gen_ai.tool.description': word(),
    },
  }),
  documents: (word) => ({
    attributes: {
      'input.value': word(),
      'retrieval.documents.0.document.content': word(),
      'retrieval.documents.0.document.id': word(),
      'retrieval.documents.0.document.score': 0.5,
      'retrieval.documents.0.document.metadata': json({ page: word() }),
      'retrieval.documents.0.document.language': word(),
    },
  }),
  documentsInMessages: (word) => ({
    attributes: {
      'db.operation': 'search',
      'gen_ai.input.messages': json([{ role: 'user', content: word() }]),
      'gen_ai.output.messages': json([
        {
          role: 'assistant',
          content: { documents: [{ content: word(), metadata: { page: word() }, score: 0.5, lang: word() }] },
        },
      ]),
    },
  }),
  documentsInOlderForms: (word) => ({
    attributes: {
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': word(),
      'gen_ai.prompt.1.role': 'user',
      'gen_ai.prompt.1.content': word(),
      'gen_ai.completion.0.content': json({
        documents: [
          { content: word(), lang: word() },
          { content: word(), metadata: [word()] },
        ],
      }),
      'gen_ai.completion.0.finish_reason': word(),
      'gen_ai.completion.1.content': word(),
    },
  }),
  documentsInWrappedMessage: (word) => ({
    attributes: {
      'traceloop.entity.input': word(),
      'traceloop.entity.output': json({
        messages: [{ type: 'tool', id: word(), name: word(), content: json([{ page_content: word(), type: 'Document' }]) }],
      }),
    },
  }),
  langfuse: (word) => ({
    attributes: {
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': word(),
      'langfuse.observation.input': json({ messages: [{ role: 'user', content: word() }], tools: [word()] }),
      'langfuse.observation.output': json({ role: 'assistant', content: word() }),
      'langfuse.observation.metadata': json({ team: word() }),
      'langfuse.trace.metadata.team': word(),
      'langfuse.trace.input': word(),
      'langfuse.trace.tags': [word()],
      'langfuse.session.id': word(),
      'langfuse.user.id': word(),
      'langfuse.experiment.item.expected_output': word(),
      'acme.dataset.metadata': json({ topic: word() }),
    },
  }),
  langSmith: (word) => ({
    attributes: {
      'gen_ai.prompt': json({
        messages: [
          [{ lc: 1, type: 'constructor', id: ['langchain', 'HumanMessage'], kwargs: { content: word(), name: word() } }],
        ],
        stop: word(),
      }),
      'gen_ai.completion': json({
        generations: [[{ text: 'a', message: { type: 'ai', data: { content: word(), additional_kwargs: { note: word() } } } }]],
        run: word(),
      }),
      'langsmith.metadata.thread_id': word(),
      'langsmith.span.tags': word(),
    },
  }),
  agentDevelopmentKit: (word) => ({
    attributes: {
      'gcp.vertex.agent.llm_request': json({
        config: { system_instruction: word(), labels: word() },
        contents: [{ role: 'user', parts: [{ text: word() }, { inline_data: { mime_type: 'image/png', data: word() } }] }],
      }),
      'gcp.vertex.agent.llm_response': json({ content: { role: 'model', parts: [{ text: word() }] }, grounding: word() }),
      'gcp.vertex.agent.session_id': word(),
    },
  }),
  genkit: (word) => ({
    attributes: {
      'genkit:metadata:subtype': 'model',
      'genkit:name': word(),
      'genkit:input': json({ messages: [{ role: 'user', content: [{ text: word() }] }], config: { topK: word() } }),
      'genkit:output': json({ message: { role: 'model', content: [{ text: word() }] }, finishReason: word(), custom: word() }),
    },
  }),
  conversationOfAgent: (word) => ({
    attributes: {
      'gen_ai.output.messages': json([
        { role: 'assistant', parts: [{ type: 'tool_call', id: word(), name: word(), arguments: { a: word() } }] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: word(), note: word() }] },
        {
          role: 'assistant',
          parts: [
            { type: 'text', content: word() },
            { type: 'tool_call_response', id: 'c', response: word() },
          ],
        },
      ]),
    },
  }),
  toolInEvents: (word) => ({
    attributes: { 'gen_ai.tool.call.id': word() },
    events: [
      { name: 'gen_ai.tool.message', attributes: { role: 'tool', content: json({ city: word() }), id: word() } },
      { name: 'gen_ai.choice', attributes: { message: json([{ text: word() }]), id: 'c' } },
    ],
  }),
  resultsOfDatabase: (word) => ({
    attributes: { 'db.operation': 'query', 'db.collection.name': word(), 'output.value': word() },
    events: [
      { name: 'db.query.embeddings', attributes: { 'db.query.embeddings.vector': word() } },
      {
        name: 'db.query.result',
        attributes: {
          'db.query.result.id': word(),
          'db.query.result.vector': word(),
          'db.query.result.metadata': json({ page: word() }),
          'db.query.result.document': word(),
          'db.query.result.entity': word(),
          title: word(),
        },
      },
    ],
  }),
  documentsAndMore: (word) => ({
    attributes: {
      'gen_ai.input.messages': json([
        { role: 'system', content: word() },
        { role: 'user', content: word() },
      ]),
      'gen_ai.output.messages': json([{ role: 'assistant', content: { documents: [{ content: word() }], note: word() } }]),
      'gen_ai.retrieval.documents': json([{ page_content: word(), text: word(), metadata: word() }, word()]),
    },
  }),
  agentRun: (word) => ({
    attributes: {
      agent_name: word(),
      'gen_ai.system_instructions': json([{ type: 'text', content: word() }]),
      'pydantic_ai.all_messages': json([
        { role: 'user', parts: [{ type: 'text', content: word() }] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: word(), name: word(), arguments: word() }] },
        { role: 'user', parts: [{ type: 'tool_call_response', id: word(), name: 'same', result: word() }] },
      ]),
      final_result: word(),
    },
  }),
};

const failures = (word: Word): Said['events'] => [
  { name: 'exception', attributes: { 'exception.type': word(), 'exception.message': word() } },
  {
    name: 'exception',
    attributes: { 'exception.type': word(), 'exception.message': word(), 'exception.stacktrace': word(), 'app.part': word() },
  },
];

const kinds = fc.constantFrom(
  {},
  ...['chat', 'invoke_agent', 'execute_tool', 'retrieval', 'embeddings', 'other'].map((name) => ({
    'gen_ai.operation.name': name,
  })),
  { 'traceloop.span.kind': 'task' },
  { 'db.operation.name': 'search' },
  ...['LLM', 'AGENT', 'TOOL', 'RETRIEVER', 'CHAIN', 'EMBEDDING'].map((name) => ({ 'openinference.span.kind': name })),
);
const statuses = fc.constantFrom(true, false, undefined);

describe('everything that a span says is in its record', () => {
  test.prop([fc.constantFrom(...Object.keys(forms)), kinds, fc.boolean(), statuses, fc.boolean()], { numRuns: 3_000 })(
    'whatever the form and the kind it is of',
    (form, kind, hasFailures, failed, hasMessage) => {
      const words: string[] = [];
      const word = () => `w${(words.push(`w${words.length}x`) - 1).toString()}x`;
      const said = (forms[form] as (word: Word) => Said)(word);
      const events = [...(said.events ?? []), ...(hasFailures ? (failures(word) ?? []) : [])];
      const of = (given: Given) => Attributes.of(Object.entries(given));
      const mapped = mapSpan({
        traceId: '5b8efff798038103d269b633813fc60c',
        spanId: 'eee19b7ec3c1b174',
        parentId: undefined,
        parentIsRemote: false,
        name: word(),
        side: 'client',
        traceState: word(),
        startNs: 5n,
        endNs: 9n,
        failed,
        statusMessage: hasMessage ? word() : '',
        attributes: of({ ...said.attributes, ...kind }),
        events: events.map(({ name, attributes }) => ({ name, atNs: 7n, attributes: of(attributes) })),
        links: [{ traceId: word(), spanId: word(), traceState: word(), attributes: of({ reason: word() }) }],
        resource: of({ 'service.name': word(), team: word() }),
        scope: { name: word(), version: word(), attributes: of({ library: word() }) },
      });
      const record = json(mapped);
      const missing = words.filter((one) => !record.includes(one));
      expect(missing).toEqual([]);
    },
  );
});
