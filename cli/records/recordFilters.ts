import type { ServiceClient } from '../../client/index.ts';
import { type Expression, FilterTextError, parseExpression } from '../../shared/filterText/filterSyntax.ts';
import { type FilterColumn, type FilterTree, filterTreeOf, type Leaf, timeOf } from '../../shared/filterText/parseFilterText.ts';
import { usageError } from '../terminal/commandError.ts';
import type { RecordKind, RecordRun } from './recordRun.ts';

/** One of the filters that a search takes. */
export type Filter = Leaf | FilterTree | { or: Leaf[] };

export interface FilterOptions {
  filter?: string[];
  text?: string;
  ignoreCase?: boolean;
  since?: string;
  until?: string;
}

/**
 * Turns the options of a command into the filters of a search; all of them must hold.
 * @throws CommandError that names what is wrong: before the service is asked, as far as that can be
 */
export async function recordFilters(
  client: ServiceClient,
  run: RecordRun,
  kind: RecordKind,
  { filter: texts = [], text, ignoreCase = false, since, until }: FilterOptions,
  signal: AbortSignal,
): Promise<Filter[]> {
  const expressions = texts.map(expressionOf);
  const date = (operator: string, value: string): Leaf => ({ type: 'date', column_id: 'created_at', operator, value });
  const contains = (column_id: string): Leaf => ({
    ...{ type: 'text', column_id, operator: 'contains', value: text },
    ...(ignoreCase ? { case_sensitive: false } : {}),
  });
  return [
    ...(since === undefined ? [] : [date('gte', momentOf(since, '--since'))]),
    ...(until === undefined ? [] : [date('lt', momentOf(until, '--until'))]),
    ...(text === undefined ? [] : [{ or: ['input', 'output', 'name', 'error_message'].map(contains) }]),
    ...(expressions.length === 0 ? [] : treesOf(texts, expressions, await columnsOf(client, run, kind, signal), ignoreCase)),
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

const treesOf = (
  texts: readonly string[],
  expressions: readonly Expression[],
  columns: readonly FilterColumn[],
  ignoreCase: boolean,
): Filter[] =>
  expressions.map((expression, index) =>
    orUsageError(texts[index] as string, () => filterTreeOf(expression, { columns, ignoreCase })),
  );

export const expressionOf = (text: string): Expression => orUsageError(text, () => parseExpression(text));

/** Turns a problem of a filter into an error of usage that quotes the filter from there on. */
function orUsageError<T>(text: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    if (!(err instanceof FilterTextError)) throw err;
    const rest = text.slice(err.place.start).trim();
    throw usageError(
      `--filter ${JSON.stringify(text)}${rest === '' || rest === text ? '' : `, at ${JSON.stringify(rest)}`}: ${err.message}`,
    );
  }
}

/** @throws CommandError for what is no moment */
export function momentOf(text: string, what: string, now: Date = new Date()): string {
  const time = timeOf(text, now);
  if (time !== undefined) return time;
  throw usageError(
    `${what} takes 15m, 2h, 3d or 1w (ago), or a time as in 2026-01-31T08:00:00Z, and not ${JSON.stringify(text)}`,
  );
}
