import type { DatasetQuery } from '../../datasets/dataset.ts';
import type { DatasetFilter, DatasetSort } from '../../wire/datasets.ts';
import { listedSql } from './assetAccess.ts';
import { type Binder, conditionsOf, createBinder, idCondition, looksUp, textCondition } from './conditions.ts';
import { byChange, byCreation, byName, type Listing, orderedBy, timeKey } from './listScan.ts';

/** Filters and orders of datasets. Hidden datasets are found by name or id only. */
export function datasetListing({ viewer, filters, sort }: Pick<DatasetQuery, 'viewer' | 'filters' | 'sort'>): Listing {
  const { values, bind } = createBinder();
  const isOne = (filter: DatasetFilter) => (filter.name === 'name' || filter.name === 'id') && filter.operator === 'eq';
  const { within, conditions } = conditionsOf(filters, (filter) => filterSql(filter, bind));
  return {
    table: 'datasets',
    alias: 'd',
    within: ['d.deleted_at IS NULL', ...within].join(' AND '),
    conditions: [...(filters.some(isOne) ? [] : ['NOT d.hidden']), ...conditions, listedSql('dataset', 'd', viewer, bind)],
    ...(sort
      ? orderedBy(sort, { name: byName, created_at: byCreation, updated_at: byChange }, () => sortSql(sort, bind))
      : { walk: { columns: byChange, descending: true } }),
    ...(sort?.name === 'num_rows' && {
      joins: 'JOIN dataset_versions v ON v.dataset_id = d.id AND v.version_index = d.current_version_index',
    }),
    values,
  };
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
      return looksUp(`FROM dataset_projects p WHERE p.dataset_id = d.id AND p.project_id = ${bind(filter.value, 'uuid')}`);
    case 'not_in_project':
      return `NOT ${looksUp(`FROM dataset_projects p WHERE p.dataset_id = d.id AND p.project_id = ${bind(filter.value, 'uuid')}`)}`;
    default:
      return filter satisfies never;
  }
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
      return timeKey(
        `(SELECT p.last_used_at FROM dataset_projects p WHERE p.dataset_id = d.id AND p.project_id = ${bind(sort.value, 'uuid')})`,
      );
    case 'last_edited_by_user_at':
      return timeKey(
        `(SELECT max(e.created_at) FROM dataset_versions e WHERE e.dataset_id = d.id AND e.created_by = ${bind(sort.value, 'uuid')})`,
      );
    default:
      return sort satisfies never;
  }
}
