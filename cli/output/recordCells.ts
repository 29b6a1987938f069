import { figureText } from '../../shared/figures/figureText.ts';
import type { FilterColumn } from '../../shared/filterText/parseFilterText.ts';
import { jsonWithBigInts } from '../../shared/wire/longNumbers.ts';
import type { Found } from '../records/recordPages.ts';
import { unitOf } from './resultsText.ts';

/** A table shows these columns unless others are named. */
export const defaultColumns = ['created_at', 'name', 'input', 'output', 'status_code', 'metrics/duration_ns'] as const;

/** By the id of a column, the other ids that the catalog has for it: a metric's values stand in a record under its name or its scorer's id. */
export function otherIds(columns: readonly FilterColumn[]): ReadonlyMap<string, string[]> {
  const pairs = columns.flatMap(({ id, metric_key_alias: name }): [string, string][] =>
    name ? [[`metrics/${name}`, id] as [string, string], [id, `metrics/${name}`] as [string, string]] : [],
  );
  return new Map([...Map.groupBy(pairs, ([id]) => id)].map(([id, same]) => [id, same.map(([, other]) => other)]));
}

/** A column of a record as a cell of a table. */
export function cellOf(record: Found, column: string, others?: ReadonlyMap<string, string[]>): string {
  const [value] = [column, ...(others?.get(column) ?? [])].map((id) => partOf(record, id)).filter((part) => part !== undefined);
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return figureText(value, unitOf(column.replace(/^metrics\//, '')));
  if (typeof value === 'string') return /(?:^|_)at$/.test(column) ? value.slice(0, 19).replace('T', ' ') : value;
  return jsonWithBigInts(value);
}

/** Columns of the maps are found below the map. */
function partOf(record: Found, column: string): unknown {
  const [, map, key] = /^(metrics|user_metadata|dataset_metadata)\/(.+)$/s.exec(column) ?? [];
  if (!map || !key) return record[column];
  return (record[map] as Record<string, unknown> | null | undefined)?.[key];
}

export const titleOf = (column: string): string =>
  column === 'metrics/duration_ns' ? 'took' : column === 'created_at' ? 'created (UTC)' : column.replace(/^metrics\//, '');

export const isFigure = (column: string): boolean => column === 'status_code' || column.startsWith('metrics/');
