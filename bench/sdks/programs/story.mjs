/** What the programs share: the question, the tool, and an exporter by OTLP that follows the environment. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

export const MODEL = 'gpt-4o-mini';
export const INSTRUCTIONS = 'Answer in one sentence.';
export const QUESTION = 'What is the weather in Zürich?';
export const SESSION = 'session-1';
export const USER = 'user-1';

export const getWeather = ({ city }) => `21 degrees in ${city}`;
export const about = {
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** @param processors come before the one that exports */
export function start(...processors) {
  const provider = new NodeTracerProvider({ spanProcessors: [...processors, new BatchSpanProcessor(new OTLPTraceExporter())] });
  provider.register();
  return provider;
}

/** A call of the model that asks for the tool, and a streamed one that answers. */
export async function chatTwice(client) {
  const tools = [{ type: 'function', function: about }];
  const messages = [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: QUESTION },
  ];
  const asked = await client.chat.completions.create({ model: MODEL, messages, tools, temperature: 0.5 });
  const { message } = asked.choices[0];
  const [call] = message.tool_calls;
  const content = getWeather(JSON.parse(call.function.arguments));
  messages.push(message, { role: 'tool', tool_call_id: call.id, content });
  const options = { stream: true, stream_options: { include_usage: true } };
  let answer = '';
  for await (const chunk of await client.chat.completions.create({ model: MODEL, messages, tools, ...options }))
    answer += chunk.choices[0]?.delta.content ?? '';
  return answer;
}
