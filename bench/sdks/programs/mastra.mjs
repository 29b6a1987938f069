import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';
import { z } from 'zod';
import { getWeather, INSTRUCTIONS, MODEL, QUESTION, SESSION, USER } from './story.mjs';

const weather = createTool({
  id: 'get_weather',
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async (input) => getWeather(input.context ?? input),
});
const agent = new Agent({
  id: 'weather',
  name: 'weather',
  instructions: INSTRUCTIONS,
  model: createOpenAI().chat(MODEL),
  tools: { get_weather: weather },
});
const headers = Object.fromEntries(
  process.env.OTEL_EXPORTER_OTLP_HEADERS.split(',')
    .map((one) => one.split('='))
    .map(([name, value]) => [name, decodeURIComponent(value)]),
);
const exporter = new OtelExporter({
  provider: { custom: { endpoint: `${process.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`, protocol: 'http/protobuf', headers } },
});
const mastra = new Mastra({
  agents: { weather: agent },
  observability: new Observability({ configs: { otel: { serviceName: 'weather', exporters: [exporter] } } }),
});
const tracingOptions = { metadata: { sessionId: SESSION, userId: USER } };
await mastra.getAgent('weather').generate(QUESTION, { tracingOptions });
await exporter.flush?.();
await exporter.shutdown();
