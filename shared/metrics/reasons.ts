/** Why a metric has no value where what it needs is not there; what would mend it is known to whoever knows the rows. */
export const NO_REFERENCE = 'the row has no reference output';
export const NOTHING_RETRIEVED = 'nothing was retrieved';
