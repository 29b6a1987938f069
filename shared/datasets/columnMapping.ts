import { type InvalidItem, RequestInvalid } from '../errors/errors.ts';
import { parseJson } from '../json/parseJson.ts';
import type { ColumnMapping } from '../wire/datasets.ts';
import { isExact } from '../wire/exactNumber.ts';
import { toCell } from './cells.ts';
import type { Cell } from './dataset.ts';
import type { FileRow } from './readRows.ts';

/** Columns that a mapping can fill. Reference values of metrics (`mgt`) stay in their own columns: the mapping only says which those are. */
const targets = ['input', 'output', 'generated_output', 'metadata'] as const;

/**
 * Column names after a mapping: the mapped ones first, then those it does not use. A column of the source that has a mapped name and is not
 * used gives way to the mapped one.
 * @throws RequestInvalid for a source column that does not exist.
 */
export function mappedColumnNames(mapping: ColumnMapping | undefined, names: readonly string[]): string[] {
  if (!mapping) return [...names];
  const known = new Set(names);
  const isTaken = takenBy(mapping);
  const unknown = targets.flatMap((target) =>
    (mapping[target]?.columns ?? [])
      .filter((name) => !known.has(name))
      .slice(0, NAMED)
      .map(
        (name): InvalidItem => ({
          loc: ['body', 'column_mapping', target],
          type: 'column_unknown',
          msg: `there is no column "${name}"; columns: ${someNames(names)}`,
        }),
      ),
  );
  if (unknown.length > 0) throw new RequestInvalid(unknown);
  return [...mappedTargets(mapping), ...names.filter((name) => !isTaken(name))];
}

/** Returns a function that makes the cells of one row after a mapping. A row without cells stays so. */
export function rowMapping(mapping: ColumnMapping | undefined): (cells: FileRow) => FileRow {
  if (!mapping) return (cells) => cells;
  const isTaken = takenBy(mapping);
  const mapped = mappedTargets(mapping);
  return (cells) => {
    if (cells.length === 0) return cells;
    const byName = new Map(cells);
    return [
      ...mapped.map((target) => [target, mappedCell(mapping[target] as Source, byName)] as const),
      ...cells.filter(([name]) => !isTaken(name)),
    ];
  };
}

/** Names in a message. */
const NAMED = 20;

/** A list of names for a message, cut where it is long. */
export function someNames(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const rest = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

type Source = { columns: string[]; flatten: boolean };

const mappedTargets = (mapping: ColumnMapping) => targets.filter((target) => (mapping[target]?.columns.length ?? 0) > 0);

function takenBy(mapping: ColumnMapping): (name: string) => boolean {
  const taken = new Set(mappedTargets(mapping).flatMap((target) => [target, ...(mapping[target]?.columns ?? [])]));
  return (name) => taken.has(name);
}

/** One column gives its cell, several give an object by column name; with `flatten`, an object among them gives its own keys. */
function mappedCell({ columns, flatten }: Source, byName: ReadonlyMap<string, Cell>): Cell {
  const [first] = columns;
  if (columns.length === 1 && first !== undefined && !flatten) return byName.get(first) ?? null;
  const entries = columns.flatMap((name): [string, unknown][] => {
    const cell = byName.get(name) ?? null;
    const inner = flatten ? objectOf(cell) : undefined;
    return inner ? Object.entries(inner) : [[name, cell]];
  });
  return toCell(Object.fromEntries(entries));
}

function objectOf(cell: Cell): object | undefined {
  if (typeof cell === 'object') return isExact(cell) ? undefined : (cell ?? undefined);
  if (typeof cell !== 'string' || !/^\s*\{/.test(cell)) return undefined;
  try {
    return parseJson(cell) as object;
  } catch {
    return undefined;
  }
}
