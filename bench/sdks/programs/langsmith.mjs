import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { initializeOTEL } from 'langsmith/experimental/otel/setup';
import { traceable } from 'langsmith/traceable';
import { wrapOpenAI } from 'langsmith/wrappers';
import OpenAI from 'openai';
import { chatTwice, QUESTION, SESSION, USER } from './story.mjs';

const { DEFAULT_LANGSMITH_SPAN_PROCESSOR } = initializeOTEL({ spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter()) });
const client = wrapOpenAI(new OpenAI());
const answer = traceable((_question) => chatTwice(client), {
  name: 'answer',
  metadata: { session_id: SESSION, user_id: USER },
});
await answer(QUESTION);
await DEFAULT_LANGSMITH_SPAN_PROCESSOR.shutdown();
