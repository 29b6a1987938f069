import { z } from 'zod';
import { Uuid } from '../wire/common.ts';
import { answeredOutput, answeredRedactedInput, loggedInput, loggedOutput } from '../wire/inputOutput.ts';
import { MetricResult } from '../wire/metricResults.ts';
import { loggedKinds, recordKinds, spanKinds } from '../wire/recordKinds.ts';
import {
  FileMetadata,
  fileModalities,
  LlmEvent,
  LlmMetrics,
  LoggedLlmMetrics,
  LoggedMetrics,
  Metrics,
  TextMap,
} from '../wire/recordParts.ts';
import { each, field } from './recordField.ts';

const textMap = { sqlType: 'Map(LowCardinality(String), String) CODEC(ZSTD(1))' } as const;
const maybeUuid = { sqlType: 'Nullable(UUID)' } as const;
const maybeLongText = { sqlType: 'Nullable(String) CODEC(ZSTD(1))', isLong: true } as const;
const AnsweredTexts = z.record(z.string(), z.string());

/** The fields of records that no catalog lists: parts of them are columns (keys of maps, metrics), or no filter names them. */
export const unlistedFields = [
  field({
    id: 'redacted_input',
    kinds: recordKinds,
    logged: loggedInput,
    answered: answeredRedactedInput,
    stored: { ...maybeLongText, as: 'text or json' },
  }),
  field({
    id: 'redacted_output',
    kinds: recordKinds,
    logged: loggedOutput,
    answered: answeredOutput,
    stored: { ...maybeLongText, as: 'text or json' },
  }),
  field({
    id: 'user_metadata',
    kinds: recordKinds,
    logged: each(loggedKinds, TextMap.nullish()),
    answered: each(recordKinds, AnsweredTexts),
    blank: {},
    always: true,
    stored: textMap,
  }),
  field({
    id: 'dataset_metadata',
    kinds: recordKinds,
    logged: each(loggedKinds, TextMap.nullish()),
    answered: each(recordKinds, AnsweredTexts),
    blank: {},
    always: true,
    stored: textMap,
  }),
  field({
    id: 'metrics',
    kinds: recordKinds,
    logged: { ...each(loggedKinds, LoggedMetrics.nullish()), llm: LoggedLlmMetrics.nullish() },
    answered: { ...each(recordKinds, Metrics), llm: LlmMetrics },
    blank: {},
    always: true,
    stored: { sqlType: '', as: 'metrics' },
  }),
  // The source of a call's cost: its client, or the prices of the day.
  field({
    id: 'cost_source',
    kinds: spanKinds,
    answered: each(spanKinds, z.enum(['logged', 'price']).nullable()),
    stored: { sqlType: 'LowCardinality(Nullable(String))' },
  }),
  // Which of a span's figures are in the sums of its trace. Null where it says none; of what former releases stored all usage of calls is, and no other.
  field({
    id: 'counted_usage',
    kinds: spanKinds,
    answered: each(spanKinds, z.enum(['all', 'tokens', 'cost', 'none']).nullable()),
    stored: { sqlType: 'LowCardinality(Nullable(String))' },
  }),
  field({
    id: 'events',
    kinds: ['llm'],
    value: z.array(LlmEvent),
    stored: { ...maybeLongText, as: 'json' },
  }),
  field({
    id: 'file_ids',
    kinds: recordKinds,
    answered: each(recordKinds, z.array(Uuid)),
    blank: [],
    always: true,
    stored: { sqlType: 'Array(UUID)' },
  }),
  field({
    id: 'file_modalities',
    kinds: recordKinds,
    answered: each(recordKinds, z.array(z.enum(fileModalities))),
    blank: [],
    always: true,
    stored: { sqlType: 'Array(LowCardinality(String))' },
  }),
  field({
    id: 'previous_session_id',
    kinds: ['session'],
    answered: { session: Uuid.nullable() },
    stored: maybeUuid,
  }),
  field({ id: 'metrics_batch_id', kinds: recordKinds, answered: each(recordKinds, Uuid.nullable()), stored: maybeUuid }),
  field({ id: 'session_batch_id', kinds: recordKinds, answered: each(recordKinds, Uuid.nullable()), stored: maybeUuid }),
  field({
    id: 'metric_info',
    kinds: recordKinds,
    answered: each(recordKinds, z.record(z.string(), MetricResult).nullable()),
    blank: {},
  }),
  field({ id: 'files', kinds: recordKinds, answered: each(recordKinds, z.record(Uuid, FileMetadata).nullable()) }),
  field({ id: 'num_spans', kinds: ['trace'], answered: { trace: z.int().nullable() } }),
  field({ id: 'num_traces', kinds: ['session'], answered: { session: z.int().nullable() } }),
  // False while more spans of the trace will follow. The records below it read it from the trace.
  field({ id: 'trace_is_complete', kinds: ['trace'], stored: { sqlType: 'Bool DEFAULT true' } }),
  // A trace that the highest of its spans has opened, since its root has not come: the root takes its place. A session that only records have opened, by
  // naming it: it goes when all of them have left it for another one.
  field({ id: 'is_provisional', kinds: ['trace', 'session'], stored: { sqlType: 'Bool' } }),
  // The attempt that wrote the row of an experiment; the highest one counts.
  field({ id: 'attempt', kinds: loggedKinds, stored: { sqlType: 'UInt32' } }),
  // Fields that updates have set: `input`, `output`, `status_code`, `duration_ns`, `metrics/<name>`. Former releases kept them in the cache alone.
  field({
    id: 'updated_fields',
    kinds: loggedKinds,
    stored: { sqlType: "Array(LowCardinality(String)) DEFAULT JSONExtract(short_columns, 'updated_fields', 'Array(String)')" },
  }),
  // Decides between rewrites of one record: the highest one counts.
  field({ id: 'version', kinds: recordKinds, stored: { sqlType: 'UInt64' } }),
] as const;
