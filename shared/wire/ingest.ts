import { z } from 'zod';
import { documentedAs, Uuid } from './common.ts';
import { Int32, LlmMetrics, Metrics, StepInput, StepOutput, Text, TextMap } from './recordParts.ts';
import { RunSelector } from './recordSearch.ts';
import { LoggedSpan, LoggedTrace, SpanNode, TraceNode } from './records.ts';

/** Spans may nest this deep in one request; common JSON readers would refuse deeper trees when they come back. */
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
  /** Position in the flat list; undefined at the top. */
  parent: number | undefined;
}

interface Open {
  value: unknown;
  depth: number;
  parent: number | undefined;
  /** The node above in the request, for the place named in an error. */
  above: Open | undefined;
  index: number;
}

type Issue = z.core.$ZodIssue;
type Context = z.RefinementCtx;

/** Checks a forest of traces or spans and lays it flat: parents first, siblings in their order. Iterative: depth costs no stack. */
function flatten(roots: readonly unknown[], rootSchema: z.ZodType, context: Context): LoggedNode[] {
  const nodes: LoggedNode[] = [];
  const open: Open[] = roots.map((value, index) => ({ value, depth: 0, parent: undefined, above: undefined, index })).reverse();
  for (let next = open.pop(); next; next = open.pop()) {
    const result = (next.depth === 0 ? rootSchema : SpanNode).safeParse(next.value);
    if (!result.success) {
      const place = placeOf(next);
      for (const issue of result.error.issues) addIssue(context, issue, place);
      return z.NEVER;
    }
    // The parser has just made this object, so it is ours to change; a copy without the two keys would cost as much as the check.
    const fields = result.data as LoggedFields & { type?: LoggedKind | null; spans?: unknown[] | null | undefined };
    const { spans } = fields;
    if (spans) fields.spans = undefined;
    const position = nodes.push({ kind: fields.type ?? 'trace', fields, parent: next.parent }) - 1;
    if (!spans?.length) continue;
    if (next.depth >= MAX_SPAN_DEPTH) {
      context.addIssue({
        code: 'custom',
        path: [...placeOf(next), 'spans'],
        message: `spans must not nest deeper than ${MAX_SPAN_DEPTH} levels; send deeper ones on their own with their parent_id`,
      });
      return z.NEVER;
    }
    for (let index = spans.length - 1; index >= 0; index--) {
      open.push({ value: spans[index], depth: next.depth + 1, parent: position, above: next, index });
    }
  }
  return nodes;
}

function placeOf(node: Open): (string | number)[] {
  const place: (string | number)[] = [];
  for (let at: Open | undefined = node; at; at = at.above) place.unshift(...(at.above ? ['spans', at.index] : [at.index]));
  return place;
}

const addIssue = (context: Context, issue: Issue, place: PropertyKey[]): void =>
  context.addIssue({ ...issue, path: [...place, ...issue.path] } as Parameters<Context['addIssue']>[0]);

const forest = (schema: z.ZodType) =>
  z
    .array(z.unknown())
    .min(1)
    .transform((roots, context) => flatten(roots, schema, context));

/** Traces with the spans nested in them, laid flat. */
export const LoggedTraces = forest(TraceNode);
/** Spans with the spans nested in them, laid flat. */
const LoggedSpans = forest(SpanNode);
documentedAs.set(LoggedTraces, z.array(LoggedTrace).min(1));
documentedAs.set(LoggedSpans, z.array(LoggedSpan).min(1));

const Origin = {
  logging_method: z.enum(['playground', 'python_client', 'typescript_client', 'api_direct']).nullish(),
  client_version: z.string().nullish(),
  reliable: z.boolean().nullish(),
};

const trueByDefault = z
  .boolean()
  .nullish()
  .transform((value) => value ?? true);

export const LogTracesIngestRequest = z
  .object({
    ...RunSelector,
    ...Origin,
    session_id: Uuid.nullish(),
    session_external_id: Text.nullish(),
    traces: LoggedTraces,
    is_complete: trueByDefault,
    include_trace_ids: z.boolean().nullish(),
  })
  .meta({ id: 'LogTracesIngestRequest' });

export const LogSpansIngestRequest = z
  .object({ ...RunSelector, ...Origin, spans: LoggedSpans, trace_id: Uuid, parent_id: Uuid })
  .meta({ id: 'LogSpansIngestRequest' });

export const LogTraceUpdateRequest = z
  .object({
    ...RunSelector,
    ...Origin,
    trace_id: Uuid,
    input: Text.nullish(),
    output: Text.nullish(),
    status_code: Int32.nullish(),
    tags: z.array(Text).nullish(),
    is_complete: z.boolean().nullish(),
    duration_ns: z.int().nullish(),
    metrics: Metrics.nullish(),
  })
  .meta({ id: 'LogTraceUpdateRequest' });

export const LogSpanUpdateRequest = z
  .object({
    ...RunSelector,
    ...Origin,
    span_id: Uuid,
    input: StepInput.nullish(),
    output: StepOutput.nullish(),
    status_code: Int32.nullish(),
    tags: z.array(Text).nullish(),
    duration_ns: z.int().nullish(),
    metrics: LlmMetrics.nullish(),
  })
  .meta({ id: 'LogSpanUpdateRequest' });

export const SessionCreateRequest = z
  .object({
    ...RunSelector,
    ...Origin,
    name: Text.nullish(),
    previous_session_id: Uuid.nullish(),
    external_id: Text.nullish(),
    user_metadata: TextMap.nullish(),
  })
  .meta({ id: 'SessionCreateRequest' });

const Answer = {
  log_stream_id: z.string().nullable(),
  experiment_id: z.string().nullable(),
  metrics_testing_id: z.string().nullable(),
  project_id: z.string(),
  project_name: z.string(),
  session_id: z.string().nullable(),
  records_count: z.number().int(),
};

export const LogTracesIngestResponse = z
  .object({ ...Answer, traces_count: z.number().int(), spans_count: z.number().int(), trace_ids: z.array(z.string()).nullable() })
  .meta({ id: 'LogTracesIngestResponse' });
export const LogSpansIngestResponse = z
  .object({ ...Answer, trace_id: z.string(), parent_id: z.string() })
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

const tally = z.number().int();
export const IngestCountersResponse = z
  .object({
    project_id: z.string(),
    /** Records of requests that could be read: the sum of the next four. */
    accepted_records: tally,
    stored_records: tally,
    /** Updates of records that had not come. */
    held_records: tally,
    rejected_records: tally,
    records_under_way: tally,
    /** Updates of the project that wait for their records at this moment, and the most that may. */
    held_updates: z.object({ updates: tally, updates_limit: tally, bytes: tally, bytes_limit: tally }),
    process: z.object({
      /** Requests refused with 429 before their records were known. */
      refused_requests: tally,
      /** Held by requests that are not answered yet, and the most that may be. */
      bytes_under_way: tally,
      bytes_limit: tally,
      /** Of those, what waits to be written or is being written. */
      bytes_waiting: tally,
    }),
  })
  .meta({ id: 'IngestCountersResponse' });
