import { isDeepStrictEqual } from 'node:util';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { SpanNode } from '../recordSchemas/loggedRecords.ts';
import { KeptValues, mendFields } from '../recordSchemas/mendFields.ts';
import { atFirstProblem } from '../wire/atFirstProblem.ts';
import { systemMetricNames } from '../wire/systemCounts.ts';
import { isFailure } from './failed.ts';
import { fileIds } from './fileIds.ts';
import type { HeldUpdate } from './heldUpdates.ts';
import { onTopOf } from './provisionalTrace.ts';
import type { StoredRecord } from './record.ts';
import type { StoredKey } from './recordStore.ts';

/** A record as it was logged: its time and its session are settled when it is written. */
export interface LoggedRecord
  extends Omit<StoredRecord, 'project_id' | 'run_id' | 'version' | 'created_at' | 'session_id' | 'updated_at'> {
  created_at?: string | undefined;
  session_id?: string | undefined;
}

/** The fields of an update. Null and absent keep the stored value; tags are added. */
export interface RecordUpdate {
  input?: unknown;
  output?: unknown;
  status_code?: number | null | undefined;
  tags?: readonly string[] | null | undefined;
  duration_ns?: number | null | undefined;
  /** Each replaces the stored one of its name, but for those that are null. */
  metrics?: Readonly<Record<string, unknown>> | null | undefined;
  /** True closes a trace; nothing opens one again. */
  is_complete?: boolean | null | undefined;
  /** Texts for the metadata: what was odd in the update and has no place in its fields. */
  kept?: Readonly<Record<string, string>> | undefined;
}

/**
 * One step of a write.
 * - `log`: stores the record; on top of what is stored under its id, where it is there already (a repeat, or a fuller version); what an
 *   update has set stays.
 * - `replace`: stores the record in place of what is there, unless a higher attempt wrote that or its trace.
 * - `open`: stores the record unless its id is there already. A session that only records had opened by naming it is the caller's from now on.
 * - `announce`: says in which session a trace is whose own record may come later; nothing else of the record counts.
 * - `update`: changes a stored trace or span. One that is not stored yet takes the update when it comes, where updates are held; a record that was
 *   deleted, or is of another kind, is `NotFound`.
 */
export type RecordChange =
  | {
      action: 'log' | 'replace' | 'open' | 'announce';
      record: LoggedRecord;
      /** The id was made for this write: no other write can have stored it. */
      freshId?: boolean;
      /** A trace by its id: where it is in a session already, that one counts, and no other is opened or announced. */
      unlessInSession?: string;
    }
  | {
      action: 'update';
      id: string;
      of: 'trace' | 'span';
      update: RecordUpdate;
      /** When it was answered, where that was before it is written; its record was stored then. */
      at?: string;
    };

/** Where a change left its record. */
export interface WrittenRecord {
  id: string;
  session_id: string;
  trace_id: string | null;
  /** False where a record of this id was stored before. */
  isNew: boolean;
  /** An update that waits for its record: nothing was written. */
  isHeld?: true;
}

/** The stored state that a change is merged with. `at` and `version` come from the writer's clock. */
export interface Settling {
  run: { projectId: string; runId: string };
  stored: StoredRecord | undefined;
  /** Where the key of this id says that it is, where that is stored. */
  key: StoredKey | undefined;
  /** Settled `created_at` of this id, also where only its key was stored. */
  createdAt: string | undefined;
  /** Session of the record's trace, where that is known. */
  traceSession: string | undefined;
  /** Attempt that wrote the record's trace, where that is stored. */
  traceAttempt: number | undefined;
  version: number;
  at: string;
}

/**
 * The record as it is to be stored now; undefined when the change leaves everything as it is.
 * @throws RequestInvalid when the record cannot have what the change gives it, ServiceError `NotFound` for an update of what is not stored.
 */
export function settle(change: RecordChange, from: Settling): StoredRecord | undefined {
  const record = changed(change, from);
  if (!record) return undefined;
  const next = withoutNullMetadata(withDuration(record));
  return change.action === 'log' && saysNothingNew(change.record, next, from) ? undefined : next;
}

/** A document has metadata or none; clients write null for none, which the interface does not have there. */
function withoutNullMetadata(record: StoredRecord): StoredRecord {
  const [output, redacted_output] = [documentsOf(record.output), documentsOf(record.redacted_output)];
  if (!output && !redacted_output) return record;
  return { ...record, ...(output && { output }), ...(redacted_output && { redacted_output }) };
}

/** The documents of an output without their null metadata; undefined where it has none. */
function documentsOf(output: StoredRecord['output']): { content: string; metadata?: Record<string, string> }[] | undefined {
  if (!Array.isArray(output) || !output.some((document) => (document as { metadata?: unknown }).metadata === null))
    return undefined;
  return output.map((document) => {
    const { metadata, ...rest } = document as { content: string; metadata?: Record<string, string> | null };
    return metadata === null || metadata === undefined ? rest : { ...rest, metadata };
  });
}

/** A clock that was set back amid a step makes its duration negative: it is 0, as for spans of OpenTelemetry, and no average falls below it. */
function withDuration(record: StoredRecord): StoredRecord {
  const duration = record.metrics?.duration_ns;
  return typeof duration === 'number' && duration < 0 ? { ...record, metrics: { ...record.metrics, duration_ns: 0 } } : record;
}

function changed(change: RecordChange, from: Settling): StoredRecord | undefined {
  if (change.action === 'update') return updated(change, from);
  const { record } = change;
  const { stored } = from;
  // An experiment's ids are computed from its rows: whatever else was stored under one of them gives way.
  if (change.action !== 'replace') refuseTakenId(record, stored);
  if (stored && change.action === 'open') {
    if (!stored.is_provisional || record.is_provisional) return undefined;
    return { ...stored, is_provisional: false, updated_at: from.at, version: from.version };
  }
  if (stored && change.action === 'announce' && record.session_id === stored.session_id) return undefined;
  const currentAttempt = Math.max(stored?.attempt ?? 0, from.traceAttempt ?? 0);
  if (change.action === 'replace' && currentAttempt > (record.attempt ?? 0)) return undefined;
  const isTrace = change.action === 'log' && record.type === 'trace';
  const onTop = stored && (isTrace ? onTopOf(stored, record) : { stored, given: record });
  if (stored && !onTop) return undefined;
  const base = onTop && change.action !== 'replace' ? merge(inKind(onTop.stored, record.type), onTop.given) : record;
  // A span that is logged again in another trace goes to the session of that one.
  const sessionKept = stored?.trace_id === record.trace_id ? stored.session_id : undefined;
  return {
    ...base,
    project_id: from.run.projectId,
    run_id: from.run.runId,
    created_at: from.createdAt ?? record.created_at ?? from.at,
    // A span is in the session of its trace, whatever it says itself.
    session_id:
      (levelOf(record) === 'span' ? from.traceSession : undefined) ??
      record.session_id ??
      sessionKept ??
      from.traceSession ??
      record.trace_id ??
      record.id,
    updated_at: from.at,
    version: from.version,
  };
}

/**
 * True when a repeat changes nothing of a record but the time of its writing: the record is not written again then, and its scores stand. A repeat that
 * brings scores is written, since a scorer may have given others meanwhile. So is a repeat of a record whose key differs, which a write leaves behind
 * that stored its keys and then failed.
 */
function saysNothingNew(given: LoggedRecord, next: StoredRecord, { stored, key }: Settling): boolean {
  if (!stored || !key || Object.keys(given.metrics ?? {}).some((name) => !systemMetricNames.has(name))) return false;
  const { session_id, trace_id, parent_id = null, type } = next;
  if (!isDeepStrictEqual({ session_id, trace_id, parent_id, type }, positionOf(key))) return false;
  const { updated_at, version } = stored;
  return isDeepStrictEqual(knownFields(stored), knownFields({ ...next, updated_at, version } as StoredRecord));
}

const positionOf = ({ session_id, trace_id, parent_id, type }: StoredKey) => ({ session_id, trace_id, parent_id, type });

/** Returns the fields of a record that have a value: absent, null and empty ones have none. */
const knownFields = (record: StoredRecord): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).filter(
      ([name, value]) => isGiven(value) && !(maps.has(name) && Object.keys(value as object).length === 0),
    ),
  );

const maps: ReadonlySet<string> = new Set(['user_metadata', 'dataset_metadata', 'metrics']);

type Level = 'trace' | 'session' | 'span';
const levelOf = ({ type }: Pick<StoredRecord, 'type'>): Level => (type === 'trace' || type === 'session' ? type : 'span');

/**
 * An id is one record of its run: a trace, a session or a span. The kinds of spans share a level, so that a span may be logged again as another.
 * @throws RequestInvalid when another one has the id, which the record would take away.
 */
function refuseTakenId(record: LoggedRecord, stored: StoredRecord | undefined): void {
  const level = levelOf(record);
  if (stored && levelOf(stored) !== level) throw idTaken(record, `is that of a ${levelOf(stored)} of this run`);
  if (level === 'span' && record.id === record.trace_id) throw idTaken(record, 'is that of its trace');
}

const idTaken = ({ id, type }: LoggedRecord, whose: string): RequestInvalid =>
  new RequestInvalid([
    { loc: ['body'], msg: `the id ${id} ${whose}; a record of type ${type} needs another`, type: 'id_taken', input: id },
  ]);

/**
 * A repeat on top of what is stored: what it gives wins, what it leaves out stays, and a complete trace stays complete. An update comes after the
 * record it changes, so a repeat that arrives later than one, such as a request whose answer was lost, does not take back what the update set.
 */
function merge(stored: StoredRecord, given: LoggedRecord): StoredRecord {
  const merged: Record<string, unknown> = { ...stored };
  const updated = stored.updated_fields ?? [];
  for (const [name, value] of Object.entries(given)) if (isGiven(value) && !updated.includes(name)) merged[name] = value;
  // A success clears an earlier error. An error that arrives after an update has set a success is not taken.
  const isSuccess = !isFailure(merged as unknown as StoredRecord);
  if (isSuccess && updated.includes('status_code')) merged.error_message = stored.error_message;
  else if (isSuccess && isFailure(stored) && !isGiven(given.error_message)) merged.error_message = '';
  if (isGiven(given.input) || isGiven(given.output)) merged.file_ids = fileIds(merged.input, merged.output) ?? [];
  return {
    ...(merged as unknown as StoredRecord),
    tags: union(stored.tags, given.tags),
    user_metadata: { ...stored.user_metadata, ...given.user_metadata },
    dataset_metadata: { ...stored.dataset_metadata, ...given.dataset_metadata },
    metrics: { ...mergeMetrics(stored.metrics, given.metrics), ...updatedMetrics(stored) },
    ...(given.type === 'trace'
      ? { trace_is_complete: given.trace_is_complete === true || stored.trace_is_complete === true }
      : {}),
  };
}

/** The metrics that updates have set. */
const updatedMetrics = ({ metrics, updated_fields = [] }: StoredRecord): Record<string, unknown> =>
  Object.fromEntries(Object.entries(metrics ?? {}).filter(([name]) => updated_fields.includes(metricField(name))));

const metricField = (name: string): string => (name === 'duration_ns' ? name : `metrics/${name}`);

/** The stored record as one of this kind: inputs and outputs in its shape, as text where they do not fit, or left out. */
function inKind(stored: StoredRecord, type: StoredRecord['type']): StoredRecord {
  if (stored.type === type) return stored;
  const { input, output, redacted_input, redacted_output } = stored;
  const { model: _, ...others } = stored;
  return {
    ...(stored.type === 'llm' ? others : stored),
    input: inShape(type, 'input', input),
    output: inShape(type, 'output', output),
    redacted_input: inShape(type, 'input', redacted_input),
    redacted_output: inShape(type, 'output', redacted_output),
  };
}

function inShape(type: StoredRecord['type'], field: 'input' | 'output', value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  for (const form of [value, typeof value === 'string' ? value : JSON.stringify(value)]) {
    const result = SpanNode.safeParse({ type, [field]: form }, atFirstProblem);
    if (result.success) return result.data[field];
  }
  return undefined;
}

// Clients write "" and [] for what they do not know yet.
const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);

const union = (stored: readonly string[] = [], given: readonly string[] | null = []): readonly string[] => [
  ...new Set([...stored, ...(given ?? [])]),
];

const mergeMetrics = (stored: StoredRecord['metrics'], given: RecordUpdate['metrics']): Record<string, unknown> => ({
  ...stored,
  ...Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== null && value !== undefined)),
});

function updated(
  { id, of, update, at: answeredAt }: RecordChange & { action: 'update' },
  { stored, version, at }: Settling,
): StoredRecord {
  if (!stored || !isOf(of, stored)) {
    throw new ServiceError('NotFound', `no ${of} ${id} is stored in this run; if it was sent before, try again`, {
      context: { id },
    });
  }
  const updated_at = answeredAt === undefined ? at : latest(answeredAt, stored.updated_at ?? answeredAt);
  return { ...withUpdate(stored, update), updated_at, version };
}

const latest = (one: string, other: string): string => (one > other ? one : other);

const isOf = (of: HeldUpdate['of'], record: Pick<StoredRecord, 'type'>): boolean => levelOf(record) === of;

function withUpdate(stored: StoredRecord, update: RecordUpdate): StoredRecord {
  const { status_code, tags, duration_ns } = update;
  const { input, output, kept } = stored.type === 'trace' ? update : fitting(stored.type, update);
  const metrics = mergeMetrics(mergeMetrics({}, update.metrics), { duration_ns });
  const isRewritten = input != null || output != null;
  const files = isRewritten ? (fileIds(input ?? stored.input, output ?? stored.output) ?? []) : undefined;
  const given = [
    ...Object.entries({ input, output, status_code }).flatMap(([name, value]) => (value == null ? [] : [name])),
    ...Object.keys(metrics).map(metricField),
  ];
  return {
    ...stored,
    ...(input == null ? {} : { input }),
    ...(output == null ? {} : { output }),
    ...(files ? { file_ids: files } : {}),
    ...(status_code == null ? {} : { status_code }),
    ...(status_code != null && isFailure(stored) && !isFailure({ status_code }) ? { error_message: '' } : {}),
    ...(tags == null ? {} : { tags: union(stored.tags, tags) }),
    ...(Object.keys(metrics).length === 0 ? {} : { metrics: { ...stored.metrics, ...metrics } }),
    ...(kept ? { user_metadata: { ...stored.user_metadata, ...kept } } : {}),
    ...(given.length === 0 ? {} : { updated_fields: union(stored.updated_fields, given) }),
    ...(update.is_complete === true && stored.type === 'trace' ? { trace_is_complete: true } : {}),
  };
}

/**
 * A record that is stored for the first time, with the updates that came before it. One of another kind of record changes nothing: it was answered
 * when that was not known.
 */
export function withHeldUpdates(record: StoredRecord, held: readonly HeldUpdate[]): StoredRecord {
  let next = record;
  for (const { of, update } of held) if (isOf(of, record)) next = withUpdate(next, update);
  return withoutNullMetadata(withDuration(next));
}

/**
 * Input and output in the shape of the span's kind, which the caller of an update does not name: what is odd is made to fit as where it is logged.
 * `kept`: what it was, for the metadata of the span.
 */
function fitting(
  type: StoredRecord['type'],
  { input, output, kept: keptBefore }: RecordUpdate,
): Pick<RecordUpdate, 'input' | 'output' | 'kept'> {
  const fields: Record<string, unknown> = { type, input, output };
  const kept = new KeptValues();
  let result = SpanNode.safeParse(fields, atFirstProblem);
  if (!result.success) {
    mendFields(fields, SpanNode, type, kept);
    result = SpanNode.safeParse(fields, atFirstProblem);
  }
  return { input: result.data?.input, output: result.data?.output, kept: kept.beside(keptBefore) };
}
