import type { ExperimentQuery } from '../../experiments/experimentStore.ts';
import { isMetricFilter } from '../../experiments/metricQuery.ts';
import { isMetricColumn, metricOfColumn } from '../../records/findColumn.ts';
import type { ExperimentFilter, ExperimentFilterTree, ExperimentSort } from '../../wire/experiments.ts';
import { type Binder, conditionsOf, createBinder, numberCondition, runCondition, textCondition } from './conditions.ts';
import { byCreation, byName, type Listing, orderedBy, timeKey } from './listScan.ts';

/** The one figure of a metric: null where the experiment has none. */
const figureSql = (column: string, bind: Binder['bind']): string =>
  `(e.aggregates -> 'rolledUp' ->> ${bind(metricOfColumn(column), 'text')})::float8`;

/** Model that the prompt is sent to: null without one. */
const MODEL = `CASE WHEN e.prompt_settings IS NOT NULL THEN e.prompt_settings ->> 'model_alias'
        ELSE (SELECT v.settings ->> 'model_alias' FROM prompt_template_versions v WHERE v.id = e.prompt_template_version_id) END`;

/** SQL of the columns that experiments have and other runs lack. Null where the figure is unknown. */
const numbers = {
  rows: "(e.aggregates ->> 'rows')::float8",
  rows_failed: "(e.aggregates ->> 'rowsFailed')::float8",
  total_cost: "(e.aggregates -> 'usage' -> 'run' ->> 'cost')::float8",
} as const;
const texts = {
  experiment_group_name: 'g.name',
  state: 'e.state::text',
  gate: 'e.gate_status::text',
  dataset: 'e.dataset_name',
  prompt_model: MODEL,
} as const;

const walks = {
  created_at: byCreation,
  name: byName,
  series: [['series', 'text'], ...byCreation],
} as const;

function condition(filter: ExperimentQuery['filters'][number], bind: Binder['bind']): string {
  if (isMetricFilter(filter)) return numberCondition(figureSql(filter.name, bind), filter, bind);
  switch (filter.name) {
    case 'series':
      return textCondition('r.series', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'experiment_group_id':
      return `e.group_id = ${bind(filter.value, 'uuid')}`;
    case 'dataset_id':
      return `e.dataset_id = ${bind(filter.value, 'uuid')}`;
    case 'prompt_template_id':
      return `e.prompt_template_version_id IN (SELECT id FROM prompt_template_versions WHERE template_id = ${bind(filter.value, 'uuid')})`;
    case 'experiment_group_name':
      return textCondition('g.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'state':
    case 'gate':
    case 'dataset':
    case 'prompt_model':
      return textCondition(`coalesce(${texts[filter.name]}, '')`, withCase(filter), bind);
    case 'approved':
      return `(e.approved_at IS NOT NULL) = ${bind((filter.operator === 'eq') === filter.value, 'boolean')}`;
    case 'tags':
      return tagCondition(filter, bind);
    case 'rows':
    case 'rows_failed':
    case 'total_cost':
      return numberCondition(numbers[filter.name], filter, bind);
    default:
      return runCondition(filter, bind);
  }
}

const withCase = <F extends object>(filter: F & { case_sensitive?: boolean }) => ({
  ...filter,
  caseSensitive: filter.case_sensitive ?? true,
});

/** Says that one of the tags, as `key=value`, fits; of `ne` and `not_in` that none has the value. */
function tagCondition(filter: Extract<ExperimentFilter, { name: 'tags' }>, bind: Binder['bind']): string {
  const isNone = filter.operator === 'ne' || filter.operator === 'not_in';
  const operator = isNone ? 'one_of' : filter.operator;
  const fits = textCondition("t.key || '=' || t.value", { ...withCase(filter), operator }, bind);
  return `${isNone ? 'NOT ' : ''}EXISTS (SELECT 1 FROM run_tags t WHERE t.run_id = r.id AND ${fits})`;
}

/** SQL of a tree. What is unknown fits no condition, so `not` keeps it. */
function treeCondition(tree: ExperimentFilterTree, bind: Binder['bind']): string {
  if ('filter' in tree) return condition(tree.filter, bind);
  if ('not' in tree) return `NOT coalesce(${treeCondition(tree.not, bind)}, false)`;
  const [inner, joint, ofNone] = 'and' in tree ? [tree.and, ' AND ', 'true'] : [tree.or, ' OR ', 'false'];
  return inner.length === 0 ? ofNone : `(${inner.map((one) => treeCondition(one, bind)).join(joint)})`;
}

const ofRuns = new Set(['id', 'name', 'series', 'created_by', 'created_at', 'updated_at', 'tags']);

/** Says that what the runs have is enough to find and order the experiments. */
const isOfRuns = ({ filters, filter_tree: tree, sort }: ExperimentQuery): boolean =>
  !tree && (!sort || ofRuns.has(sort.name)) && filters.every(({ name }) => ofRuns.has(name));

function keySql(name: ExperimentSort['name'], bind: Binder['bind']): string {
  if (name in numbers) return numbers[name as keyof typeof numbers];
  if (name in texts) return `(${texts[name as keyof typeof texts]}) COLLATE "C"`;
  return isMetricColumn(name) ? figureSql(name, bind) : timeKey('r.updated_at');
}

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
    conditions: query.filter_tree ? [...conditions, treeCondition(query.filter_tree, bind)] : conditions,
    ...orderedBy(sort, walks, () => keySql(name, bind), 'last'),
    values,
  };
}
