import { createOpenAI } from '@ai-sdk/openai';
import { OpenTelemetry } from '@ai-sdk/otel';
import { generateText, registerTelemetry, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { getWeather, INSTRUCTIONS, MODEL, QUESTION, start } from './story.mjs';

const provider = start();
registerTelemetry(new OpenTelemetry());
await generateText({
  model: createOpenAI().chat(MODEL),
  instructions: INSTRUCTIONS,
  prompt: QUESTION,
  tools: { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async (input) => getWeather(input) }) },
  stopWhen: stepCountIs(3),
  telemetry: { isEnabled: true, functionId: 'answer' },
});
await provider.shutdown();
