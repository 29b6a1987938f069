import type { ScoredRecord } from '../metrics/metric.ts';
import type { ScoringTarget } from '../scorers/isScored.ts';
import type { RecordKind } from '../wire/recordKinds.ts';

/** A stored record with what metrics look at. */
export interface RecordToScore {
  id: string;
  createdAt: string;
  /** Microseconds; rises with every write of the record. */
  version: number;
  kind: RecordKind;
  traceId: string | null;
  sessionId: string;
  failed: boolean;
  /** Position of its row, or of its trace's, in the dataset or the records that the experiment runs over; null where it is of no row. */
  rowOrdinal: number | null;
  name: string;
  /** `text`, `image`, `audio` … of its content. */
  modalities: readonly string[];
  record: ScoredRecord;
  /**
   * The spans of these kinds below it, in order of their start; there where it was read with its spans.
   * @param withSpans each with what is below it, and as new as the newest of that
   */
  spansOf?: (kinds: readonly RecordKind[], withSpans: boolean) => RecordToScore[];
}

/**
 * The spans that are read with a record: none; those that a metric looks at, of long texts the beginning; or all of them whole, to be scored themselves. A
 * session is read with its traces in any case.
 */
export type SpansRead = 'none' | 'beginnings' | 'whole';

/** The size of what is read to score a record. */
export interface RecordSize {
  /** Id of the record, trace or session: what is read for several records of one is read once. */
  readId: string;
  bytes: number;
}

/** Returns what the settings of a run decide by whether a record is scored. */
export const scoringTarget = ({ kind, name, modalities, record }: RecordToScore): ScoringTarget => ({
  kind,
  name,
  modalities,
  metadata: record.metadata,
});
