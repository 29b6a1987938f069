import { z } from 'zod';
import { RunSelector } from './recordSearch.ts';

export const LiveRecordsQuery = z.object(RunSelector);

type OfKinds<T> = Record<'traces' | 'spans' | 'sessions', T>;

/** The data of an event `records`. */
export interface LiveRecordsEvent {
  /** Records that came since the event before, or since the one that `Last-Event-ID` names. */
  num_new: OfKinds<number>;
  /** All that the run holds. */
  num_records: OfKinds<number>;
  /** `created_at` of the newest of each; null where there is none. */
  newest: OfKinds<string | null>;
}
