import { z } from 'zod';
import { Uuid } from './common.ts';
import {
  AnyObject,
  agentTypes,
  ContentParts,
  ControlResult,
  controlAppliesTo,
  controlCheckStages,
  Document,
  Int32,
  LlmEvent,
  LlmMetrics,
  LoggedMessage,
  Metrics,
  StepInput,
  StepOutput,
  Text,
  TextMap,
  TraceInput,
} from './recordParts.ts';
import { RecordTime } from './time.ts';

// Records as clients send them. Both published clients are served: one writes every key (null when empty), the other leaves empty keys out.
// A bare string where messages or documents belong is taken too, as the clients themselves would have turned it.

const commonFields = {
  id: Uuid.nullish(),
  session_id: Uuid.nullish(),
  trace_id: Uuid.nullish(),
  parent_id: Uuid.nullish(),
  step_number: Int32.nullish(),
  name: Text.nullish(),
  created_at: RecordTime.nullish(),
  user_metadata: TextMap.nullish(),
  tags: z.array(Text).nullish(),
  status_code: Int32.nullish(),
  error_message: Text.nullish(),
  external_id: Text.nullish(),
  dataset_input: Text.nullish(),
  dataset_output: Text.nullish(),
  dataset_metadata: TextMap.nullish(),
  metrics: Metrics.nullish(),
};

const stepFields = {
  ...commonFields,
  input: StepInput.nullish(),
  redacted_input: StepInput.nullish(),
  output: StepOutput.nullish(),
  redacted_output: StepOutput.nullish(),
};

const messagesOf = (role: LoggedMessage['role']) =>
  z.union([
    z.array(LoggedMessage),
    LoggedMessage.transform((message) => [message]),
    Text.transform((content): LoggedMessage[] => [{ role, content }]),
  ]);
const answer = z.union([LoggedMessage, Text.transform((content): LoggedMessage => ({ role: 'assistant', content }))]);
const textDocument = Text.transform((content): z.output<typeof Document> => ({ content }));
const documents = z.union([
  z.array(z.union([Document, textDocument])),
  z.union([Document, textDocument]).transform((one) => [one]),
]);

const LlmSpan = z.object({
  type: z.literal('llm'),
  ...commonFields,
  metrics: LlmMetrics.nullish(),
  input: messagesOf('user').nullish(),
  redacted_input: messagesOf('user').nullish(),
  output: answer.nullish(),
  redacted_output: answer.nullish(),
  tools: z.array(AnyObject).nullish(),
  events: z.array(LlmEvent).nullish(),
  model: Text.nullish(),
  temperature: z.number().nullish(),
  finish_reason: Text.nullish(),
});

const ControlSpan = z.object({
  type: z.literal('control'),
  ...commonFields,
  input: StepInput.nullish(),
  redacted_input: StepInput.nullish(),
  output: ControlResult.nullish(),
  redacted_output: ControlResult.nullish(),
  control_id: z.int().nullish(),
  agent_name: Text.nullish(),
  check_stage: z.enum(controlCheckStages).nullish(),
  applies_to: z.enum(controlAppliesTo).nullish(),
  evaluator_name: Text.nullish(),
  selector_path: Text.nullish(),
});

const ToolSpan = z.object({
  type: z.literal('tool'),
  ...commonFields,
  input: Text.nullish(),
  redacted_input: Text.nullish(),
  output: Text.nullish(),
  redacted_output: Text.nullish(),
  tool_call_id: Text.nullish(),
});

const RetrieverSpan = z.object({
  type: z.literal('retriever'),
  ...commonFields,
  input: Text.nullish(),
  redacted_input: Text.nullish(),
  output: documents.nullish(),
  redacted_output: documents.nullish(),
});

const WorkflowSpan = z.object({
  type: z.literal('workflow'),
  ...stepFields,
});

const AgentSpan = z.object({
  type: z.literal('agent'),
  ...stepFields,
  agent_type: z.enum(agentTypes).nullish(),
  agent_name: Text.nullish(),
});

interface HasSpans {
  spans?: LoggedSpan[] | null | undefined;
}
type Parent<T extends z.ZodType> = z.output<T> & HasSpans;
export type LoggedSpan =
  | z.output<typeof LlmSpan>
  | z.output<typeof ControlSpan>
  | Parent<typeof ToolSpan>
  | Parent<typeof RetrieverSpan>
  | Parent<typeof WorkflowSpan>
  | Parent<typeof AgentSpan>;

const spans = z.array(z.lazy((): z.ZodType<LoggedSpan> => LoggedSpan)).nullish();
// A schema of its own, so that what repeats itself in the API document is the named span.
const spansOfTrace = z.array(z.lazy((): z.ZodType<LoggedSpan> => LoggedSpan)).nullish();
/** A span with the spans below it, any depth. */
export const LoggedSpan: z.ZodType<LoggedSpan> = z
  .discriminatedUnion('type', [
    LlmSpan.meta({ id: 'LlmSpan' }),
    ToolSpan.extend({ spans }).meta({ id: 'ToolSpan' }),
    RetrieverSpan.extend({ spans }).meta({ id: 'RetrieverSpan' }),
    WorkflowSpan.extend({ spans }).meta({ id: 'WorkflowSpan' }),
    AgentSpan.extend({ spans }).meta({ id: 'AgentSpan' }),
    ControlSpan.meta({ id: 'ControlSpan' }),
  ])
  .meta({ id: 'LoggedSpan' });

const Trace = z.object({
  type: z.literal('trace').nullish(),
  ...commonFields,
  input: TraceInput.nullish(),
  redacted_input: TraceInput.nullish(),
  output: z.union([Text, ContentParts]).nullish(),
  redacted_output: z.union([Text, ContentParts]).nullish(),
});
export const LoggedTrace = Trace.extend({ spans: spansOfTrace }).meta({ id: 'Trace' });
export type LoggedTrace = z.output<typeof LoggedTrace>;

// One node of a tree, its spans still as they came: ingest checks node by node, so that no depth of nesting exhausts the stack.
const unread = { spans: z.array(z.unknown()).nullish() };
export const TraceNode = Trace.extend(unread);
export const SpanNode = z.discriminatedUnion('type', [
  LlmSpan,
  ToolSpan.extend(unread),
  RetrieverSpan.extend(unread),
  WorkflowSpan.extend(unread),
  AgentSpan.extend(unread),
  ControlSpan,
]);
