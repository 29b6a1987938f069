import type { ColumnDef } from '../columns/columnDef.ts';
import { datasetColumns } from '../columns/dataset.ts';
import { standardColumns } from '../columns/standard.ts';
import { systemMetricColumns } from '../columns/systemMetrics.ts';
import { ServiceError } from '../errors/errors.ts';
import { meantName } from '../identifiers/closestNames.ts';

/** Gives the columns of a request their definitions. @throws ServiceError `ColumnUnknown`, naming the id and the column that it may mean. */
export type FindColumn = (id: string) => ColumnDef;

export interface ColumnFinder extends FindColumn {
  /** True where the id is that of one column; false where it names several. */
  knows(id: string): boolean;
}

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
export function columnFinder(metrics: readonly ColumnDef[]): ColumnFinder {
  const byId = new Map(metrics.map((column) => [column.id, column]));
  // A scorer's metric is found by its name, too, unless a metric has that name itself.
  const byName = Map.groupBy(byId.values(), ({ metricKeyAlias: name }) => name);
  const byScorer = new Map(
    metrics.flatMap((column) => (column.scorerId === undefined ? [] : [[column.scorerId, column] as const])),
  );
  const candidates = (id: string): readonly ColumnDef[] => {
    const name = isMetricColumn(id) ? metricOfColumn(id) : undefined;
    const column = builtIn.get(id) ?? byId.get(id) ?? (name === undefined ? metadataColumn(id) : byScorer.get(name));
    return column ? [column] : name === undefined ? [] : (byName.get(name) ?? []);
  };
  const find = (id: string): ColumnDef => {
    const found = candidates(id);
    const [column, another] = found;
    if (column && !another) return column;
    const problem = column ? severalMetrics(id, found) : unknownColumn(id, metrics);
    throw new ServiceError('ColumnUnknown', problem, {
      named: { texts: isMetricColumn(id) ? [id, metricOfColumn(id)] : [id] },
    });
  };
  return Object.assign(find, { knows: (id: string) => candidates(id).length === 1 });
}

const severalMetrics = (id: string, found: readonly ColumnDef[]): string =>
  `${JSON.stringify(metricOfColumn(id))} names several metrics: take one of ${found.map((column) => column.id).join(', ')}`;

function unknownColumn(id: string, metrics: readonly ColumnDef[]): string {
  const names = metrics.flatMap(({ id: own, metricKeyAlias: name }) => (name == null ? [own] : [own, `${METRIC}${name}`]));
  const meant = meantName(id, [...builtIn.keys(), ...names]);
  return `there is no column ${JSON.stringify(id.slice(0, 200))}${meant === undefined ? '' : `; the closest is ${meant}`}`;
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
