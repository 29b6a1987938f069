/**
 * Names that the schedule of the sweeps and their workflow share.
 * They are in histories and on servers: a name that was released stays, and a key that is added is optional (docs/deploys.md).
 */
export const SWEEP_EXPIRED = 'sweepExpired';
export const SWEEP_SCHEDULE = 'assay-sweep-expired';

export interface SweepInput {
  /** The last project that a former execution of the same workflow has swept. */
  after?: string;
}
