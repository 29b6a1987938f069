/** Reasons why a metric has no value: a part of the record or the row is missing. */
export const NO_REFERENCE = 'the row has no reference output';
export const NOTHING_RETRIEVED = 'nothing was retrieved';
