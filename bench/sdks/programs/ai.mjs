import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { getWeather, INSTRUCTIONS, MODEL, QUESTION, SESSION, start, USER } from './story.mjs';

const provider = start();
await generateText({
  model: createOpenAI().chat(MODEL),
  system: INSTRUCTIONS,
  prompt: QUESTION,
  tools: { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async (input) => getWeather(input) }) },
  stopWhen: stepCountIs(3),
  experimental_telemetry: { isEnabled: true, functionId: 'answer', metadata: { sessionId: SESSION, userId: USER } },
});
await provider.shutdown();
