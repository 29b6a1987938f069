import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import type { OpenSpan } from './spans.ts';

interface Item {
  type?: string;
  role?: string;
  content?: unknown;
  call_id?: string;
  name?: string;
  arguments?: string;
  output?: unknown;
}

interface Response {
  output?: Item[];
  status?: string;
  incomplete_details?: { reason?: string } | null;
  error?: { message?: string } | null;
}

interface Event {
  type?: string;
  delta?: unknown;
  response?: Response;
}

/** Instructions and input as messages: calls of tools are the assistant's, their results the tool's. */
export function responsesInput({ instructions, input }: Record<string, unknown>): unknown {
  const system = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : [];
  if (!Array.isArray(input)) return input === undefined ? system : [...system, { role: 'user', content: input }];
  return [...system, ...input.map(messageOf)];
}

function messageOf(item: Item): unknown {
  const { type, role, content } = item;
  if (type === 'function_call') return { role: 'assistant', content: '', tool_calls: [toolCallOf(item)] };
  if (type === 'function_call_output') return { role: 'tool', content: textOf(item.output), tool_call_id: item.call_id };
  if (role !== undefined) return { role, content: textOf(content) };
  return { role: 'assistant', content: jsonWithBigInts(item) };
}

const toolCallOf = ({ call_id = '', name = '', arguments: given = '' }: Item) => ({
  id: call_id,
  function: { name, arguments: given },
});

/** Parts of a content with their texts joined; parts of other kinds as JSON. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return jsonWithBigInts(content) ?? '';
  return content
    .map((part: { text?: unknown; refusal?: unknown }) => part.text ?? part.refusal ?? jsonWithBigInts(part))
    .join('');
}

/** Texts and calls of tools of the answer; of a stream, of the response that it ends with, or the text that came until it was left. */
export function responsesOutput(result: unknown, pieces: readonly unknown[]): Partial<OpenSpan> {
  const events = pieces as Event[];
  const response = (pieces.length > 0 ? events.findLast(hasEnded)?.response : (result as Response | undefined)) ?? {};
  const items = response.output ?? [];
  const streamed = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
  const said = items.filter(({ type }) => type === 'message').map(({ content }) => textOf(content));
  const calls = items.filter(({ type }) => type === 'function_call').map(toolCallOf);
  const content = (response.output ? said : streamed).join('');
  const failure = response.error?.message;
  const finishReason = response.incomplete_details?.reason ?? response.status;
  return {
    output: { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
    ...(finishReason ? { finishReason } : {}),
    ...(failure ? { errorMessage: failure, statusCode: 500 } : {}),
  };
}

const hasEnded = ({ type }: Event): boolean => /^response\.(completed|incomplete|failed)$/.test(type ?? '');
