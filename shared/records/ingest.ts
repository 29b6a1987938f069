import { derivedId, newId } from '../ids.ts';
import type { RunRef } from '../projects/runs.ts';
import { type LoggedFields, type LoggedNode, LoggedTraces } from '../wire/ingest.ts';
import type { LoggedTrace } from '../wire/records.ts';
import { fileIds } from './fileIds.ts';
import { recordableTrace } from './recordableTrace.ts';
import type { LoggedRecord, RecordChange, WrittenRecord } from './recordChange.ts';
import type { RecordWriter } from './recordWriter.ts';

type Writer = Pick<RecordWriter, 'write'>;

export interface TraceBatch {
  /** Traces with their spans, laid flat. */
  traces: readonly LoggedNode[];
  isComplete: boolean;
  sessionId?: string | null | undefined;
  /** The session with this id of the caller's is opened when the run has none. */
  sessionExternalId?: string | null | undefined;
}

export interface TracesWritten {
  traceIds: string[];
  spansCount: number;
  sessionId: string | null;
}

/** Stores traces and the spans nested in them, in one write. */
export async function ingestTraces(writer: Writer, run: RunRef, batch: TraceBatch): Promise<TracesWritten> {
  const external = batch.sessionExternalId || undefined;
  const sessionId = batch.sessionId ?? (external === undefined ? undefined : sessionIdOf(run, external));
  const changes = recordsOf(batch.traces, { isComplete: batch.isComplete, ...(sessionId === undefined ? {} : { sessionId }) });
  const opened = external !== undefined && !batch.sessionId ? [openedSession(run, external)] : [];
  const written = await writer.write(run, [...opened, ...changes]);
  const idsOf = (isWanted: (change: Logged) => boolean) => new Set(changes.filter(isWanted).map(({ record }) => record.id));
  const isTrace = ({ record }: Logged) => record.type === 'trace';
  const spansCount = idsOf((change) => !isTrace(change)).size;
  return { traceIds: [...idsOf(isTrace)], spansCount, sessionId: sessionId ?? sessionOf(written.slice(opened.length)) };
}

export interface SpansWritten {
  count: number;
  /** Null where the trace has no session, or is not stored yet. */
  sessionId: string | null;
}

/** Stores spans below a trace or span, whether that is stored yet or not. */
export async function ingestSpans(
  writer: Writer,
  run: RunRef,
  { spans, traceId, parentId }: { spans: readonly LoggedNode[]; traceId: string; parentId: string },
): Promise<SpansWritten> {
  const changes = recordsOf(spans, { traceId, parentId });
  const written = await writer.write(run, changes);
  return { count: new Set(changes.map(({ record }) => record.id)).size, sessionId: sessionOf(written) };
}

/** The session of what was written; null where there is none and the trace stands in for it. */
export function sessionOf([first]: readonly WrittenRecord[]): string | null {
  return first === undefined || first.session_id === first.trace_id ? null : first.session_id;
}

/** A trace as an experiment logs it. `ordinal`: the row whose records these are alone. */
export type ExperimentTrace = LoggedTrace & { ordinal?: number };

/**
 * Stores the traces of an experiment's rows, each with all its spans in one insert. They replace what a lower attempt stored under the same ids,
 * and give way to a higher one: whole, so that no span of theirs stands beside those of the higher attempt. What the schemas of records refuse is made
 * to fit.
 */
export async function logTraces(
  writer: Writer,
  run: RunRef,
  traces: readonly ExperimentTrace[],
  { attempt }: { attempt: number },
): Promise<void> {
  const checked = LoggedTraces.safeParse(traces);
  const nodes = checked.success ? checked.data : LoggedTraces.parse(traces.map(recordableTrace));
  const changes = recordsOf(nodes, { isComplete: true });
  const ordinals = traces.flatMap(({ ordinal }) => ordinal ?? []);
  await writer.write(
    run,
    changes.map(({ record }) => ({ action: 'replace', record: { ...record, attempt } })),
    ordinals.length === traces.length ? ordinals : undefined,
  );
}

/** One id per (run, external id), so that two openers meet. */
export const sessionIdOf = (run: RunRef, externalId: string): string => derivedId('session', run.runId, externalId);

/** Opens the session with this id of the caller's, unless the run has it. */
export function openedSession(run: RunRef, externalId: string): RecordChange {
  const id = sessionIdOf(run, externalId);
  return {
    action: 'open',
    record: { id, type: 'session', session_id: id, trace_id: null, name: externalId, external_id: externalId },
  };
}

interface Below {
  traceId?: string;
  parentId?: string;
  sessionId?: string;
  isComplete?: boolean;
}

type Logged = RecordChange & { action: 'log' };

/** The records of a flat tree. The nesting says where each hangs; ids that are not given are made. */
function recordsOf(nodes: readonly LoggedNode[], top: Below): Logged[] {
  const changes: Logged[] = [];
  for (const { kind, fields, parent } of nodes) {
    const above = parent === undefined ? undefined : changes[parent]?.record;
    // A trace's own id may be said as that of its trace alone.
    const given = fields.id ?? (kind === 'trace' ? fields.trace_id : undefined);
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
