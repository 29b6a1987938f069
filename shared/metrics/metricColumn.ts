import type { ColumnDef } from '../columns/columnDef.ts';
import type { Metric } from './metric.ts';

/** The column of a metric's values, for the catalogs, filters and sorts. */
export function metricColumn(metric: Metric): ColumnDef {
  const list = metric.dataType === 'string_list' || metric.isList === true;
  return {
    id: `metrics/${metric.name}`,
    label: metric.label,
    description: metric.description,
    category: 'metric',
    groupLabel: metric.groupLabel,
    dataType: metric.dataType,
    ...(metric.dataUnit === null ? {} : { dataUnit: metric.dataUnit }),
    kinds: [],
    source: { at: 'metric', metric: metric.name },
    sortable: !list,
    // No filter is about several booleans.
    filterable: !metric.isList,
    optional: false,
    ...(list ? { multiValued: true } : {}),
    rollUpMethod: metric.rollUp,
    scale: { direction: metric.direction, range: metric.range },
    ...(metric.threshold === null ? {} : { threshold: { inverted: metric.direction === 'lower', ...metric.threshold } }),
    ...(metric.alias === undefined ? {} : { metricKeyAlias: metric.alias }),
  };
}
