import type { BaselinePick, RunTag } from '../experiments/experimentStore.ts';
import type { FailedRows } from '../metrics/metricFigures.ts';
import type { GateStatus } from '../wire/experimentGate.ts';

/** A tag that names experiments, such as a branch. */
export type TagChoice = Pick<RunTag, 'key' | 'value'>;

export interface GateRequest {
  experimentId: string;
  /** An experiment, or which of its series, of those with the tag or of those of the name. Absent: absolute limits alone. */
  baseline:
    | {
        experimentId?: string | undefined;
        tag?: TagChoice | undefined;
        name?: string | undefined;
        pick?: BaselinePick | undefined;
      }
    | undefined;
  metrics: readonly GatedMetric[];
  /** Largest share of failed rows. */
  maxFailed: number | undefined;
  /** Absent: as the experiment says. */
  failedRows: FailedRows | undefined;
  /** At which all comparisons hold together. */
  level: number;
}

export interface GatedMetric {
  /** Its name, or its key in aggregates and columns. */
  metric: string;
  /** Largest allowed change for the worse against the baseline. */
  maxDrop?: number | undefined;
  min?: number | undefined;
  max?: number | undefined;
}

export type GateRule = 'max_drop' | 'min' | 'max' | 'max_failed';

export interface GateCheck {
  rule: GateRule;
  /** Null for the share of failed rows. */
  metric: string | null;
  limit: number;
  status: GateStatus;
  /** The figure that is held against the limit: a mean, or a share of rows. Of a drop the mean, whose difference to the baseline counts. */
  value: number | null;
  baselineValue: number | null;
  difference: number | null;
  interval: { low: number; high: number; level: number } | null;
  /** That the figure is of: of a drop those with a value on both sides. */
  rows: number;
  rowsToDecide: number | null;
  /** In words. */
  reason: string;
}

export interface GatedExperiment {
  id: string;
  name: string;
  rows: number;
  failedRows: number;
  tags: TagChoice[];
}

export interface GateAnswer {
  status: GateStatus;
  experiment: GatedExperiment;
  baseline: GatedExperiment | null;
  /** In words: why this one is the baseline. */
  baselineChoice: string | null;
  checks: GateCheck[];
  warnings: string[];
}
