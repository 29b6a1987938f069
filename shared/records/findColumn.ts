import type { ColumnDef } from '../columns/columnDef.ts';
import { datasetColumns } from '../columns/dataset.ts';
import { standardColumns } from '../columns/standard.ts';
import { systemMetricColumns } from '../columns/systemMetrics.ts';
import { ServiceError } from '../errors/errors.ts';

/** Gives the columns of a request their definitions. @throws ServiceError `ColumnUnknown`, naming the id. */
export type FindColumn = (id: string) => ColumnDef;

const builtIn: ReadonlyMap<string, ColumnDef> = new Map(
  [...standardColumns, ...datasetColumns, ...systemMetricColumns].map((column) => [column.id, column]),
);
const METRIC = 'metrics/';

export const isMetricColumn = (id: string): boolean => id.startsWith(METRIC);
export const metricOfColumn = (id: string): string => id.slice(METRIC.length);

const EXPLANATION = '_explanation';
/** The name under which the explanations of a metric's values are shown as a column. */
export const explanationOf = (metric: string): string => `${metric}${EXPLANATION}`;
/** The metric whose explanations have this name; undefined where it is no such name. */
export const explainedBy = (name: string): string | undefined =>
  name.endsWith(EXPLANATION) ? name.slice(0, -EXPLANATION.length) : undefined;

/** A lookup over the standard columns, those of dataset rows, the keys of the two metadata maps and the metrics given. */
export function columnFinder(metrics: readonly ColumnDef[]): FindColumn {
  const byId = new Map(metrics.map((column) => [column.id, column]));
  // A scorer's metric is found by its name, too, unless a metric has that name itself.
  const byName = Map.groupBy(byId.values(), ({ metricKeyAlias: name }) => name);
  const byScorer = new Map(
    metrics.flatMap((column) => (column.scorerId === undefined ? [] : [[column.scorerId, column] as const])),
  );
  const named = (id: string): ColumnDef | undefined => {
    const name = isMetricColumn(id) ? metricOfColumn(id) : undefined;
    return name === undefined ? undefined : (byScorer.get(name) ?? onlyMetric(id, byName.get(name) ?? []));
  };
  return (id) => {
    const column = builtIn.get(id) ?? byId.get(id) ?? named(id) ?? metadataColumn(id);
    if (!column)
      throw new ServiceError('ColumnUnknown', `there is no column ${JSON.stringify(id.slice(0, 200))}`, {
        named: { texts: isMetricColumn(id) ? [id, metricOfColumn(id)] : [id] },
      });
    return column;
  };
}

/** @throws ServiceError `ColumnUnknown` when scorers of one name have several metrics. */
function onlyMetric(id: string, found: readonly ColumnDef[]): ColumnDef | undefined {
  if (found.length < 2) return found[0];
  const ids = found.map((column) => column.id).join(', ');
  throw new ServiceError('ColumnUnknown', `${JSON.stringify(metricOfColumn(id))} names several metrics: take one of ${ids}`, {
    named: { texts: [id, metricOfColumn(id)] },
  });
}

function metadataColumn(id: string): ColumnDef | undefined {
  const [category, ...rest] = id.split('/');
  const key = rest.join('/');
  if ((category !== 'user_metadata' && category !== 'dataset_metadata') || key === '') return undefined;
  return {
    id,
    label: key,
    description: `Value of ${key} in the record's ${category.replace('_', ' ')}.`,
    category,
    groupLabel: category === 'user_metadata' ? 'User Metadata' : 'Dataset Metadata',
    dataType: 'text',
    kinds: [],
    source: { at: 'map', column: category, key },
    sortable: true,
    filterable: true,
    optional: true,
  };
}
