import type { RowSelection, ServiceClient } from '../../client/index.ts';
import { findExperiment } from '../lookup/findExperiment.ts';
import { expressionOf } from '../records/recordFilters.ts';
import { usageError } from '../terminal/commandError.ts';

const parts = ['limit', 'sample', 'seed', 'filter', 'ids', 'ordinals', 'same-as'] as const;
type Part = (typeof parts)[number];

const howToWrite =
  'write limit=10, sample=50, seed=7, ids=…, ordinals=0-9,12, filter="input contains refund" or same-as="last week"';

/** The words of `--rows` as a selection; `same-as` names an experiment of the project as other commands do. */
export async function rowSelection(client: ServiceClient, projectId: string, words: readonly string[]): Promise<RowSelection> {
  const given = words.map(partOf);
  const of = (name: Part) => given.filter((part) => part.name === name).map(({ value }) => value);
  const once = (name: Part) => {
    const [value, ...others] = of(name);
    if (others.length > 0) throw usageError(`--rows names ${name} twice`);
    return value;
  };
  const number = (name: Part, least: number) => {
    const value = once(name);
    if (value === undefined) return undefined;
    if (!/^\d+$/.test(value) || Number(value) < least)
      throw usageError(`${name} of --rows is a whole number from ${least} on, and not ${JSON.stringify(value)}`);
    return Number(value);
  };
  const [size, seed, sameAs, ids] = [number('sample', 1), number('seed', 0), once('same-as'), once('ids')];
  if (seed !== undefined && size === undefined) throw usageError('seed of --rows goes with a sample: add sample=50');
  const filter = of('filter').map(filterOf);
  return {
    limit: number('limit', 1),
    sample: size === undefined ? undefined : { size, ...(seed === undefined ? {} : { seed }) },
    filter: filter.length > 0 ? filter : undefined,
    ids: ids?.split(',').map((id) => id.trim()),
    ordinals: ordinalsOf(once('ordinals')),
    sameAs: sameAs && (await findExperiment(client, sameAs, { projectId })).id,
  };
}

function partOf(word: string): { name: Part; value: string } {
  const [, text = '', value = ''] = /^([a-z_-]+)=(.+)$/s.exec(word) ?? [];
  const name = parts.find((part) => part === text.replace('_', '-'));
  if (!name) throw usageError(`--rows does not know ${JSON.stringify(word)}: ${howToWrite}`);
  return { name, value };
}

const filterOperators = { '=': 'eq', '!=': 'ne', contains: 'contains' } as const;

function filterOf(text: string): { columnName: string; operator: 'eq' | 'ne' | 'contains'; value: string } {
  const expression = expressionOf(text);
  if (!('condition' in expression)) throw usageError(`a filter of --rows is one condition, and not ${JSON.stringify(text)}`);
  const { column, operator, values } = expression.condition;
  const known = (filterOperators as Partial<Record<string, 'eq' | 'ne' | 'contains'>>)[operator];
  if (!known) throw usageError(`rows are filtered by = != contains, and not ${operator}`);
  return { columnName: column.text, operator: known, value: values.map((one) => one.text).join() };
}

/** Most positions that a selection lists. */
const MAX_LISTED = 10_000;

/** `0-9,12` */
function ordinalsOf(text: string | undefined): number[] | undefined {
  return text?.split(',').flatMap((range) => {
    const [, from, to = from] = /^\s*(\d{1,9})(?:-(\d{1,9}))?\s*$/.exec(range) ?? [];
    const count = Number(to) - Number(from) + 1;
    if (!(count > 0 && count <= MAX_LISTED))
      throw usageError(
        `ordinals of --rows are positions from 0, as in 0-9,12, at most ${MAX_LISTED}, and not ${JSON.stringify(range)}`,
      );
    return Array.from({ length: count }, (_, index) => Number(from) + index);
  });
}
