/** How the trials of a row differ in one metric, averaged over the rows that have several values of it. */
export interface TrialFigures {
  rows: number;
  /** The average of the averages of each row; null without numbers. */
  mean: number | null;
  /** The average of the standard deviations of each row over its trials; null without numbers. */
  spread: number | null;
  /** The average share of a row's trials that have its most frequent value, in (0, 1]; 1 where all trials of each row agree. */
  agreement: number;
}
