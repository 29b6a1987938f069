import openAI from '@genkit-ai/compat-oai/openai';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { genkit, z } from 'genkit';
import { enableTelemetry, flushTracing } from 'genkit/tracing';

await enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
const [MODEL, INSTRUCTIONS, QUESTION] = ['gpt-4o-mini', 'Answer in one sentence.', 'What is the weather in Zürich?'];
const ai = genkit({ plugins: [openAI()] });
const weather = ai.defineTool(
  { name: 'get_weather', description: 'The weather in a city.', inputSchema: z.object({ city: z.string() }) },
  async ({ city }) => `21 degrees in ${city}`,
);
const answer = ai.defineFlow('answer', async (question) => {
  const { text } = await ai.generate({ model: `openai/${MODEL}`, system: INSTRUCTIONS, prompt: question, tools: [weather] });
  return text;
});
await answer(QUESTION);
await flushTracing();
process.exit(0);
