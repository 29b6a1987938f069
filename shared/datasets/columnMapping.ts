import { type InvalidItem, RequestInvalid } from '../errors.ts';
import type { ColumnMapping } from '../wire/datasets.ts';
import { parseJson, toCell } from './cells.ts';
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
  const unknown = targets.flatMap((target) =>
    (mapping[target]?.columns ?? [])
      .filter((name) => !names.includes(name))
      .map(
        (name): InvalidItem => ({
          loc: ['body', 'column_mapping', target],
          type: 'column_unknown',
          msg: `there is no column "${name}"; columns: ${names.join(', ') || 'none'}`,
        }),
      ),
  );
  if (unknown.length > 0) throw new RequestInvalid(unknown);
  return [...mappedTargets(mapping), ...names.filter((name) => !isTaken(mapping, name))];
}

/** The cells of one row after a mapping. A row without cells stays so. */
export function mapRow(mapping: ColumnMapping | undefined, cells: FileRow): FileRow {
  if (!mapping || cells.length === 0) return cells;
  const byName = new Map(cells);
  return [
    ...mappedTargets(mapping).map((target) => [target, mappedCell(mapping[target] as Source, byName)] as const),
    ...cells.filter(([name]) => !isTaken(mapping, name)),
  ];
}

type Source = { columns: string[]; flatten: boolean };

const mappedTargets = (mapping: ColumnMapping) => targets.filter((target) => (mapping[target]?.columns.length ?? 0) > 0);

const isTaken = (mapping: ColumnMapping, name: string): boolean =>
  mappedTargets(mapping).some((target) => target === name || mapping[target]?.columns.includes(name));

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
  if (typeof cell === 'object') return cell ?? undefined;
  if (typeof cell !== 'string' || !/^\s*\{/.test(cell)) return undefined;
  try {
    return parseJson(cell) as object;
  } catch {
    return undefined;
  }
}
