import type { EnabledMetric } from './resolveMetrics.ts';
import { textFits } from './textFits.ts';

/** The fields of a record that decide if it is scored. */
export interface ScoringTarget {
  kind: string;
  name: string;
  metadata: Record<string, unknown>;
  /** `text`, `image`, `audio` … of the record's content. */
  modalities: readonly string[];
}

/** True when the run's settings have this metric computed for this record: its kind is one of the metric's, and every filter holds. */
export function isScored(metric: Pick<EnabledMetric, 'kinds' | 'filters'>, target: ScoringTarget): boolean {
  if (!(metric.kinds as readonly string[]).includes(target.kind)) return false;
  return metric.filters.every((filter) => {
    switch (filter.name) {
      case 'node_name':
        return textFits(filter, [target.name], filter.case_sensitive !== false);
      case 'metadata': {
        const value = Object.hasOwn(target.metadata, filter.key) ? target.metadata[filter.key] : undefined;
        return textFits(filter, value === undefined || value === null ? [] : [String(value)], true);
      }
      case 'modality':
        return textFits(filter, target.modalities, true);
      default:
        return filter satisfies never;
    }
  });
}
