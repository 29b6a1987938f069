/** A part of a message in the words of the OpenAI chat protocol: `text`, `image_url`, `input_audio`, `file`. */
export type ContentPart = { type: string } & Record<string, unknown>;

/** A message of a chat, as prompts and records hold it. */
export interface ChatMessage {
  role: string;
  content: string | ContentPart[] | null;
  name?: string;
  tool_calls?: unknown[];
  tool_call_id?: string;
}

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** An answer of a model. */
export interface AssistantMessage {
  role: 'assistant';
  content: string;
  tool_calls?: ToolCall[];
}

/** A message as the protocol takes it: keys that are ours, and null ones, stay behind. */
export function toProtocol({ role, content, name, tool_calls, tool_call_id }: ChatMessage): Record<string, unknown> {
  return {
    role: role === 'agent' ? 'assistant' : role,
    content,
    ...(name != null && { name }),
    ...(tool_calls != null && tool_calls.length > 0 && { tool_calls }),
    ...(tool_call_id != null && { tool_call_id }),
  };
}

/** A piece of an answer as it came. Texts may be empty. */
export interface AnswerPiece {
  text: string;
  reasoning: string;
  /** Pieces with one index are one call; their arguments are to be joined. */
  toolCalls: { index: number; id?: string; name?: string; arguments: string }[];
}
