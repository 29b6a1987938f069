import { RequestInvalid } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { isMetricColumn, metricOfColumn } from '../records/findColumn.ts';
import { builtinById } from '../scorers/presets.ts';
import type {
  ExperimentColumn,
  ExperimentFilter,
  ExperimentFilterTree,
  ExperimentSort,
  MetricColumnId,
} from '../wire/experiments.ts';
import type { ExperimentQuery } from './experimentStore.ts';

type MetricFilter = Extract<ExperimentFilter, { name: MetricColumnId }>;

export const isMetricFilter = (filter: ExperimentFilter): filter is MetricFilter => isMetricColumn(filter.name);
const leavesOf = (tree: ExperimentFilterTree): ExperimentFilter[] => {
  if ('filter' in tree) return [tree.filter];
  return ('not' in tree ? [tree.not] : 'and' in tree ? tree.and : tree.or).flatMap(leavesOf);
};

/** The tree with other leaves in place of its own. */
function withLeaves(tree: ExperimentFilterTree, leaf: (filter: ExperimentFilter) => ExperimentFilter): ExperimentFilterTree {
  if ('filter' in tree) return { filter: leaf(tree.filter) };
  if ('not' in tree) return { not: withLeaves(tree.not, leaf) };
  const inner = ('and' in tree ? tree.and : tree.or).map((one) => withLeaves(one, leaf));
  return 'and' in tree ? { and: inner } : { or: inner };
}

const isMetricSort = (sort: ExperimentSort): boolean => isMetricColumn(sort.name);

/**
 * The query with the keys that the aggregates have for its metrics, which it may name by their columns' ids or by the names that users gave them.
 * @throws RequestInvalid for a metric that no experiment has, or that has no figure.
 */
export async function withMetricKeys(
  query: ExperimentQuery,
  columnsOf: () => Promise<ExperimentColumn[]>,
): Promise<ExperimentQuery> {
  const tree = query.filter_tree ?? undefined;
  const leaves = [...query.filters, ...(tree ? leavesOf(tree) : [])];
  const isNamed = leaves.some(isMetricFilter) || (query.sort && isMetricSort(query.sort));
  if (!isNamed) return query;
  const columns = (await columnsOf()).filter(({ category }) => category === 'metric');
  const keyOf = (given: string, loc: (string | number)[]): MetricColumnId => {
    // Figures of built-in metrics are stored under their names.
    const builtin = builtinById(metricOfColumn(given));
    const name = builtin ? `metrics/${builtin.name}` : given;
    const called = columns.filter((one) => `metrics/${one.metric_key_alias}` === name);
    const column = columns.find(({ id }) => id === name) ?? (called.length > 1 ? undefined : called[0]);
    if (column?.filterable) return column.id as MetricColumnId;
    const near = closestNames(
      name,
      columns.filter(({ filterable }) => filterable).map(({ id, metric_key_alias: alias }) => (alias ? `metrics/${alias}` : id)),
    );
    const problem = column ? 'has no one figure to compare' : 'is no metric of these experiments';
    const hint =
      called.length > 1 && !column
        ? `names several metrics: take one of ${called.map(({ id }) => id).join(', ')}`
        : `${problem}; the closest are ${near.join(', ')}`;
    throw new RequestInvalid([
      {
        loc: ['body', ...loc, 'name'],
        msg: `${JSON.stringify(name)} ${hint}`,
        type: 'metric_unknown',
      },
    ]);
  };
  const keyed = (filter: ExperimentFilter, loc: (string | number)[]) =>
    isMetricFilter(filter) ? { ...filter, name: keyOf(filter.name, loc) } : filter;
  const { sort } = query;
  return {
    ...query,
    filters: query.filters.map((filter, at) => keyed(filter, ['filters', at])),
    filter_tree: tree && withLeaves(tree, (filter) => keyed(filter, ['filter_tree'])),
    sort: sort && isMetricSort(sort) ? { ...sort, name: keyOf(sort.name, ['sort']) } : sort,
  };
}
