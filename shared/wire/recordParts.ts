import { z } from 'zod';
import { Uuid } from './common.ts';

/** Text of a record. A lone surrogate cannot be stored as UTF-8 and becomes U+FFFD. */
export const Text = z.string().overwrite((text) => text.toWellFormed());

export const Int32 = z.int32();

/** String values only; null stands for absent. */
export const TextMap = z.record(Text, Text);

export const TextContentPart = z.object({ type: z.literal('text').default('text'), text: Text });
export const FileContentPart = z.object({ type: z.literal('file'), file_id: Uuid });
export const ContentParts = z.array(z.union([FileContentPart, TextContentPart]));

export const loggedMessageRoles = ['agent', 'assistant', 'developer', 'function', 'system', 'tool', 'user'] as const;
export const ToolCall = z.object({ id: Text, function: z.object({ name: Text, arguments: Text }) });
export const LoggedMessage = z.object({
  content: z.union([Text, ContentParts]),
  role: z.enum(loggedMessageRoles),
  tool_call_id: Text.nullish(),
  tool_calls: z.array(ToolCall).nullish(),
});
export type LoggedMessage = z.output<typeof LoggedMessage>;

export const Document = z.object({
  content: Text,
  metadata: z.record(Text, z.union([z.boolean(), Text, z.number()])).nullish(),
});

export const ControlResult = z.object({
  action: z.enum(['deny', 'steer', 'observe']),
  matched: z.boolean(),
  confidence: z.number().nullish(),
  error_message: Text.nullish(),
});

const count = z.int().nullish();
/** Every other key is kept as it is. */
export const Metrics = z.looseObject({ duration_ns: count });
export const LlmMetrics = z.looseObject({
  duration_ns: count,
  num_input_tokens: count,
  num_output_tokens: count,
  num_total_tokens: count,
  time_to_first_token_ns: count,
  num_image_input_tokens: count,
  num_audio_input_tokens: count,
  num_audio_output_tokens: count,
  num_image_output_tokens: count,
});

const AnyObject = z.record(z.string(), z.unknown());
const eventFields = {
  id: Text.nullish(),
  status: z.enum(['in_progress', 'completed', 'failed', 'cancelled', 'incomplete']).nullish(),
  metadata: AnyObject.nullish(),
  error_message: Text.nullish(),
};
export const LlmEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    ...eventFields,
    role: z.enum(loggedMessageRoles),
    content: Text.nullish(),
    content_parts: z.array(AnyObject).nullish(),
  }),
  z.object({
    type: z.literal('reasoning'),
    ...eventFields,
    content: Text.nullish(),
    summary: z.union([Text, z.array(AnyObject)]).nullish(),
  }),
  z.object({
    type: z.literal('internal_tool_call'),
    ...eventFields,
    name: Text,
    input: AnyObject.nullish(),
    output: AnyObject.nullish(),
  }),
  z.object({
    type: z.literal('web_search_call'),
    ...eventFields,
    action: z.object({ type: z.literal('search'), query: Text.nullish(), sources: z.unknown() }),
  }),
  z.object({
    type: z.literal('image_generation'),
    ...eventFields,
    prompt: Text.nullish(),
    images: z.array(AnyObject).nullish(),
    model: Text.nullish(),
  }),
  z.object({
    type: z.literal('mcp_call'),
    ...eventFields,
    tool_name: Text.nullish(),
    server_name: Text.nullish(),
    arguments: AnyObject.nullish(),
    result: AnyObject.nullish(),
  }),
  z.object({
    type: z.literal('mcp_list_tools'),
    ...eventFields,
    server_name: Text.nullish(),
    tools: z.array(AnyObject).nullish(),
  }),
  z.object({
    type: z.literal('mcp_approval_request'),
    ...eventFields,
    tool_name: Text.nullish(),
    tool_invocation: AnyObject.nullish(),
    approved: z.boolean().nullish(),
  }),
]);

export const agentTypes = ['default', 'planner', 'react', 'reflection', 'router', 'classifier', 'supervisor', 'judge'] as const;
export const controlCheckStages = ['pre', 'post'] as const;
export const controlAppliesTo = ['llm_call', 'tool_call'] as const;

/** Input of a trace; of session, agent, workflow and control; of tool and retriever. The llm input is an array of messages. */
export const TraceInput = z.union([Text, ContentParts]);
export const StepInput = z.union([Text, z.array(LoggedMessage), ContentParts]);
export const StepOutput = z.union([Text, LoggedMessage, z.array(Document), ContentParts, ControlResult]);
