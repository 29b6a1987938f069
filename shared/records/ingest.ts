import { z } from 'zod';
import type { datasetFields } from '../columns/dataset.ts';
import { RequestInvalid } from '../errors/errors.ts';
import { derivedId, newId } from '../identifiers/ids.ts';
import type { RunRef } from '../projects/runs.ts';
import {
  type LoggedFields,
  type LoggedForest,
  type LoggedNode,
  LoggedTraces,
  type RefusedList,
} from '../recordSchemas/ingest.ts';
import type { LoggedTrace } from '../recordSchemas/loggedRecords.ts';
import { Uuid } from '../wire/common.ts';
import { fileIds } from './fileIds.ts';
import type { StoredRecord } from './record.ts';
import type { LoggedRecord, RecordChange, WrittenRecord } from './recordChange.ts';
import type { RecordWriter } from './recordWriter.ts';
import type { Outcome } from './writeRequest.ts';

type Writer = Pick<RecordWriter, 'write' | 'writeParts' | 'counters'>;

export interface TraceBatch {
  /** Traces with their spans, laid flat. */
  traces: LoggedForest;
  isComplete: boolean;
  /** One that is no UUID of version 4 is an external id. */
  sessionId?: string | null | undefined;
  /** The session with this id of the caller's is opened when the run has none. */
  sessionExternalId?: string | null | undefined;
}

export interface TracesWritten {
  traceIds: string[];
  spansCount: number;
  sessionId: string | null;
  /** Sessions that traces have left for another one. */
  left: readonly string[];
  refused: RefusedList;
}

/**
 * Stores traces and the spans nested in them, in one write. A record that cannot be stored is left out.
 * @throws RequestInvalid when none can be stored
 */
export async function ingestTraces(writer: Writer, run: RunRef, batch: TraceBatch): Promise<TracesWritten> {
  const given = Uuid.safeParse(batch.sessionId).data;
  const external = batch.sessionExternalId || (given === undefined ? batch.sessionId : undefined) || undefined;
  const sessionId = given ?? (external === undefined ? undefined : sessionIdOf(run, external));
  const top = { isComplete: batch.isComplete, ...(sessionId === undefined ? {} : { sessionId }) };
  const changes = recordsOf(run, batch.traces.nodes, top);
  const opened = external !== undefined && given === undefined ? [openedSession(run, external)] : [];
  const { ids, written, left, refused } = await writeEach(writer, run, batch.traces, changes, opened);
  const traceIds = ids(({ record }) => record.type === 'trace');
  const spansCount = ids(({ record }) => record.type !== 'trace').length;
  return { traceIds, spansCount, sessionId: sessionId ?? sessionOf(written.slice(opened.length)), left, refused };
}

export interface SpansWritten {
  count: number;
  /** Null where the trace has no session, or is not stored yet. */
  sessionId: string | null;
  refused: RefusedList;
}

/** As `ingestTraces`, for spans below a trace or span, whether that is stored yet or not. */
export async function ingestSpans(
  writer: Writer,
  run: RunRef,
  { spans, traceId, parentId }: { spans: LoggedForest; traceId: string; parentId: string },
): Promise<SpansWritten> {
  const changes = recordsOf(run, spans.nodes, { traceId, parentId });
  const { ids, written, refused } = await writeEach(writer, run, spans, changes, []);
  return { count: ids(() => true).length, sessionId: sessionOf(written), refused };
}

/** Writes the records of a request, each of which is stored or refused alone. */
async function writeEach(
  writer: Writer,
  run: RunRef,
  { nodes, refused }: LoggedForest,
  changes: readonly Logged[],
  opened: readonly RecordChange[],
): Promise<{
  ids(isWanted: (change: Logged) => boolean): string[];
  written: WrittenRecord[];
  left: string[];
  refused: RefusedList;
}> {
  writer.counters.refuse(run.projectId, refused.count);
  const outcome = await writer.writeParts(run, [...opened, ...changes], (all) => all.map((change) => [change]));
  const leftOut = addRefused(refused, nodes, changes, outcome);
  return {
    ids: (isWanted) => [
      ...new Set(changes.filter((change) => !leftOut.has(change) && isWanted(change)).map(({ record }) => record.id)),
    ],
    written: outcome.written,
    left: outcome.left,
    refused,
  };
}

/** Names the records that a write left out. @throws RequestInvalid when it left out all of them */
function addRefused(
  refused: RefusedList,
  nodes: readonly LoggedNode[],
  changes: readonly Logged[],
  outcome: Outcome,
): ReadonlySet<RecordChange> {
  const leftOut = new Map(
    outcome.refused.flatMap(({ changes: part, reason }) => part.map((change) => [change, reason] as const)),
  );
  if (leftOut.size === 0) return new Set();
  const reasons = changes.flatMap((change) => leftOut.get(change) ?? []);
  if (reasons.length === changes.length) throw new RequestInvalid(reasons.flatMap(({ items }) => items));
  for (const [position, change] of changes.entries()) {
    const reason = leftOut.get(change);
    const { index, givenId } = nodes[position] as LoggedNode;
    if (reason) refused.add({ index, id: givenId ?? change.record.id, message: reason.items.map(({ msg }) => msg).join('; ') });
  }
  return new Set(leftOut.keys());
}

/** The session of what was written; null where there is none and the trace stands in for it. */
export function sessionOf([first]: readonly WrittenRecord[]): string | null {
  return first === undefined || first.session_id === first.trace_id ? null : first.session_id;
}

/** A trace as an experiment logs it. `ordinal`: the row whose records these are alone. `ofRow`: which row that is, for the trace's columns. */
export type ExperimentTrace = LoggedTrace & {
  ordinal?: number;
  ofRow?: Pick<StoredRecord, (typeof datasetFields)[number]['id']>;
};

/**
 * Stores the traces of an experiment's rows, each with all its spans in one insert. They replace what a lower attempt stored under the same ids,
 * and give way to a higher one: whole, so that no span of theirs stands beside those of the higher attempt. What the schemas of records refuse is made
 * to fit.
 */
export async function logTraces(
  writer: Pick<RecordWriter, 'write'>,
  run: RunRef,
  traces: readonly ExperimentTrace[],
  { attempt }: { attempt: number },
): Promise<void> {
  const { nodes } = LoggedTraces.parse(traces);
  const changes = recordsOf(run, nodes, { isComplete: true });
  const ordinals = traces.flatMap(({ ordinal }) => ordinal ?? []);
  const rows = new Map(traces.map(({ id, ofRow }) => [id, ofRow]));
  await writer.write(
    run,
    changes.map(({ record }) => ({
      action: 'replace',
      record: { ...record, ...(record.type === 'trace' ? rows.get(record.id) : {}), attempt },
    })),
    ordinals.length === traces.length ? ordinals : undefined,
  );
}

/** One id per (run, external id), so that two openers meet. */
export const sessionIdOf = (run: RunRef, externalId: string): string => derivedId('session', run.runId, externalId);

/** Opens the session with this id of the caller's, which records name, unless the run has it. */
export function openedSession(run: RunRef, externalId: string): RecordChange {
  const id = sessionIdOf(run, externalId);
  return {
    action: 'open',
    record: {
      ...{ id, type: 'session', session_id: id, trace_id: null, name: externalId, external_id: externalId },
      is_provisional: true,
    },
  };
}

/**
 * Returns the id of a record that a caller names. An id that is no UUID of version 4 always means the same record. Clients that count spans from 1 do
 * so in each trace: an id that is no UUID at all is known in its trace alone.
 * @param traceId absent where the record is a trace
 */
export function recordIdOf(run: RunRef, given: string, traceId?: string): string {
  if (Uuid.safeParse(given).success) return given;
  if (z.guid().safeParse(given).success) return derivedId('record', run.runId, given.toLowerCase());
  return traceId === undefined ? derivedId('record', run.runId, given) : derivedId('record', run.runId, traceId, given);
}

interface Below {
  traceId?: string;
  parentId?: string;
  sessionId?: string;
  isComplete?: boolean;
}

type Logged = RecordChange & { action: 'log' };

/**
 * The records of a flat tree. The nesting says where each hangs; ids that are not given are made. One that is no UUID gives the record the same id
 * whenever it comes.
 */
function recordsOf(run: RunRef, nodes: readonly LoggedNode[], top: Below): Logged[] {
  const changes: Logged[] = [];
  for (const { kind, fields, givenId, parent } of nodes) {
    const above = parent === undefined ? undefined : changes[parent]?.record;
    // A trace's own id may be said as that of its trace alone.
    const said = fields.id ?? (kind === 'trace' ? fields.trace_id : undefined);
    const given = said ?? (givenId === undefined ? undefined : recordIdOf(run, givenId, above?.trace_id ?? top.traceId));
    const id = given ?? newId();
    const record = {} as Record<string, unknown>;
    for (const name in fields) {
      const value = fields[name as keyof LoggedFields];
      if (value !== null && value !== undefined) record[name] = value;
    }
    record.id = id;
    record.type = kind;
    record.session_id = above ? above.session_id : (fields.session_id ?? top.sessionId);
    if (kind === 'trace') {
      record.trace_id = id;
      record.parent_id = null;
      record.trace_is_complete = top.isComplete;
    } else {
      record.trace_id = above?.trace_id ?? top.traceId;
      record.parent_id = above?.id ?? top.parentId;
    }
    const files = fileIds(fields.input, fields.output);
    if (files) record.file_ids = files;
    changes.push({ action: 'log', freshId: given == null, record: record as unknown as LoggedRecord });
  }
  return changes;
}
