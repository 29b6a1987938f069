import { figureText } from '../../shared/figures/figureText.ts';
import { unitOf } from '../output/resultsText.ts';
import type { Found } from './recordPages.ts';

/** What a table shows unless columns are named. */
export const defaultColumns = ['created_at', 'name', 'input', 'output', 'status_code', 'metrics/duration_ns'] as const;

/** A column of a record as a cell of a table. */
export function cellOf(record: Found, column: string): string {
  const value = partOf(record, column);
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return figureText(value, unitOf(column.replace(/^metrics\//, '')));
  if (typeof value === 'string') return /(?:^|_)at$/.test(column) ? value.slice(0, 19).replace('T', ' ') : value;
  return JSON.stringify(value);
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
