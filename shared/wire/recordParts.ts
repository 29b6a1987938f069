import { z } from 'zod';
import { AnyNumber } from './anyNumber.ts';
import { readBy, Uuid } from './common.ts';
import { isExact } from './exactNumber.ts';
import { mapOf } from './mapOf.ts';
import { loggedMessageRoles } from './messageRoles.ts';
import { numberOf } from './numberOf.ts';
import { type SystemCount, systemCounts, systemMetricNames } from './systemCounts.ts';

/** Text of a record. A lone surrogate cannot be stored as UTF-8 and becomes U+FFFD. */
export const Text = z.string().overwrite((text) => text.toWellFormed());

export const Int32 = z.int32();

/** String values only; null means absent. */
export const TextMap = mapOf(Text, Text);

export const TextContentPart = z.object({ type: z.literal('text').default('text'), text: Text }).meta({ id: 'TextContentPart' });
export const FileContentPart = z
  .object({ type: z.literal('file').default('file'), file_id: Uuid })
  .meta({ id: 'FileContentPart' });
export const ContentParts = z.array(z.union([FileContentPart, TextContentPart]));

export const ToolCall = z
  .object({ id: Text, function: z.object({ name: Text, arguments: Text }).meta({ id: 'ToolCallFunction' }) })
  .meta({ id: 'ToolCall' });
export const LoggedMessage = z
  .object({
    content: z.union([Text, ContentParts]),
    role: z.enum(loggedMessageRoles),
    tool_call_id: Text.nullish(),
    tool_calls: z.array(ToolCall).nullish(),
  })
  .meta({ id: 'LoggedMessage' });
export type LoggedMessage = z.output<typeof LoggedMessage>;

export const Document = z
  .object({
    content: Text,
    metadata: mapOf(Text, z.union([z.boolean(), Text, AnyNumber])).nullish(),
  })
  .meta({ id: 'Document' });

export const ControlResult = z
  .object({
    action: z.enum(['deny', 'steer', 'observe']),
    matched: z.boolean(),
    confidence: z.number().nullish(),
    error_message: Text.nullish(),
  })
  .meta({ id: 'ControlResult' });

/** Values of any JSON may nest this deep: writers and readers of JSON are recursive, and a request must not exhaust their stack. */
const MAX_JSON_DEPTH = 64;

/** Any JSON that can be stored and sent again. */
export const AnyValue = z.unknown().superRefine((value, context) => {
  const problem = jsonProblem(value);
  if (problem) context.addIssue({ code: 'custom', message: problem });
});

/** Returns what keeps a value of JSON from being stored; undefined where nothing does. Calls itself no deeper than the limit. */
export function jsonProblem(value: unknown, depth = 1): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'must not hold a number beyond 1.8e308';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_JSON_DEPTH) return `must not nest deeper than ${MAX_JSON_DEPTH} levels`;
  if (Array.isArray(value)) {
    for (const inner of value) {
      const problem = jsonProblem(inner, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const name in value) {
    const problem = jsonProblem((value as Record<string, unknown>)[name], depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const count = z.int().nullish();
/** Every other key is kept as it is. */
export const Metrics = z.object({ duration_ns: count }).catchall(AnyValue).meta({ id: 'Metrics' });
export const LlmMetrics = z
  .object({
    ...(Object.fromEntries(systemCounts.map((name) => [name, count])) as Record<SystemCount, typeof count>),
    cost: z.number().nullish(),
  })
  .catchall(AnyValue)
  .meta({ id: 'LlmMetrics' });

/** Metrics that callers send. A text that is a number is read as one where the name says that a number belongs. */
export const LoggedMetrics = readBy(withNumbersRead, Metrics);
export const LoggedLlmMetrics = readBy(withNumbersRead, LlmMetrics);

function withNumbersRead(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  let read: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(given)) {
    // Figures that are reckoned with are doubles.
    const number = isExact(value) || (typeof value === 'string' && systemMetricNames.has(name)) ? numberOf(value) : Number.NaN;
    if (Number.isNaN(number)) continue;
    read ??= { ...given };
    read[name] = number;
  }
  return read ?? given;
}

export const AnyObject = mapOf(z.string(), AnyValue);
const eventFields = {
  id: Text.nullish(),
  status: z.enum(['in_progress', 'completed', 'failed', 'cancelled', 'incomplete']).nullish(),
  metadata: AnyObject.nullish(),
  error_message: Text.nullish(),
};
export const LlmEvent = z.discriminatedUnion('type', [
  z
    .object({
      type: z.literal('message'),
      ...eventFields,
      role: z.enum(loggedMessageRoles),
      content: Text.nullish(),
      content_parts: z.array(AnyObject).nullish(),
    })
    .meta({ id: 'MessageEvent' }),
  z
    .object({
      type: z.literal('reasoning'),
      ...eventFields,
      content: Text.nullish(),
      summary: z.union([Text, z.array(AnyObject)]).nullish(),
    })
    .meta({ id: 'ReasoningEvent' }),
  z
    .object({
      type: z.literal('internal_tool_call'),
      ...eventFields,
      name: Text,
      input: AnyObject.nullish(),
      output: AnyObject.nullish(),
    })
    .meta({ id: 'InternalToolCall' }),
  z
    .object({
      type: z.literal('web_search_call'),
      ...eventFields,
      action: z
        .object({ type: z.literal('search'), query: Text.nullish(), sources: AnyValue.optional() })
        .meta({ id: 'WebSearchAction' }),
    })
    .meta({ id: 'WebSearchCallEvent' }),
  z
    .object({
      type: z.literal('image_generation'),
      ...eventFields,
      prompt: Text.nullish(),
      images: z.array(AnyObject).nullish(),
      model: Text.nullish(),
    })
    .meta({ id: 'ImageGenerationEvent' }),
  z
    .object({
      type: z.literal('mcp_call'),
      ...eventFields,
      tool_name: Text.nullish(),
      server_name: Text.nullish(),
      arguments: AnyObject.nullish(),
      result: AnyObject.nullish(),
    })
    .meta({ id: 'MCPCallEvent' }),
  z
    .object({
      type: z.literal('mcp_list_tools'),
      ...eventFields,
      server_name: Text.nullish(),
      tools: z.array(AnyObject).nullish(),
    })
    .meta({ id: 'MCPListToolsEvent' }),
  z
    .object({
      type: z.literal('mcp_approval_request'),
      ...eventFields,
      tool_name: Text.nullish(),
      tool_invocation: AnyObject.nullish(),
      approved: z.boolean().nullish(),
    })
    .meta({ id: 'MCPApprovalRequestEvent' }),
]);

export const fileModalities = ['text', 'document', 'image', 'audio', 'video'] as const;
export const FileMetadata = z
  .object({
    file_id: Uuid,
    modality: z.enum(fileModalities),
    content_type: z.string().nullish(),
    url: z.string().nullish(),
    url_expires_at: z.string().nullish(),
    size_bytes: z.int().nullish(),
    filename: z.string().nullish(),
    source: z.enum(['direct_upload', 'external_files_api', 'external_url', 'assembled_stream']),
    status: z.enum(['complete', 'failed', 'pending', 'not_uploaded']),
  })
  .meta({ id: 'FileMetadata' });
export type FileMetadata = z.output<typeof FileMetadata>;

export const agentTypes = ['default', 'planner', 'react', 'reflection', 'router', 'classifier', 'supervisor', 'judge'] as const;
export const controlCheckStages = ['pre', 'post'] as const;

/** Input of a trace; of session, agent, workflow and control; of tool and retriever. The llm input is an array of messages. */
export const TraceInput = z.union([Text, ContentParts]);
export const TraceOutput = z.union([Text, ContentParts]);
export const StepInput = z.union([Text, z.array(LoggedMessage), ContentParts]);
export const StepOutput = z.union([Text, LoggedMessage, z.array(Document), ContentParts, ControlResult]);
