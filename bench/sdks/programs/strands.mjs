import { Agent, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { z } from 'zod';
import { getWeather, INSTRUCTIONS, MODEL, QUESTION, SESSION, start, USER } from './story.mjs';

const provider = start();
const agent = new Agent({
  model: new OpenAIModel({ modelId: MODEL, api: 'chat' }),
  systemPrompt: INSTRUCTIONS,
  printer: false,
  tools: [
    tool({
      name: 'get_weather',
      description: 'The weather in a city.',
      inputSchema: z.object({ city: z.string() }),
      callback: getWeather,
    }),
  ],
  traceAttributes: { 'session.id': SESSION, 'user.id': USER },
});
await agent.invoke(QUESTION);
await provider.shutdown();
