import { z } from 'zod';
import { loggedRecord } from '../columns/recordFields.ts';

// Records as clients send them. Both published clients are served: one writes every key (null when empty), the other leaves empty keys out.

const LlmSpan = loggedRecord('llm');
const ControlSpan = loggedRecord('control');
const ToolSpan = loggedRecord('tool');
const RetrieverSpan = loggedRecord('retriever');
const WorkflowSpan = loggedRecord('workflow');
const AgentSpan = loggedRecord('agent');
const Trace = loggedRecord('trace');

interface HasSpans {
  spans?: LoggedSpan[] | null | undefined;
}
export type LoggedSpan =
  | z.output<typeof LlmSpan>
  | z.output<typeof ControlSpan>
  | (z.output<typeof ToolSpan> & HasSpans)
  | (z.output<typeof RetrieverSpan> & HasSpans)
  | (z.output<typeof WorkflowSpan> & HasSpans)
  | (z.output<typeof AgentSpan> & HasSpans);

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
