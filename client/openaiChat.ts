import type { OpenSpan } from './spans.ts';

interface ToolCall {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

interface Message {
  role?: string;
  content?: unknown;
  refusal?: string | null;
  tool_calls?: ToolCall[];
}

interface Choice {
  index?: number;
  message?: Message;
  delta?: Message;
  finish_reason?: string | null;
}

/** Messages as they are sent. One that only calls tools has no content, which records want. */
export const chatInput = ({ messages }: Record<string, unknown>): unknown =>
  Array.isArray(messages) ? messages.map((message: Message) => ({ ...message, content: message.content ?? '' })) : messages;

/** The message that was answered; of a stream, the one that its pieces make. */
export function chatOutput(result: unknown, pieces: readonly unknown[]): Partial<OpenSpan> {
  const parts = pieces.length > 0 ? pieces : [result];
  const choices = parts.flatMap((part) => (part as { choices?: Choice[] } | undefined)?.choices ?? []).filter(isFirst);
  let content = '';
  const calls: { id: string; function: { name: string; arguments: string } }[] = [];
  for (const { message, delta } of choices) {
    const said = message ?? delta ?? {};
    content += typeof said.content === 'string' ? said.content : (said.refusal ?? '');
    for (const [at, call] of (said.tool_calls ?? []).entries()) {
      const index = call.index ?? at;
      calls[index] ??= { id: '', function: { name: '', arguments: '' } };
      const known = calls[index];
      known.id ||= call.id ?? '';
      known.function.name ||= call.function?.name ?? '';
      known.function.arguments += call.function?.arguments ?? '';
    }
  }
  const finishReason = choices.findLast(({ finish_reason }) => finish_reason)?.finish_reason;
  const output = { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls.filter(Boolean) } : {}) };
  return { output, ...(finishReason ? { finishReason } : {}) };
}

/** With `n`, a model answers several times; a span has one output. */
const isFirst = ({ index = 0 }: Choice): boolean => index === 0;
