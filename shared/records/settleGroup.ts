import { RequestInvalid } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import { type GroupDeps, GroupState } from './groupState.ts';
import type { HeldUpdate } from './heldUpdates.ts';
import { metadataOwner, type ScoreResult, scoresBeside, scoresIn } from './loggedScores.ts';
import type { NotedUpdates } from './notedUpdates.ts';
import type { StoredRecord } from './record.ts';
import type { RecordChange } from './recordChange.ts';
import type { Block, NewValue, PlacedRecord } from './recordStore.ts';
import type { Outcome, WriteRequest } from './writeRequest.ts';

/** The result of a group of requests: the block to store, and what follows when it is stored. */
export interface SettledGroup {
  block: Block;
  /** Held updates whose records are stored then. */
  applied: readonly number[];
  /** Updates whose records are not stored. */
  toHold: readonly { run: RunRef; updates: readonly HeldUpdate[] }[];
  /** Answer the requests when all of that is stored. Each takes the updates that could not be held, with the reasons. */
  answers: readonly ((notHeld: ReadonlyMap<HeldUpdate, unknown>) => void)[];
  /** Records of which updates may be noted when the block is stored. */
  places: readonly PlacedRecord[];
}

/** Reads what is stored of the records of these requests, and makes the blocks that their changes come to, one request on top of the other. */
export async function settleGroup(
  deps: GroupDeps & { onStored(run: RunRef): void; noted: Pick<NotedUpdates, 'follows'> | undefined },
  group: readonly WriteRequest[],
): Promise<SettledGroup> {
  const { store } = deps;
  const state = await GroupState.load(deps, group);
  const answers = group.map((request) => settledAnswer(state, request, deps.onStored));
  await state.followSessions();
  await state.followUsage();
  const records = state.changed();
  const values = records.flatMap((record) => loggedValues(record, state));
  const keys = [
    ...state.pending().map((record) => ({ record, leaves: undefined })),
    ...records.filter((record) => state.keyChanged(record)).map((record) => ({ record, leaves: state.leaves(record) })),
  ];
  return {
    block: store.block({
      keys,
      values,
      records: records.map((record) => ({ record, isRewrite: state.isKnown(record), replaces: state.stored(record) ?? null })),
    }),
    applied: state.applied(),
    toHold: state.toHold(),
    answers,
    places: deps.noted ? placesIn(records, group, deps.noted) : [],
  };
}

/** Those of log streams. Without the rest of the records, which are garbage as soon as the block is made. */
function placesIn(
  records: readonly StoredRecord[],
  group: readonly WriteRequest[],
  noted: Pick<NotedUpdates, 'follows'>,
): PlacedRecord[] {
  const streams = new Set(group.flatMap(({ run }) => (run.kind === 'log_stream' ? run.runId : [])));
  return records
    .filter((record) => streams.has(record.run_id) && noted.follows(record))
    .map(({ project_id, run_id, id, type, session_id, trace_id }) => ({ project_id, run_id, id, type, session_id, trace_id }));
}

type Answer = SettledGroup['answers'][number];

function settledAnswer(state: GroupState, request: WriteRequest, onStored: (run: RunRef) => void): Answer {
  try {
    const outcome = apply(state, request);
    return (notHeld) => {
      const lost = outcome.held.find((update) => notHeld.has(update));
      if (lost) return request.reject(notHeld.get(lost));
      request.resolve(outcome);
      if (outcome.written.some(({ isHeld }) => !isHeld)) onStored(request.run);
    };
  } catch (err) {
    return () => request.reject(err);
  }
}

function apply(state: GroupState, { run, changes, partsOf }: WriteRequest): Outcome {
  const make = (part: readonly RecordChange[]) => state.apply(run, part);
  try {
    return { ...make(changes), refused: [] };
  } catch (err) {
    if (!partsOf || !(err instanceof RequestInvalid)) throw err;
  }
  const outcome: Outcome = { written: [], refused: [], held: [], left: [] };
  const parents = new Map<string, string | null>();
  for (const part of partsOf(changes)) {
    const moved = part.map((change) => movedUp(change, parents));
    try {
      const { written, held, left } = make(moved);
      for (const record of written) outcome.written.push(record);
      for (const update of held) outcome.held.push(update);
      outcome.left.push(...left);
    } catch (reason) {
      if (!(reason instanceof RequestInvalid)) throw reason;
      outcome.refused.push({ changes: part, reason });
      for (const change of moved) if (change.action !== 'update') parents.set(change.record.id, change.record.parent_id ?? null);
    }
  }
  return outcome;
}

/** The change with its span below the nearest span that is not left out. @param parents of the spans that are, which may have the id of a trace */
function movedUp(change: RecordChange, parents: ReadonlyMap<string, string | null>): RecordChange {
  if (change.action === 'update' || parents.size === 0) return change;
  const { parent_id, trace_id } = change.record;
  const above = parent_id && parent_id !== trace_id ? parents.get(parent_id) : undefined;
  return above === undefined ? change : { ...change, record: { ...change.record, parent_id: above } };
}

/**
 * The scores a client computed itself travel in `metrics`: each becomes a value of the metric of that name, or the reason why it has none. Only those
 * that were given now: a value that the record had before may have been scored anew since. Those that a replaced record had and the new one lacks were
 * scores of an output that is gone: they are taken back.
 */
function loggedValues(record: StoredRecord, state: GroupState): NewValue[] {
  const isRewrite = state.isKnown(record);
  const of = (metric: string, result: ScoreResult): NewValue => ({
    run: { projectId: record.project_id, runId: record.run_id },
    version: record.version,
    isRewrite,
    value: {
      metric,
      recordId: record.id,
      recordCreatedAt: record.created_at,
      recordType: record.type,
      traceId: record.trace_id,
      ...result,
    },
  });
  const values = new Map<string, NewValue>();
  const metrics = record.metrics ?? {};
  const given = [...(state.metricsGiven(record) ?? [])].map((metric) => metadataOwner(metric, metrics) ?? metric);
  for (const metric of new Set(given))
    for (const [name, result] of scoresBeside(metric, metrics)) values.set(name, of(name, result));
  const taken = [...(state.metricsTaken(record) ?? [])].filter((name) => !values.has(name));
  if (taken.length === 0) return [...values.values()];
  const kept = new Set(Object.entries(metrics).flatMap(([metric, value]) => scoresIn(metric, value).map(([name]) => name)));
  return [...values.values(), ...taken.flatMap((name) => (kept.has(name) ? [] : [of(name, takenBack)]))];
}

/** Without a scorer: nothing was asked of one. */
const takenBack = {
  status: 'not_computed',
  details: { message: 'the row was run again, without a score of this metric' },
} as const;
