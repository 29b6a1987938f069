import type { ExperimentQuery } from '../../experiments/experimentStore.ts';
import { isMetricFilter } from '../../experiments/metricQuery.ts';
import { isMetricColumn, metricOfColumn } from '../../records/findColumn.ts';
import {
  type Binder,
  conditionsOf,
  createBinder,
  idCondition,
  numberCondition,
  textCondition,
  timeCondition,
} from './conditions.ts';
import { byCreation, byName, type Listing, orderedBy, timeKey } from './listScan.ts';

/** The figure that stands for a metric: null where the experiment has none. */
const figureSql = (column: string, bind: Binder['bind']): string =>
  `(e.aggregates -> 'rolledUp' ->> ${bind(metricOfColumn(column), 'text')})::float8`;

const walks = {
  created_at: byCreation,
  name: byName,
  series: [['series', 'text'], ...byCreation],
} as const;

function condition(filter: ExperimentQuery['filters'][number], bind: Binder['bind']): string {
  if (isMetricFilter(filter)) return numberCondition(figureSql(filter.name, bind), filter, bind);
  switch (filter.name) {
    case 'id':
      return idCondition('r.id', filter, bind);
    case 'created_by':
      return idCondition('r.created_by', filter, bind);
    case 'name':
      return textCondition('r.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'series':
      return textCondition('r.series', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'created_at':
      return timeCondition('r.created_at', filter, bind);
    case 'updated_at':
      return timeCondition('r.updated_at', filter, bind);
    case 'experiment_group_id':
      return `e.group_id = ${bind(filter.value, 'uuid')}`;
    case 'experiment_group_name':
      return textCondition('g.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    default:
      return filter satisfies never;
  }
}

/** Says that what the runs have is enough to find and order the experiments. */
const isOfRuns = ({ filters, sort }: ExperimentQuery): boolean =>
  !(sort && isMetricColumn(sort.name)) &&
  !filters.some((filter) => isMetricFilter(filter) || filter.name.startsWith('experiment_group_'));

/** Experiments of a project. The texts of the list are over the aliases `r` of their runs, `e` and, of their groups, `g`. */
export function experimentListing(projectId: string, query: ExperimentQuery): Listing {
  const { bind, values } = createBinder();
  const { within, conditions } = conditionsOf(query.filters, (filter) => condition(filter, bind));
  const sort = query.sort ?? { name: 'created_at', ascending: false };
  const { name } = sort;
  return {
    table: 'runs',
    alias: 'r',
    within: [`r.kind = 'experiment' AND r.project_id = ${bind(projectId, 'uuid')}`, ...within].join(' AND '),
    ...(isOfRuns(query) ? {} : { joins: 'JOIN experiments e ON e.run_id = r.id JOIN experiment_groups g ON g.id = e.group_id' }),
    conditions,
    ...orderedBy(sort, walks, () => (isMetricColumn(name) ? figureSql(name, bind) : timeKey('r.updated_at')), 'last'),
    values,
  };
}
