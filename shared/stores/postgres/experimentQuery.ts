import type { ExperimentQuery } from '../../experiments/experimentStore.ts';
import { isMetricFilter } from '../../experiments/metricQuery.ts';
import { isMetricColumn, metricOfColumn } from '../../records/findColumn.ts';
import { type Binder, idCondition, numberCondition, textCondition, timeCondition, where } from './conditions.ts';

const sortSql = { name: 'r.name', series: 'r.series', created_at: 'r.created_at', updated_at: 'r.updated_at' } as const;

/** The figure that stands for a metric: null where the experiment has none. */
const figureSql = (column: string, bind: Binder['bind']): string =>
  `(e.aggregates -> 'rolledUp' ->> ${bind(metricOfColumn(column), 'text')})::float8`;

function sortedBy(sort: ExperimentQuery['sort'], bind: Binder['bind']): string {
  const direction = sort?.ascending ? 'ASC' : 'DESC';
  const name = sort?.name ?? 'created_at';
  // The other columns are never null, and are ordered as their indexes are.
  if (isMetricColumn(name)) return `${figureSql(name, bind)} ${direction} NULLS LAST, r.id ${direction}`;
  return `${sortSql[name as keyof typeof sortSql]} ${direction}, r.id ${direction}`;
}

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

/** What finds and orders experiments of a project, over the aliases `r` of their runs, `e` and, of their groups, `g`. */
export const experimentQuery = (projectId: string, query: ExperimentQuery, bind: Binder['bind']) => ({
  from: `FROM runs r JOIN experiments e ON e.run_id = r.id JOIN experiment_groups g ON g.id = e.group_id
   ${where([`r.kind = 'experiment' AND r.project_id = ${bind(projectId, 'uuid')}`, ...query.filters.map((filter) => condition(filter, bind))])}`,
  order: sortedBy(query.sort, bind),
});
