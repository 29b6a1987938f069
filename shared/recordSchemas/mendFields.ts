import { z } from 'zod';
import type { ColumnDataType } from '../columns/columnDef.ts';
import { standardColumns } from '../columns/standard.ts';
import { atFirstProblem } from '../wire/atFirstProblem.ts';
import { isExact } from '../wire/exactNumber.ts';
import { type Fields, isObject } from '../wire/isObject.ts';
import { plainValue, withFieldsInMetadata } from '../wire/loggedDocuments.ts';
import { type MessageRole, messageRole } from '../wire/messageRoles.ts';
import { numberOf } from '../wire/numberOf.ts';
import { ContentParts, ControlResult, Document, jsonProblem, LlmEvent, LoggedMessage, ToolCall } from '../wire/recordParts.ts';
import { systemCounts, systemMetricNames } from '../wire/systemCounts.ts';
import { textOf } from '../wire/textOf.ts';
import { canonicalTime } from '../wire/time.ts';

/** Notes what a value was before it was changed to fit: a text under its path, such as `input.0.role`. */
type Keep = (path: string, value: unknown) => void;

/** Values that are kept beside one record, and characters of each: the metadata of a record is shown in lists. */
const MAX_KEPT = 100;
const MAX_KEPT_CHARACTERS = 10_000;

/** Originals of what was changed, as texts by their paths. */
export class KeptValues {
  readonly #texts = new Map<string, string>();

  readonly keep: Keep = (path, value) => {
    if (this.#texts.size >= MAX_KEPT) return;
    const text = textOf(value);
    this.#texts.set(path, text.length > MAX_KEPT_CHARACTERS ? `${text.slice(0, MAX_KEPT_CHARACTERS)}…` : text);
  };

  /** The metadata of the record with these beside it; what it says itself stays. */
  beside(metadata: unknown): Record<string, string> | undefined {
    const own = metadata as Record<string, string> | undefined;
    return this.#texts.size === 0 ? own : { ...Object.fromEntries(this.#texts), ...own };
  }
}

/**
 * Changes the fields that a schema refuses until it takes them: what can be read is read, what has a place as text becomes text, and everything
 * else is kept in `kept` and left out.
 * @param type kind of the record: the forms of inputs and outputs follow from it
 */
export function mendFields(fields: Fields, schema: z.ZodType, type: unknown, kept: KeptValues): void {
  // None is required, and none depends on another: one by one, a field is not looked through after its first problem.
  const refused = () => Object.keys(fields).filter((field) => !schema.validate({ type: fields.type, [field]: fields[field] }));
  const given = { ...fields };
  for (const field of refused()) {
    // Clients write "" for what they do not know.
    fields[field] = given[field] === '' ? undefined : repairOf(field, type)(given[field], field, kept.keep);
  }
  for (const field of refused()) {
    kept.keep(field, given[field]);
    fields[field] = undefined;
  }
}

type Repair = (value: unknown, path: string, keep: Keep) => unknown;

/** How a field is made to fit its schema. What cannot be is left to be kept as text beside the record. */
function repairOf(field: string, type: unknown): Repair {
  switch (field) {
    case 'input':
    case 'redacted_input':
      return type === 'llm' ? messages : type === 'tool' || type === 'retriever' || type === 'trace' ? textOf : steps;
    case 'output':
    case 'redacted_output':
      return outputRepairs[String(type)] ?? textOf;
    default:
      return fieldRepairs[field] ?? keptAside;
  }
}

const keptAside: Repair = (value, path, keep) => keep(path, value);

const mendedTags = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => (one == null ? [] : [textOf(one)]));

const mendedTextMap = (value: unknown, path: string): Record<string, string> =>
  isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, textOf(one)])) : { [path]: textOf(value) };

const wholeNumber: Repair = (value, path, keep) => {
  const number = Math.round(numberOf(value));
  const isWhole = Number.isSafeInteger(number);
  if (!isWhole || number !== numberOf(value)) keep(path, value);
  return isWhole ? number : undefined;
};

const finiteNumber: Repair = (value, path, keep) => {
  const number = numberOf(value);
  if (Number.isFinite(number)) return number;
  return keep(path, value);
};

const truths: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** Returns what a text or number says that is true or false. */
export const truthOf = (value: unknown): boolean | undefined =>
  // An object may have a `toString` that is no function.
  typeof value === 'object' ? undefined : truths.get(String(value).trim().toLowerCase());

const truth: Repair = (value, path, keep) => {
  const read = truthOf(value);
  if (read === undefined) keep(path, value);
  return read;
};

const time: Repair = (value, path, keep) => {
  const read = timeOf(value);
  if (read === undefined) keep(path, value);
  return read;
};

const day = /^\d{4}-\d\d-\d\d$/;
/** The form of mails and HTTP. */
const ofMail = /^[A-Z][a-z]{2}, (\d{1,2}) [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)? (GMT|UTC|[+-]\d{4})$/;

/** A time of another form than ISO 8601's, on a day that there is: JavaScript takes 31 February for 3 March. */
function otherTime(text: string): string | undefined {
  if (day.test(text)) return canonicalTime(`${text}T00:00:00Z`);
  const [, dayOfMonth, zone] = ofMail.exec(text) ?? [];
  if (!zone) return undefined;
  const isDay = new Date(`${text.slice(0, -zone.length)}GMT`).getUTCDate() === Number(dayOfMonth);
  return isDay ? timeOf(new Date(text)) : undefined;
}

/** A number is a time of Unix. Its size gives the unit: seconds, milliseconds, microseconds or nanoseconds of the years 1973 to 5138. */
function timeOf(value: unknown): string | undefined {
  const other = typeof value === 'string' ? otherTime(value.trim()) : undefined;
  if (other !== undefined) return other;
  const number = value instanceof Date ? value.getTime() : numberOf(value);
  const unit = [1e8, 1e11, 1e14, 1e17, 1e20].findLastIndex((least) => number >= least);
  const ms = value instanceof Date ? number : unit < 0 || unit > 3 ? Number.NaN : number / 1_000 ** (unit - 1);
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : canonicalTime(date.toISOString());
}

const counts: ReadonlySet<string> = new Set(systemCounts);

const metrics: Repair = (value, path, keep) => {
  if (!isObject(value)) return keep(path, value);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      if (one == null || (one === '' && systemMetricNames.has(name))) return [name, undefined];
      if (counts.has(name)) return [name, Number.isSafeInteger(one) ? one : wholeNumber(one, `${path}.${name}`, keep)];
      // A number that no double holds would make a text of the metric.
      if (typeof one === 'number' || isExact(one) || name === 'cost') return [name, finiteNumber(one, `${path}.${name}`, keep)];
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
  control: controlResult,
};

function controlResult(value: unknown, path: string, keep: Keep): unknown {
  if (!isObject(value)) return keep(path, value);
  const { action, matched, confidence, error_message } = value;
  const mended = {
    action: typeof action === 'string' ? action.trim().toLowerCase() : action,
    matched: truthOf(matched),
    ...(confidence == null ? {} : { confidence: finiteNumber(confidence, `${path}.confidence`, keep) }),
    ...(error_message == null ? {} : { error_message: textOf(error_message) }),
  };
  // Without the two that it must have, it stays in one piece.
  return ControlResult.validate(mended) ? mended : value;
}

/** The members of a list that fit; the others are kept aside one by one. */
const each =
  (schema: z.ZodType, mended: Repair = (one) => one): Repair =>
  (value, path, keep) =>
    (Array.isArray(value) ? value : [value]).flatMap((one, index) => {
      if (schema.validate(one)) return [one];
      const again = mended(one, `${path}.${index}`, keep);
      if (schema.validate(again)) return [again];
      keep(`${path}.${index}`, one);
      return [];
    });

const event: Repair = (value, path, keep) =>
  isObject(value) && value.type === 'message'
    ? {
        ...value,
        content: value.content == null ? value.content : textOf(value.content),
        role: role(value, 'assistant', path, keep),
      }
    : value;

/** Repairs of a field that catalogs list, where it takes any value of its type. */
const repairsOfType: Partial<Record<ColumnDataType, Repair>> = {
  text: textOf,
  integer: wholeNumber,
  boolean: truth,
  floating_point: finiteNumber,
  timestamp: time,
  string_list: mendedTags,
};

const fieldRepairs: Readonly<Record<string, Repair>> = {
  ...Object.fromEntries(
    standardColumns.flatMap(({ id, dataType, allowedValues }) => {
      const repair = allowedValues ? undefined : repairsOfType[dataType];
      return repair ? [[id, repair]] : [];
    }),
  ),
  user_metadata: mendedTextMap,
  dataset_metadata: mendedTextMap,
  metrics,
  duration_ns: wholeNumber,
  tools: each(z.record(z.string(), z.unknown()).refine((one) => jsonProblem(one) === undefined)),
  events: each(LlmEvent, event),
};

const isMessage = (value: unknown): value is Fields => isObject(value) && 'role' in value && 'content' in value;

/** @param byDefault the role of what has none that is known; one that it has is kept aside */
function role(given: Fields, byDefault: MessageRole, path: string, keep: Keep): MessageRole {
  // Some tools say it by the type of the message.
  const name = given.role ?? (messageRole(given.type) === undefined ? undefined : given.type);
  const known = messageRole(name);
  if (known === undefined && name != null) keep(`${path}.role`, name);
  return known ?? byDefault;
}

function message(value: unknown, byDefault: MessageRole, path: string, keep: Keep): LoggedMessage {
  if (!isObject(value) || !('role' in value || 'content' in value)) return { role: byDefault, content: textOf(value ?? '') };
  if (LoggedMessage.validate(value)) return value as LoggedMessage;
  const { content, tool_call_id, tool_calls } = value;
  const calls = tool_calls == null ? undefined : ToolCall.array().safeParse(toolCalls(tool_calls), atFirstProblem);
  if (calls && !calls.success) keep(`${path}.tool_calls`, tool_calls);
  return {
    role: role(value, byDefault, path, keep),
    content: contentOf(content),
    ...(tool_call_id == null ? {} : { tool_call_id: textOf(tool_call_id) }),
    ...(calls?.success ? { tool_calls: calls.data } : {}),
  };
}

/** Calls with their function in a key of its own, or flat, as `{ name, args }`. */
const toolCalls = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map((call: unknown) => {
        const of = isObject(call) && isObject(call.function) ? call.function : call;
        if (!isObject(call) || !isObject(of) || (of === call && typeof of.name !== 'string')) return call;
        const given = of.arguments ?? of.args ?? of.input ?? '';
        return { id: textOf(call.id ?? ''), function: { name: textOf(of.name ?? ''), arguments: textOf(given) } };
      })
    : value;

/** Parts of a message that are neither text nor a stored file stand as their JSON text. */
function contentOf(value: unknown): LoggedMessage['content'] {
  if (!Array.isArray(value)) return textOf(value ?? '');
  return value.flatMap((part) => {
    const known = ContentParts.safeParse([part], atFirstProblem);
    return known.success ? known.data : [{ type: 'text' as const, text: textOf(part) }];
  });
}

function document(given: unknown): unknown {
  const value = withFieldsInMetadata(given);
  if (Document.validate(value)) return value;
  if (!isObject(value) || !('content' in value)) return { content: textOf(value) };
  const { content, metadata } = value;
  if (metadata == null) return { content: textOf(content) };
  const entries = isObject(metadata) ? Object.entries(metadata) : [['metadata', metadata] as const];
  const fitting = entries.flatMap(([key, one]) => {
    if (one == null) return [];
    return [[key, plainValue(one)]];
  });
  return { content: textOf(content), metadata: Object.fromEntries(fitting) };
}
