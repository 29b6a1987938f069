import type { EnabledMetric } from './resolveMetrics.ts';

/** What decides whether a record is scored. */
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
        return holds(filter, [target.name], filter.case_sensitive !== false);
      case 'metadata': {
        const value = Object.hasOwn(target.metadata, filter.key) ? target.metadata[filter.key] : undefined;
        return holds(filter, value === undefined || value === null ? [] : [String(value)], true);
      }
      case 'modality':
        return holds(filter, target.modalities, true);
      default:
        return filter satisfies never;
    }
  });
}

/** A filter on several values holds when one of them fits; `ne` and `not_in` when none does. */
function holds(
  filter: { operator: string; value: string | string[] },
  values: readonly string[],
  caseSensitive: boolean,
): boolean {
  const fold = (text: string) => (caseSensitive ? text : text.toLowerCase());
  const wanted = [filter.value].flat().map(fold);
  const found = values.map(fold);
  if (filter.operator === 'contains') return found.some((value) => wanted.some((part) => value.includes(part)));
  const fits = found.some((value) => wanted.includes(value));
  return filter.operator === 'ne' || filter.operator === 'not_in' ? !fits : fits;
}
