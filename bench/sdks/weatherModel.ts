import type { ServerResponse } from 'node:http';
import type { Answer, ReceivedRequest } from '../../test/support/modelEndpoint.ts';

/** The question of every program, and the expected answers. */
export const story = {
  question: 'What is the weather in Zürich?',
  city: 'Zürich',
  /** The answer of the tool `get_weather`. */
  weather: '21 degrees in Zürich',
  answer: 'It is 21 degrees in Zürich.',
  model: 'gpt-4o-mini-2024-07-18',
} as const;

/** Tokens of the call that asks for the tool, and of the one that answers. */
export const usageOfCalls = [
  { input: 100, cached: 40, output: 20, reasoning: 0 },
  { input: 130, cached: 0, output: 12, reasoning: 5 },
] as const;

type Usage = (typeof usageOfCalls)[number];

interface Turn {
  usage: Usage;
  /** The model's call of a tool; absent when it answers. */
  tool?: { name: string; arguments: string };
}

/**
 * A model that asks for the weather by the tool it was given, and answers when it has it. It speaks OpenAI's chat completions and responses, whole and
 * streamed, and by a tool `final_answer` where the request has one.
 */
export const answersWeather: Answer = ({ path, body }: ReceivedRequest, response) => {
  const turn = turnOf(body);
  if (path.endsWith('/responses')) respond(turn, body, response);
  else if (path.endsWith('/chat/completions')) complete(turn, body, response);
  else response.writeHead(404, { 'content-type': 'application/json' }).end('{"error": {"message": "no such path"}}');
};

function turnOf(body: Record<string, unknown>): Turn {
  const tools = JSON.stringify(body.tools ?? []);
  const hasWeather = JSON.stringify(body.messages ?? body.input ?? '').includes(story.weather);
  if (!hasWeather && tools.includes('get_weather'))
    return { usage: usageOfCalls[0], tool: { name: 'get_weather', arguments: JSON.stringify({ city: story.city }) } };
  if (!tools.includes('"final_answer"')) return { usage: usageOfCalls[1] };
  return { usage: usageOfCalls[1], tool: { name: 'final_answer', arguments: JSON.stringify({ answer: story.answer }) } };
}

function complete({ usage, tool }: Turn, { stream, stream_options }: Record<string, unknown>, response: ServerResponse): void {
  const about = { id: 'chatcmpl-1', created: 1_760_000_000, model: story.model };
  const call = tool && { id: 'call_1', type: 'function', function: tool };
  const finish_reason = tool ? 'tool_calls' : 'stop';
  const used = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
  if (!stream) {
    const message = {
      role: 'assistant',
      content: call ? null : story.answer,
      refusal: null,
      ...(call && { tool_calls: [call] }),
    };
    const choices = [{ index: 0, message, finish_reason, logprobs: null }];
    json(response, { ...about, object: 'chat.completion', choices, usage: used });
    return;
  }
  const words = story.answer.split(/(?<= )/);
  const deltas: object[] = call
    ? [{ role: 'assistant', content: null, tool_calls: [{ index: 0, ...call }] }]
    : words.map((content, index) => ({ ...(index === 0 && { role: 'assistant' }), content }));
  const chunk = (choices: object[], more: object = {}) => ({ ...about, object: 'chat.completion.chunk', choices, ...more });
  const chunks = deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }]));
  chunks.push(chunk([{ index: 0, delta: {}, finish_reason }]));
  const wantsUsage = typeof stream_options === 'object' && stream_options !== null && 'include_usage' in stream_options;
  if (wantsUsage) chunks.push(chunk([], { usage: used }));
  events(response, [...chunks.map((one) => `data: ${JSON.stringify(one)}`), 'data: [DONE]']);
}

function respond(
  { usage, tool }: Turn,
  { stream, tools = [], instructions = null }: Record<string, unknown>,
  response: ServerResponse,
): void {
  const item = tool
    ? { type: 'function_call', id: 'fc_1', call_id: 'call_1', status: 'completed', ...tool }
    : {
        ...{ type: 'message', id: 'msg_1', status: 'completed', role: 'assistant' },
        content: [{ type: 'output_text', text: story.answer, annotations: [] }],
      };
  const whole = {
    ...{ id: 'resp_1', object: 'response', created_at: 1_760_000_000, status: 'completed', model: story.model },
    ...{ output: [item], parallel_tool_calls: true, tool_choice: 'auto', tools, error: null, instructions },
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.input + usage.output,
    },
  };
  if (!stream) {
    json(response, whole);
    return;
  }
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const all = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: tool ? { ...item, arguments: '' } : { ...item, content: [] } },
    ...(tool
      ? [{ type: 'response.function_call_arguments.done', ...place, arguments: tool.arguments }]
      : [
          { type: 'response.content_part.added', ...place, part: { type: 'output_text', text: '', annotations: [] } },
          { type: 'response.output_text.delta', ...place, delta: story.answer, logprobs: [] },
          { type: 'response.output_text.done', ...place, text: story.answer, logprobs: [] },
        ]),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ];
  events(
    response,
    all.map((one, index) => `event: ${one.type}\ndata: ${JSON.stringify({ ...one, sequence_number: index })}`),
  );
}

const json = (response: ServerResponse, body: unknown): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const events = (response: ServerResponse, lines: readonly string[]): void =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(lines.map((line) => `${line}\n\n`).join(''));
