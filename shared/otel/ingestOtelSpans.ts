import type { Caller } from '../accounts/permissions.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { type Made, warningOf } from '../projects/firstLog.ts';
import type { RunRef } from '../projects/runs.ts';
import type { EmptySessions } from '../records/emptySessions.ts';
import type { RecordChange } from '../records/recordChange.ts';
import type { RecordWriter } from '../records/recordWriter.ts';
import type { StubTraces } from '../records/stubTraces.ts';
import type { RefusedChanges } from '../records/writeRequest.ts';
import type { ExportResult } from './otlp.ts';
import type { ReadResource } from './readExport.ts';
import { isOfSpan, lackingTexts, partsBySpan, recordsOf } from './recordsOf.ts';
import type { OtelSpan } from './span.ts';
import { type FindTarget, type NamedTarget, targetOfResource } from './target.ts';

interface Deps {
  writer: Pick<RecordWriter, 'writeParts'>;
  findTarget: FindTarget;
  /** Hears of sessions that traces have left for the one that their root names; absent: they stay. */
  emptySessions?: Pick<EmptySessions, 'left'>;
  stubTraces?: Pick<StubTraces, 'add' | 'remove' | 'find' | 'keep'>;
}

/**
 * Records that are made and written at a time. 100,000 tiny spans at once took 1,000 to 1,150 MB beyond idle, in pieces 280 to 540 MB; exporters and
 * collectors send fewer.
 */
const PIECE = 8_000;
/** Reasons named in one answer. */
const MAX_REASONS = 5;

/**
 * Stores the spans of one export. Spans that cannot be stored are counted in the answer and the others are stored: the exporter must not send the
 * request again for them. When no span has anywhere to go, the request is refused as a whole.
 * @param made takes the projects and log streams that are made because spans name them
 * @throws ServiceError as the record writer does; sending the request again is always safe, since ids follow from those of OpenTelemetry.
 */
export async function ingestOtelSpans(
  { writer, findTarget, emptySessions, stubTraces: stubs }: Deps,
  caller: Caller,
  headers: NamedTarget,
  resources: readonly ReadResource[],
  made: Made[] = [],
): Promise<ExportResult> {
  const reasons = new Set<string>();
  let rejectedSpans = 0;
  const refusals: unknown[] = [];
  const runs = new Map<string, { run: RunRef; spans: OtelSpan[] }>();
  for (const { resource, spans, rejected } of resources) {
    rejectedSpans += rejected.length;
    for (const reason of rejected.slice(0, MAX_REASONS)) reasons.add(reason);
    if (spans.length === 0) continue;
    try {
      const run = await findTarget(caller, targetOfResource(resource, headers), made);
      const known = runs.get(run.runId);
      if (known) for (const span of spans) known.spans.push(span);
      else runs.set(run.runId, { run, spans });
    } catch (err) {
      if (!isRefusal(err)) throw err;
      refusals.push(err);
      rejectedSpans += spans.length;
      reasons.add((err as Error).message);
    }
  }
  if (runs.size === 0 && refusals.length > 0) throw refusals[0];
  const ofRequest = resources.reduce((sum, { spans }) => sum + spans.length, 0);
  const outcomes = await Promise.all(
    [...runs.values()].map(async ({ run, spans }) => {
      const refused: RefusedChanges[] = [];
      for (const piece of piecesOf(spans)) {
        const changes = await onTopOfWaiting(recordsOf(run, piece, { ofRequest, stubs }), stubs);
        for (let from = 0; from < changes.length; from += PIECE) {
          const outcome = await writer.writeParts(run, changes.slice(from, from + PIECE), partsBySpan);
          if (outcome.left.length > 0) await emptySessions?.left(run, outcome.left);
          for (const part of outcome.refused) refused.push(part);
        }
      }
      return refused;
    }),
  );
  await stubs?.keep();
  for (const { changes, reason } of outcomes.flat()) {
    if (changes.some(isOfSpan)) rejectedSpans++;
    reasons.add(reason.message);
  }
  const said = [...reasons, ...made.flatMap((one) => warningOf(one) ?? [])].slice(0, MAX_REASONS);
  return { rejectedSpans, errorMessage: said.join('; ') };
}

/** The changes, and before those of roots that say no input or output what spans before them said, which waits. */
async function onTopOfWaiting(changes: RecordChange[], stubs: Deps['stubTraces']): Promise<RecordChange[]> {
  const waiting = new Map((await stubs?.find(lackingTexts(changes)))?.map((record) => [record.id, record]));
  if (waiting.size === 0) return changes;
  return changes.flatMap((change) => {
    if (change.action !== 'log' || change.record.type !== 'trace') return [change];
    const before = waiting.get(change.record.id);
    // Its session is the one that the root's change decides on.
    return before ? [{ ...change, record: { ...before, session_id: change.record.session_id } }, change] : [change];
  });
}

/** Spans in pieces of whole traces, each of about so many as are written at a time. */
function* piecesOf(spans: OtelSpan[]): Generator<OtelSpan[]> {
  if (spans.length <= PIECE) {
    yield spans;
    return;
  }
  let piece: OtelSpan[] = [];
  for (const ofTrace of Map.groupBy(spans, ({ traceId }) => traceId).values()) {
    if (piece.length > 0 && piece.length + ofTrace.length > PIECE) {
      yield piece;
      piece = [];
    }
    piece = piece.length === 0 ? ofTrace : [...piece, ...ofTrace];
  }
  yield piece;
}

const isRefusal = (err: unknown): boolean => err instanceof RequestInvalid || (err instanceof ServiceError && err.permanent);
