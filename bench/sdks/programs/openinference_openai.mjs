import { setSession, setUser } from '@arizeai/openinference-core';
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { context } from '@opentelemetry/api';
import OpenAI from 'openai';
import { chatTwice, SESSION, start, USER } from './story.mjs';

const provider = start();
const instrumentation = new OpenAIInstrumentation({ tracerProvider: provider });
instrumentation.manuallyInstrument(OpenAI);
const known = setUser(setSession(context.active(), { sessionId: SESSION }), { userId: USER });
await context.with(known, () =>
  provider.getTracer('app').startActiveSpan('answer', async (span) => {
    await chatTwice(new OpenAI());
    span.end();
  }),
);
await provider.shutdown();
