import { LoggedTraces, MAX_SPAN_DEPTH } from '../wire/ingest.ts';
import { ContentParts, Document, jsonProblem, LoggedMessage, loggedMessageRoles, ToolCall } from '../wire/recordParts.ts';
import { SpanNode, TraceNode } from '../wire/records.ts';
import { canonicalTime } from '../wire/time.ts';

type Fields = Record<string, unknown>;

/** Notes what a value was before it was changed to fit: a text under its path, such as `input.0.role`. */
type Keep = (path: string, value: unknown) => void;

/** Values that are kept beside one record, and characters of each: the metadata of a record is shown in lists. */
const MAX_KEPT = 100;
const MAX_KEPT_CHARACTERS = 10_000;

/**
 * A trace with its spans as the record schemas take it, whatever JSON it holds: an experiment pays for its rows, and none of them is to be lost for a
 * part that is odd. What a schema refuses becomes text where the field takes text, and is kept as text in the `user_metadata` of its record where
 * it does not. Should that not do, the trace stands without its spans, with an error that says why.
 */
export function recordableTrace(trace: unknown): Fields {
  const repaired = repairedTree(trace);
  const checked = LoggedTraces.safeParse([repaired]);
  if (checked.success) return repaired;
  const { id, type, name, created_at, dataset_input, dataset_output } = repaired;
  const reason = checked.error.issues.map(({ path, message }) => `${path.slice(1).join('.')}: ${message}`).join('; ');
  const error_message = `the result cannot be stored: ${reason}`.slice(0, MAX_KEPT_CHARACTERS);
  return { id, type, name, created_at, input: dataset_input, dataset_input, dataset_output, status_code: 500, error_message };
}

/** Every node of a tree made to fit. Iterative: depth costs no stack. Spans that nest too deep stand beside their parent. */
function repairedTree(trace: unknown): Fields {
  const root = repairedNode(trace, 'trace', undefined);
  const open = [{ node: root, siblings: [] as Fields[], depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { spans } = next.node;
    if (!Array.isArray(spans) || spans.length === 0) continue;
    const below: Fields[] = next.depth < MAX_SPAN_DEPTH ? [] : next.siblings;
    next.node.spans = next.depth < MAX_SPAN_DEPTH ? below : undefined;
    for (const span of spans) {
      const node = repairedNode(span, 'workflow', root.created_at);
      below.push(node);
      open.push({ node, siblings: below, depth: Math.min(next.depth + 1, MAX_SPAN_DEPTH) });
    }
  }
  return root;
}

const kinds: ReadonlySet<unknown> = new Set(['llm', 'tool', 'retriever', 'workflow', 'agent', 'control']);

/** @param kind of what says none that is known. @param start time of a record that says none that can be stored */
function repairedNode(given: unknown, kind: 'trace' | 'workflow', start: unknown): Fields {
  const kept = new Map<string, string>();
  const keep: Keep = (path, value) => {
    const text = textOf(value);
    if (kept.size < MAX_KEPT) kept.set(path, text.length > MAX_KEPT_CHARACTERS ? `${text.slice(0, MAX_KEPT_CHARACTERS)}…` : text);
  };
  const node: Fields = isObject(given) ? { ...given } : { name: 'span', output: textOf(given) };
  if (kind === 'trace') node.type = 'trace';
  else if (!kinds.has(node.type)) {
    if (node.type !== undefined) keep('type', node.type);
    node.type = kind;
  }
  if (node.spans !== undefined && node.spans !== null && !Array.isArray(node.spans)) {
    keep('spans', node.spans);
    node.spans = undefined;
  }
  const refused = () => {
    const { spans: _, ...fields } = node;
    const checked = (kind === 'trace' ? TraceNode : SpanNode).safeParse(fields);
    return checked.success ? [] : [...new Set(checked.error.issues.map(({ path }) => String(path[0])))];
  };
  for (const field of refused()) node[field] = repairOf(field, node.type as string)?.(node[field], field, keep);
  for (const field of refused()) node[field] = undefined;
  if (node.created_at === undefined && start !== undefined) node.created_at = start;
  if (kept.size > 0) node.user_metadata = { ...Object.fromEntries(kept), ...(node.user_metadata as object | undefined) };
  return node;
}

type Repair = (value: unknown, path: string, keep: Keep) => unknown;

/** How a field is made to fit its schema. What cannot be is left to be kept as text beside the record. */
function repairOf(field: string, kind: string): Repair {
  switch (field) {
    case 'input':
    case 'redacted_input':
      return kind === 'llm' ? messages : kind === 'tool' || kind === 'retriever' || kind === 'trace' ? textOf : steps;
    case 'output':
    case 'redacted_output':
      return outputRepairs[kind] ?? textOf;
    default:
      return fieldRepairs[field] ?? keptAside;
  }
}

const keptAside: Repair = (value, path, keep) => keep(path, value);

const texts: Repair = (value) => (Array.isArray(value) ? value : [value]).flatMap((one) => (one == null ? [] : [textOf(one)]));

const textMap: Repair = (value, path) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).flatMap(([key, one]) => (one == null ? [] : [[key, textOf(one)]])))
    : { [path]: textOf(value) };

const wholeNumber: Repair = (value, path, keep) => {
  const number = Math.round(numberOf(value));
  if (number !== Number(value)) keep(path, value);
  return Number.isSafeInteger(number) ? number : undefined;
};

const finiteNumber: Repair = (value, path, keep) => {
  const number = numberOf(value);
  if (Number.isFinite(number)) return number;
  return keep(path, value);
};

const time: Repair = (value, path, keep) => {
  const date = typeof value === 'string' || value instanceof Date ? new Date(value) : undefined;
  const text = date && !Number.isNaN(date.getTime()) ? canonicalTime(date.toISOString()) : undefined;
  if (text === undefined) keep(path, value);
  return text;
};

const isCount = (name: string): boolean => /^(num_\w+_tokens|duration_ns|time_to_first_token_ns)$/.test(name);

const metrics: Repair = (value, path, keep) => {
  if (!isObject(value)) return keep(path, value);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      if (one == null) return [name, undefined];
      if (isCount(name)) return [name, Number.isSafeInteger(one) ? one : wholeNumber(one, `${path}.${name}`, keep)];
      return [name, jsonProblem(one) === undefined ? one : textOf(one)];
    }),
  );
};

const messages: Repair = (value, path, keep) =>
  Array.isArray(value)
    ? value.map((one, index) => message(one, 'user', `${path}.${index}`, keep))
    : [message(value, 'user', path, keep)];

const answer: Repair = (value, path, keep) => {
  const one = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return message(one, 'assistant', path, keep);
};

const steps: Repair = (value, path, keep) =>
  Array.isArray(value) && value.length > 0 && value.every(isMessage) ? messages(value, path, keep) : textOf(value);

const stepAnswer: Repair = (value, path, keep) => (isMessage(value) ? answer(value, path, keep) : textOf(value));

const documents: Repair = (value) => (Array.isArray(value) ? value : [value]).map(document);

const outputRepairs: Record<string, Repair> = {
  llm: answer,
  retriever: documents,
  workflow: stepAnswer,
  agent: stepAnswer,
  control: keptAside,
};

const fieldRepairs: Record<string, Repair> = {
  user_metadata: textMap,
  dataset_metadata: textMap,
  tags: texts,
  metrics,
  status_code: wholeNumber,
  step_number: wholeNumber,
  control_id: wholeNumber,
  temperature: finiteNumber,
  created_at: time,
  name: textOf,
  external_id: textOf,
  dataset_input: textOf,
  dataset_output: textOf,
  error_message: textOf,
  model: textOf,
  finish_reason: textOf,
  tool_call_id: textOf,
  agent_name: textOf,
  evaluator_name: textOf,
  selector_path: textOf,
};

type Role = LoggedMessage['role'];
const knownRoles: ReadonlyMap<unknown, Role> = new Map<string, Role>([
  ...loggedMessageRoles.map((role) => [role, role] as const),
  ['human', 'user'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['bot', 'assistant'],
]);

const isMessage = (value: unknown): value is Fields => isObject(value) && 'role' in value && 'content' in value;

/** @param byDefault the role of what has none that is known */
function message(value: unknown, byDefault: Role, path: string, keep: Keep): LoggedMessage {
  if (!isObject(value) || !('role' in value || 'content' in value)) return { role: byDefault, content: textOf(value ?? '') };
  if (LoggedMessage.safeParse(value).success) return value as LoggedMessage;
  const { role, content, tool_call_id, tool_calls } = value;
  const known = knownRoles.get(typeof role === 'string' ? role.trim().toLowerCase() : role);
  if (known === undefined && role != null) keep(`${path}.role`, role);
  const calls = tool_calls == null ? undefined : ToolCall.array().safeParse(toolCalls(tool_calls));
  if (calls && !calls.success) keep(`${path}.tool_calls`, tool_calls);
  return {
    role: known ?? byDefault,
    content: contentOf(content),
    ...(tool_call_id == null ? {} : { tool_call_id: textOf(tool_call_id) }),
    ...(calls?.success ? { tool_calls: calls.data } : {}),
  };
}

const toolCalls = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map((call: unknown) =>
        isObject(call) && isObject(call.function)
          ? {
              id: textOf(call.id ?? ''),
              function: { name: textOf(call.function.name ?? ''), arguments: textOf(call.function.arguments ?? '') },
            }
          : call,
      )
    : value;

/** Parts of a message that are neither text nor a stored file stand as their JSON text. */
function contentOf(value: unknown): LoggedMessage['content'] {
  if (!Array.isArray(value)) return textOf(value ?? '');
  return value.flatMap((part) => {
    const known = ContentParts.safeParse([part]);
    return known.success ? known.data : [{ type: 'text' as const, text: textOf(part) }];
  });
}

function document(value: unknown): unknown {
  if (Document.safeParse(value).success) return value;
  if (!isObject(value) || !('content' in value)) return { content: textOf(value) };
  const { content, metadata } = value;
  if (metadata == null) return { content: textOf(content) };
  const entries = isObject(metadata) ? Object.entries(metadata) : [['metadata', metadata] as const];
  const fitting = entries.flatMap(([key, one]) => {
    if (one == null) return [];
    return [[key, typeof one === 'boolean' || Number.isFinite(one) ? one : textOf(one)]];
  });
  return { content: textOf(content), metadata: Object.fromEntries(fitting) };
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A number, or what a text says that is one; NaN for anything else. */
const numberOf = (value: unknown): number =>
  typeof value === 'number' || (typeof value === 'string' && value.trim() !== '') ? Number(value) : Number.NaN;

/** Levels of a value that are written where it nests deeper than can be written. */
const WRITTEN_DEPTH = 64;

/** Any value as text: a text as it is, everything else as JSON; what JSON cannot hold by its name. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (err) {
    // Nested too deep for the stack. Of a value that refers to itself, or has a method that throws, nothing can be said.
    return err instanceof RangeError ? JSON.stringify(cut(value, 1)) : 'a value that is no JSON';
  }
}

function cut(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > WRITTEN_DEPTH) return '…';
  if (Array.isArray(value)) return value.map((one) => cut(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cut(one, depth + 1)]));
}
