import { z } from 'zod';
import { answeredRecord, requiredFields } from '../columns/recordFields.ts';
import { Uuid } from '../wire/common.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import { recordPageFields } from '../wire/recordSearch.ts';

// Records as the service answers them: three families (search, single read with children, partial search) over the same eight kinds.

const trace = answeredRecord('trace');
const session = answeredRecord('session');
const agent = answeredRecord('agent');
const workflow = answeredRecord('workflow');
const llm = answeredRecord('llm');
const tool = answeredRecord('tool');
const retriever = answeredRecord('retriever');
const control = answeredRecord('control');

/** Keys that an answer may leave out: every one that the interface does not mark required. */
const optionalBut = <S extends z.ZodRawShape>(kind: z.ZodObject<S>, type: RecordKind) =>
  kind.partial().required(requiredFields(type) as never);

const required = {
  trace: optionalBut(trace, 'trace'),
  session: optionalBut(session, 'session'),
  agent: optionalBut(agent, 'agent'),
  workflow: optionalBut(workflow, 'workflow'),
  llm: optionalBut(llm, 'llm'),
  tool: optionalBut(tool, 'tool'),
  retriever: optionalBut(retriever, 'retriever'),
  control: optionalBut(control, 'control'),
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

export const LogRecordsQueryResponse = z
  .object({ ...recordPageFields, records: z.array(ExtendedRecord) })
  .meta({ id: 'LogRecordsQueryResponse' });
export const LogRecordsPartialQueryResponse = z
  .object({ ...recordPageFields, records: z.array(PartialRecord) })
  .meta({ id: 'LogRecordsPartialQueryResponse' });

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
