import type { ServiceClient } from '../../client/index.ts';
import { usageError } from '../commandError.ts';
import { type Condition, conditionOf, type Filter, type FilterColumn, leafOf, timeOf } from './recordCondition.ts';
import type { RecordKind, RecordRun } from './recordRun.ts';

export interface FilterOptions {
  filter?: string[];
  text?: string;
  ignoreCase?: boolean;
  since?: string;
  until?: string;
}

/**
 * What the options of a command ask of records, as a search takes it; all of it must hold.
 * @throws CommandError that names what is wrong: before the service is asked, as far as that can be
 */
export async function recordFilters(
  client: ServiceClient,
  run: RecordRun,
  kind: RecordKind,
  { filter: texts = [], text, ignoreCase = false, since, until }: FilterOptions,
  signal: AbortSignal,
): Promise<Filter[]> {
  const conditions = texts.map(conditionOf);
  const date = (operator: string, value: string): Filter => ({ type: 'date', column_id: 'created_at', operator, value });
  const contains = (column_id: string): Filter => ({
    ...{ type: 'text', column_id, operator: 'contains', value: text },
    ...(ignoreCase ? { case_sensitive: false } : {}),
  });
  return [
    ...(since === undefined ? [] : [date('gte', timeOf(since, '--since'))]),
    ...(until === undefined ? [] : [date('lt', timeOf(until, '--until'))]),
    ...(text === undefined ? [] : [{ or: ['input', 'output', 'name', 'error_message'].map(contains) }]),
    ...(conditions.length === 0 ? [] : leavesOf(conditions, await columnsOf(client, run, kind, signal), ignoreCase)),
  ];
}

/** The columns that records of this kind have in the run. */
export const columnsOf = async (client: ServiceClient, { path, selector }: RecordRun, kind: RecordKind, signal: AbortSignal) =>
  (
    await client.send<{ columns: FilterColumn[] }>(`${path}/${kind}s/available_columns`, {
      body: selector,
      repeatable: true,
      signal,
    })
  ).columns;

const leavesOf = (conditions: readonly Condition[], columns: readonly FilterColumn[], ignoreCase: boolean): Filter[] =>
  conditions.map((condition) => leafOf(condition, columnOf(condition, columns), ignoreCase));

/**
 * Keys of the two maps are no columns of a catalog, which would have to read every record to find them; nor are metrics that have no value yet, as in
 * a stream that is about to be followed.
 */
function columnOf({ column: id, value }: Condition, columns: readonly FilterColumn[]): FilterColumn {
  const found = columns.find((column) => column.id === id) ?? onlyMetric(id, columns);
  if (found) return found;
  if (/^(?:user|dataset)_metadata\/./.test(id)) return { id, filter_type: 'text' };
  if (/^metrics\/./.test(id)) return { id, filter_type: typeOfValue(value) };
  throw usageError(`there is no column ${JSON.stringify(id)} here, but ${columns.map((column) => column.id).join(', ')}`);
}

/** The metric whose scorer has this name. @throws CommandError where several have it */
function onlyMetric(id: string, columns: readonly FilterColumn[]): FilterColumn | undefined {
  const called = columns.filter(({ metric_key_alias: name }) => name !== undefined && id === `metrics/${name}`);
  if (called.length < 2) return called[0];
  throw usageError(`${id} names several metrics: take one of ${called.map((column) => column.id).join(', ')}`);
}

const typeOfValue = (value: string): string =>
  value === 'true' || value === 'false' ? 'boolean' : Number.isNaN(Number(value)) ? 'text' : 'number';
