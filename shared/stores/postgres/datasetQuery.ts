import type { DatasetQuery } from '../../datasets/dataset.ts';
import type { DatasetFilter, DatasetSort } from '../../wire/datasets.ts';
import { listedSql } from './assetAccess.ts';
import { type Binder, createBinder, idCondition, textCondition } from './conditions.ts';

/** What finds and orders datasets, over the alias `d`. Hidden datasets are found by name or id only. */
export function datasetQuery({ viewer, filters, sort }: Pick<DatasetQuery, 'viewer' | 'filters' | 'sort'>) {
  const { values, bind } = createBinder();
  const asked = filters.map((filter) => filterSql(filter, bind));
  const namesOne = filters.some((filter) => (filter.name === 'name' || filter.name === 'id') && filter.operator === 'eq');
  const where = [
    'd.deleted_at IS NULL',
    ...(namesOne ? [] : ['NOT d.hidden']),
    ...asked,
    listedSql('dataset', 'd', viewer, bind),
  ].join(' AND ');
  const whereOnly = [...values];
  const order = `${sort ? sortedBy(sort, bind) : 'd.updated_at DESC'}, d.created_at DESC, d.id`;
  // The other figures of a page are read for its datasets alone.
  const from = `FROM datasets d${sort?.name === 'num_rows' ? ' JOIN dataset_versions v ON v.dataset_id = d.id AND v.version_index = d.current_version_index' : ''}`;
  return { from, where, order, params: { whereOnly, all: values } };
}

function filterSql(filter: DatasetFilter, bind: Binder['bind']): string {
  switch (filter.name) {
    case 'name':
      return textCondition('d.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'id':
      return idCondition('d.id', filter, bind);
    case 'draft':
      return `d.draft ${filter.operator === 'eq' ? '=' : '<>'} ${bind(filter.value, 'boolean')}`;
    case 'used_in_project':
      return `EXISTS (SELECT 1 FROM dataset_projects p WHERE p.dataset_id = d.id AND p.project_id = ${bind(filter.value, 'uuid')})`;
    case 'not_in_project':
      return `NOT EXISTS (SELECT 1 FROM dataset_projects p WHERE p.dataset_id = d.id AND p.project_id = ${bind(filter.value, 'uuid')})`;
    default:
      return filter satisfies never;
  }
}

/** Columns that are never null are ordered as their indexes are. */
function sortedBy(sort: DatasetSort, bind: Binder['bind']): string {
  const isNeverNull = sort.name === 'name' || sort.name === 'created_at' || sort.name === 'updated_at';
  const [ascending, descending] = isNeverNull ? ['ASC', 'DESC'] : ['ASC NULLS FIRST', 'DESC NULLS LAST'];
  return `${sortSql(sort, bind)} ${sort.ascending ? ascending : descending}`;
}

function sortSql(sort: DatasetSort, bind: Binder['bind']): string {
  switch (sort.name) {
    case 'name':
    case 'created_at':
    case 'updated_at':
      return `d.${sort.name}`;
    case 'num_rows':
      return 'v.num_rows';
    case 'project_count':
      return '(SELECT count(*) FROM dataset_projects p WHERE p.dataset_id = d.id)';
    case 'project_last_used_at':
      return `(SELECT p.last_used_at FROM dataset_projects p WHERE p.dataset_id = d.id AND p.project_id = ${bind(sort.value, 'uuid')})`;
    case 'last_edited_by_user_at':
      return `(SELECT max(e.created_at) FROM dataset_versions e WHERE e.dataset_id = d.id AND e.created_by = ${bind(sort.value, 'uuid')})`;
    default:
      return sort satisfies never;
  }
}
