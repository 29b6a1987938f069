import { z } from 'zod';
import { atFirstProblem } from '../wire/atFirstProblem.ts';
import { documentedAs, readBy, Uuid } from '../wire/common.ts';
import { type Fields as AnyFields, isObject } from '../wire/isObject.ts';
import { ProjectParams } from '../wire/projects.ts';
import {
  Int32,
  jsonProblem,
  LoggedLlmMetrics,
  LoggedMetrics,
  StepInput,
  StepOutput,
  Text,
  TextMap,
} from '../wire/recordParts.ts';
import { RunSelector } from '../wire/recordSearch.ts';
import { textOf } from '../wire/textOf.ts';
import { FieldBudget, fieldSizes, isCrowded } from './crowdedFields.ts';
import { LoggedSpan, LoggedTrace, SpanNode, TraceNode } from './loggedRecords.ts';
import { KeptValues, mendFields, truthOf } from './mendFields.ts';
import { type MendedRecord, mendRecord } from './mendRecord.ts';

/** Spans nest this deep in answers, which common JSON readers must take: deeper ones of a request stand beside the span above them. */
export const MAX_SPAN_DEPTH = 256;

type Fields<T> = T extends unknown ? Omit<T, 'type' | 'spans'> : never;
type AllKeys<T> = T extends unknown ? keyof T : never;
type Merged<T> = { [K in AllKeys<T>]?: T extends unknown ? (K extends keyof T ? T[K] : never) : never };

/** A trace or span as the caller sent it, checked, without its spans. */
export type LoggedFields = Merged<Fields<z.output<typeof TraceNode> | z.output<typeof SpanNode>>>;

type LoggedKind = 'trace' | z.output<typeof SpanNode>['type'];

/** One record of a tree laid flat. Parents stand before their children. */
export interface LoggedNode {
  kind: LoggedKind;
  fields: LoggedFields;
  /** The id as the caller gave it, where it is no UUID of version 4; `fields` has none then. */
  givenId: string | undefined;
  /** Position in the flat list; undefined at the top. */
  parent: number | undefined;
  /** Position in the request of the record at the top of its tree. */
  index: number;
}

/** Traces or spans of a request: those that can be stored, and those that are none. */
export interface LoggedForest {
  nodes: LoggedNode[];
  refused: RefusedList;
}

/** Records of a request that are not stored: some by name, and how many in all. */
export class RefusedList {
  readonly some: RefusedRecord[] = [];
  count = 0;

  add(one: RefusedRecord): void {
    if (++this.count <= MAX_NAMED) this.some.push(one);
  }
}

/** Refused records that an answer names. */
const MAX_NAMED = 1_000;

const RefusedRecord = z
  .object({
    /** Position in `traces` or `spans` of the request; that of its trace, for a nested span. */
    index: z.int(),
    id: z.string().nullable(),
    message: z.string(),
  })
  .meta({ id: 'RefusedRecord' });
export type RefusedRecord = z.output<typeof RefusedRecord>;

interface Open {
  value: unknown;
  depth: number;
  parent: number | undefined;
  /** The node above in the request, for the path named in an error. */
  above: Open | undefined;
  index: number;
}

type Issue = z.core.$ZodIssue;
type Context = z.RefinementCtx;

/** Records of one request: they are made ready in one turn of the event loop. */
const MAX_RECORDS = 100_000;

/**
 * Lays a forest of traces or spans flat: parents first, siblings in their order. A record that its schema refuses is mended; what is no record is
 * refused alone. Iterative: depth costs no stack.
 */
function flatten(roots: readonly unknown[], top: 'trace' | 'span', rootSchema: z.ZodType, context: Context): LoggedForest {
  const nodes: LoggedNode[] = [];
  const refused = new RefusedList();
  const budget = new FieldBudget();
  const issues: { issue: Issue; path: PropertyKey[] }[] = [];
  let count = roots.length;
  if (count > MAX_RECORDS) return tooMany(context);
  const open: Open[] = roots.map((value, index) => ({ value, depth: 0, parent: undefined, above: undefined, index })).reverse();
  for (let next = open.pop(); next; next = open.pop()) {
    const isTop = next.above === undefined;
    const schema = isTop ? rootSchema : SpanNode;
    // A record with too many parts is not parsed as it is: it counts as fitting no schema.
    const sizes = fieldSizes(next.value);
    let result = schema.safeParse(isCrowded(sizes) ? undefined : next.value, atFirstProblem);
    let mended: MendedRecord | undefined;
    if (!result.success) {
      const start = next.parent === undefined ? undefined : nodes[next.parent]?.fields.created_at;
      mended = mendRecord(next.value, schema, { top: isTop ? top : 'span', start, crowded: budget.crowded(sizes) });
      if (mended) result = schema.safeParse(mended.fields, atFirstProblem);
    }
    const path = result.success ? [] : pathOf(next);
    if (!result.success) {
      const [issue] = result.error.issues as [Issue];
      issues.push({ issue, path });
      refused.add({ index: path[0] as number, id: null, message: `${path.join('.')}: ${issue.message}` });
      continue;
    }
    // The parser has just made this object, so it is ours to change; a copy without the two keys would cost as much as the check.
    const fields = result.data as LoggedFields & { type?: LoggedKind | null; spans?: unknown[] | null | undefined };
    // The interface gives calls of models and controls no spans: those that come below one all the same are its children in the record alone.
    const spans = fields.spans ?? spansBelow(mended?.fields ?? next.value);
    if (fields.spans) fields.spans = undefined;
    const index = next.parent === undefined ? next.index : (nodes[next.parent] as LoggedNode).index;
    const kind = fields.type ?? 'trace';
    const position = nodes.push({ kind, fields, givenId: mended?.givenId, parent: next.parent, index }) - 1;
    if (!spans?.length) continue;
    const below =
      next.depth < MAX_SPAN_DEPTH ? { parent: position, depth: next.depth + 1 } : { parent: next.parent, depth: next.depth };
    count += spans.length;
    if (count > MAX_RECORDS) return tooMany(context);
    for (let at = spans.length - 1; at >= 0; at--) open.push({ value: spans[at], ...below, above: next, index: at });
  }
  if (nodes.length > 0) return { nodes, refused };
  for (const { issue, path } of issues) addIssue(context, issue, path);
  return z.NEVER;
}

function tooMany(context: Context): never {
  context.addIssue({ code: 'custom', message: `a request may hold ${MAX_RECORDS} traces and spans; send less per request` });
  return z.NEVER;
}

function spansBelow(value: unknown): unknown[] | undefined {
  const { spans } = value as { spans?: unknown };
  return Array.isArray(spans) ? spans : undefined;
}

function pathOf(node: Open): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at: Open | undefined = node; at; at = at.above) path.push(at.index, ...(at.above ? ['spans'] : []));
  return path.reverse();
}

const addIssue = (context: Context, issue: Issue, path: PropertyKey[]): void =>
  context.addIssue({ ...issue, path: [...path, ...issue.path] } as Parameters<Context['addIssue']>[0]);

const forest = (top: 'trace' | 'span', schema: z.ZodType) =>
  z
    .array(z.unknown())
    .min(1)
    .transform((roots, context) => flatten(roots, top, schema, context));

/** Traces with the spans nested in them, laid flat. */
export const LoggedTraces = forest('trace', TraceNode);
/** Spans with the spans nested in them, laid flat. */
const LoggedSpans = forest('span', SpanNode);
documentedAs.set(LoggedTraces, z.array(LoggedTrace).min(1));
documentedAs.set(LoggedSpans, z.array(LoggedSpan).min(1));

/** A field whose odd values are made to fit. @param mended replaces a value that the schema refuses */
const generous = <T extends z.ZodType>(schema: T, mended: (value: unknown) => unknown) =>
  readBy((value) => (schema.validate(value) ? value : mended(value)), schema).optional();

/** The id of a trace, or of a trace or span above: one that is no UUID of version 4 means the record that was logged with that id. */
const GivenId = z.union([Uuid, Text.min(1), z.number().transform(String)]);
documentedAs.set(GivenId, Uuid);
/** Id of a span in an update. An id that is no UUID is known in its trace alone, which an update does not name. */
const GivenSpanId = z.guid('must be a UUID: other ids of spans are known in their trace alone').toLowerCase();
documentedAs.set(GivenSpanId, Uuid);

/** Id of a session. Any other text is the `external_id` of one. */
const GivenSessionId = z.union([Uuid, Text]);
documentedAs.set(GivenSessionId, Uuid);

export const TraceUpdateParams = ProjectParams.extend({ trace_id: GivenId });
export const SpanUpdateParams = ProjectParams.extend({ span_id: GivenSpanId });

const unread = () => undefined;
/** Fields by which a client describes itself. They are not used. */
const Origin = {
  logging_method: generous(z.enum(['playground', 'python_client', 'typescript_client', 'api_direct']).nullish(), unread),
  client_version: generous(z.string().nullish(), unread),
  reliable: generous(z.boolean().nullish(), unread),
};

const anyText = generous(Text.nullish(), textOf);

/** Input or output of a span whose kind is not known yet: the form of its kind is made of it when it is stored. */
function anyStep(schema: z.ZodType) {
  const field = z.unknown().transform((value) => (jsonProblem(value) === undefined ? value : textOf(value)));
  documentedAs.set(field, schema.nullish());
  return field.optional();
}

const trueByDefault = generous(z.boolean().nullish(), truthOf).transform((value) => value ?? true);
const falseByDefault = generous(z.boolean().nullish(), truthOf).transform((value) => value ?? false);

export const LogTracesIngestRequest = z
  .object({
    ...RunSelector,
    ...Origin,
    session_id: generous(GivenSessionId.nullish(), textOf),
    session_external_id: anyText,
    traces: LoggedTraces,
    is_complete: trueByDefault,
    include_trace_ids: falseByDefault,
  })
  .meta({ id: 'LogTracesIngestRequest' });

export const LogSpansIngestRequest = z
  .object({ ...RunSelector, ...Origin, spans: LoggedSpans, trace_id: GivenId, parent_id: GivenId })
  .meta({ id: 'LogSpansIngestRequest' });

/**
 * The body of a request about one record. `fields` are made to fit as those of a logged record are; `kept` has as text what is odd and has no place
 * in them. What names the run and the record is refused where it is odd.
 */
function aboutOne<Names extends z.ZodRawShape, Shape extends z.ZodRawShape>(
  id: string,
  type: 'trace' | 'session' | undefined,
  names: Names,
  shape: Shape,
) {
  const fields = z.object(shape);
  const whole = z.object({ ...names, ...shape });
  const read = (given: unknown) => {
    if (!isObject(given)) return given;
    const changes = Object.fromEntries(Object.keys(shape).map((name) => [name, given[name]])) as AnyFields;
    const kept = new KeptValues();
    if (!fields.validate(changes)) mendFields(changes, fields, type, kept);
    return { ...given, ...changes, kept: kept.beside(undefined) };
  };
  const body = z.preprocess(read, whole.extend({ kept: z.record(z.string(), z.string()).optional() }));
  documentedAs.set(body, whole.meta({ id }));
  return body;
}

export const LogTraceUpdateRequest = aboutOne(
  'LogTraceUpdateRequest',
  'trace',
  { ...RunSelector, ...Origin, trace_id: GivenId },
  {
    input: Text.nullish(),
    output: Text.nullish(),
    status_code: Int32.nullish(),
    tags: z.array(Text).nullish(),
    is_complete: z.boolean().nullish(),
    duration_ns: z.int().nullish(),
    metrics: LoggedMetrics.nullish(),
  },
);

export const LogSpanUpdateRequest = aboutOne(
  'LogSpanUpdateRequest',
  undefined,
  { ...RunSelector, ...Origin, span_id: GivenSpanId },
  {
    input: anyStep(StepInput),
    output: anyStep(StepOutput),
    status_code: Int32.nullish(),
    tags: z.array(Text).nullish(),
    duration_ns: z.int().nullish(),
    metrics: LoggedLlmMetrics.nullish(),
  },
);

export const SessionCreateRequest = aboutOne(
  'SessionCreateRequest',
  'session',
  { ...RunSelector, ...Origin },
  {
    name: Text.nullish(),
    previous_session_id: Uuid.nullish(),
    external_id: Text.nullish(),
    user_metadata: TextMap.nullish(),
  },
);

const Answer = {
  log_stream_id: z.string().nullable(),
  experiment_id: z.string().nullable(),
  metrics_testing_id: z.string().nullable(),
  project_id: z.string(),
  project_name: z.string(),
  session_id: z.string().nullable(),
  records_count: z.number().int(),
};

/** Beside the keys of the interface, where records of the request could not be stored: the first 1,000 of them, and how many there are. */
const Refused = { refused: z.array(RefusedRecord).optional(), refused_count: z.int().optional() };

export const LogTracesIngestResponse = z
  .object({
    ...Answer,
    traces_count: z.number().int(),
    spans_count: z.number().int(),
    trace_ids: z.array(z.string()).nullable(),
    ...Refused,
  })
  .meta({ id: 'LogTracesIngestResponse' });
export const LogSpansIngestResponse = z
  .object({ ...Answer, trace_id: z.string(), parent_id: z.string(), ...Refused })
  .meta({ id: 'LogSpansIngestResponse' });
export const LogTraceUpdateResponse = z.object({ ...Answer, trace_id: z.string() }).meta({ id: 'LogTraceUpdateResponse' });
export const LogSpanUpdateResponse = z.object({ ...Answer, span_id: z.string() }).meta({ id: 'LogSpanUpdateResponse' });
export const SessionCreateResponse = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    project_id: z.string(),
    project_name: z.string(),
    previous_session_id: z.string().nullable(),
    external_id: z.string().nullable(),
  })
  .meta({ id: 'SessionCreateResponse' });
