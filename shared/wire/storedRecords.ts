import { z } from 'zod';
import { annotationFields } from './annotationRatings.ts';
import { Uuid } from './common.ts';
import { MetricResult } from './metricResults.ts';
import {
  agentTypes,
  ContentParts,
  ControlResult,
  controlAppliesTo,
  controlCheckStages,
  Document,
  LlmEvent,
  LlmMetrics,
  LoggedMessage,
  Metrics,
  StepInput,
  StepOutput,
  TraceInput,
} from './recordParts.ts';

// Records as the service answers them: three families (search, single read with children, partial search) over the same eight kinds.

const AnyMap = z.record(z.string(), z.unknown());
const time = z.string();

const modalities = ['text', 'document', 'image', 'audio', 'video'] as const;
const FileMetadata = z
  .object({
    file_id: Uuid,
    modality: z.enum(modalities),
    content_type: z.string().nullish(),
    url: z.string().nullish(),
    url_expires_at: time.nullish(),
    size_bytes: z.int().nullish(),
    filename: z.string().nullish(),
    source: z.enum(['direct_upload', 'external_files_api', 'external_url', 'assembled_stream']),
    status: z.enum(['complete', 'failed', 'pending', 'not_uploaded']),
  })
  .meta({ id: 'FileMetadata' });

const common = {
  name: z.string(),
  created_at: time,
  user_metadata: z.record(z.string(), z.string()),
  tags: z.array(z.string()),
  status_code: z.int().nullable(),
  metrics: Metrics,
  external_id: z.string().nullable(),
  dataset_input: z.string().nullable(),
  dataset_output: z.string().nullable(),
  dataset_metadata: z.record(z.string(), z.string()),
  id: Uuid,
  session_id: Uuid,
  trace_id: Uuid.nullable(),
  project_id: Uuid,
  run_id: Uuid,
  updated_at: time.nullable(),
  has_children: z.boolean().nullable(),
  metrics_batch_id: Uuid.nullable(),
  session_batch_id: Uuid.nullable(),
  ...annotationFields,
  file_ids: z.array(Uuid),
  file_modalities: z.array(z.enum(modalities)),
  progress_message: z.string(),
  error_message: z.string(),
  metric_info: z.record(z.string(), MetricResult).nullable(),
  files: z.record(Uuid, FileMetadata).nullable(),
};
const spanFields = { ...common, is_complete: z.boolean(), parent_id: Uuid, step_number: z.int().nullable() };
const texts = <I extends z.ZodType, O extends z.ZodType>(input: I, output: O) => ({
  input,
  redacted_input: input.nullable(),
  output: output.nullable(),
  redacted_output: output.nullable(),
});

const trace = z.object({
  type: z.literal('trace'),
  ...common,
  ...texts(TraceInput, z.union([z.string(), ContentParts])),
  trace_id: Uuid,
  is_complete: z.boolean(),
  num_spans: z.int().nullable(),
});
const session = z.object({
  type: z.literal('session'),
  ...common,
  ...texts(StepInput, StepOutput),
  session_id: Uuid.nullable(),
  previous_session_id: Uuid.nullable(),
  num_traces: z.int().nullable(),
});
const agent = z.object({
  type: z.literal('agent'),
  ...spanFields,
  ...texts(StepInput, StepOutput),
  agent_type: z.enum(agentTypes),
  agent_name: z.string().nullable(),
});
const workflow = z.object({ type: z.literal('workflow'), ...spanFields, ...texts(StepInput, StepOutput) });
const llm = z.object({
  type: z.literal('llm'),
  ...spanFields,
  ...texts(z.array(LoggedMessage), LoggedMessage),
  metrics: LlmMetrics,
  tools: z.array(AnyMap).nullable(),
  events: z.array(LlmEvent).nullable(),
  model: z.string().nullable(),
  temperature: z.number().nullable(),
  finish_reason: z.string().nullable(),
});
const tool = z.object({
  type: z.literal('tool'),
  ...spanFields,
  ...texts(z.string(), z.string()),
  tool_call_id: z.string().nullable(),
});
const retriever = z.object({ type: z.literal('retriever'), ...spanFields, ...texts(z.string(), z.array(Document)) });
const control = z.object({
  type: z.literal('control'),
  ...spanFields,
  ...texts(StepInput, ControlResult),
  control_id: z.int().nullable(),
  agent_name: z.string().nullable(),
  check_stage: z.enum(controlCheckStages).nullable(),
  applies_to: z.enum(controlAppliesTo).nullable(),
  evaluator_name: z.string().nullable(),
  selector_path: z.string().nullable(),
});

/** Keys that an answer may leave out: every one that the interface does not mark required. */
const requiredKeys = { type: true, id: true, project_id: true, run_id: true } as const;
const optionalBut = <S extends z.ZodRawShape, M extends Partial<Record<keyof S, true>>>(kind: z.ZodObject<S>, required: M) =>
  kind.partial().required({ ...requiredKeys, ...required } as never);

const required = {
  trace: optionalBut(trace, { session_id: true, trace_id: true }),
  session: optionalBut(session, {}),
  agent: optionalBut(agent, { session_id: true, parent_id: true }),
  workflow: optionalBut(workflow, { session_id: true, parent_id: true }),
  llm: optionalBut(llm, { session_id: true, parent_id: true }),
  tool: optionalBut(tool, { session_id: true, parent_id: true }),
  retriever: optionalBut(retriever, { session_id: true, parent_id: true }),
  control: optionalBut(control, { session_id: true, parent_id: true }),
};

const named = <T extends z.ZodType>(schema: T, id: string): T => schema.meta({ id });

/** One of the eight Extended…Record kinds by `type` (search). */
export const ExtendedRecord = z.discriminatedUnion('type', [
  named(required.trace, 'ExtendedTraceRecord'),
  named(required.session, 'ExtendedSessionRecord'),
  named(required.agent, 'ExtendedAgentSpanRecord'),
  named(required.workflow, 'ExtendedWorkflowSpanRecord'),
  named(required.llm, 'ExtendedLlmSpanRecord'),
  named(required.tool, 'ExtendedToolSpanRecord'),
  named(required.retriever, 'ExtendedRetrieverSpanRecord'),
  named(required.control, 'ExtendedControlSpanRecord'),
]);
export type ExtendedRecord = z.output<typeof ExtendedRecord>;

/** One of the eight PartialExtended…Record kinds by `type` (partial search): nothing but `type` is certain. */
export const PartialRecord = z.discriminatedUnion('type', [
  named(trace.partial().required({ type: true }), 'PartialExtendedTraceRecord'),
  named(session.partial().required({ type: true }), 'PartialExtendedSessionRecord'),
  named(agent.partial().required({ type: true }), 'PartialExtendedAgentSpanRecord'),
  named(workflow.partial().required({ type: true }), 'PartialExtendedWorkflowSpanRecord'),
  named(llm.partial().required({ type: true }), 'PartialExtendedLlmSpanRecord'),
  named(tool.partial().required({ type: true }), 'PartialExtendedToolSpanRecord'),
  named(retriever.partial().required({ type: true }), 'PartialExtendedRetrieverSpanRecord'),
  named(control.partial().required({ type: true }), 'PartialExtendedControlSpanRecord'),
]);
export type PartialRecord = z.output<typeof PartialRecord>;

const withSpans = <S extends z.ZodRawShape>(schema: z.ZodObject<S>, id: string) =>
  schema.extend({ spans: z.array(z.lazy((): z.ZodType => StoredSpan)) }).meta({ id });

/** A span with the spans below it (single read). */
export const StoredSpan = z
  .discriminatedUnion('type', [
    withSpans(required.agent, 'ExtendedAgentSpanRecordWithChildren'),
    withSpans(required.workflow, 'ExtendedWorkflowSpanRecordWithChildren'),
    required.llm,
    withSpans(required.tool, 'ExtendedToolSpanRecordWithChildren'),
    withSpans(required.retriever, 'ExtendedRetrieverSpanRecordWithChildren'),
    required.control,
  ])
  .meta({ id: 'ExtendedSpanRecordWithChildren' });
export const StoredTrace = withSpans(required.trace, 'ExtendedTraceRecordWithChildren');
export const StoredSession = required.session
  .extend({ traces: z.array(StoredTrace) })
  .meta({ id: 'ExtendedSessionRecordWithChildren' });
/** A trace of which only spans are known yet. */
export const StubTraceRecord = z
  .object({
    spans: z.array(StoredSpan),
    type: z.literal('stub_trace'),
    id: Uuid,
    project_id: Uuid.nullable(),
    run_id: Uuid.nullable(),
    session_id: Uuid.nullable(),
  })
  .meta({ id: 'StubTraceRecord' });
