import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbacks from '@langchain/core/callbacks/manager';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { getWeather, INSTRUCTIONS, MODEL, QUESTION, SESSION, start, USER } from './story.mjs';

const provider = start();
new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(callbacks);
const weather = tool(getWeather, { name: 'get_weather', schema: z.object({ city: z.string() }) });
const agent = createAgent({ model: new ChatOpenAI({ model: MODEL }), tools: [weather], systemPrompt: INSTRUCTIONS });
const metadata = { session_id: SESSION, user_id: USER };
await agent.invoke({ messages: [{ role: 'user', content: QUESTION }] }, { metadata });
await provider.shutdown();
