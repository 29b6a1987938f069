import { isObject } from '../wire/isObject.ts';
import type { FileCells, FileFormat } from './fileItems.ts';
import { parseExactly } from './parseExactly.ts';

/** The columns that mean something to experiments. */
export const meanings = ['input', 'output', 'generated_output', 'metadata'] as const;
export type Meaning = (typeof meanings)[number];

/** The place of a file's column in the dataset: a column with a meaning, a column of its own, or none. */
export type Target = Meaning | 'own' | 'none';
export type Targets = ReadonlyMap<string, Target>;

const usual: Record<Meaning, readonly string[]> = {
  input: ['input', 'question', 'prompt', 'query', 'problem', 'instruction'],
  output: ['output', 'expected', 'expected_output', 'reference', 'reference_answer', 'ground_truth', 'answer', 'target', 'label'],
  generated_output: ['generated_output', 'prediction', 'response', 'completion'],
  metadata: ['metadata'],
};

/** Returns the usual target of each column, by its name. Each meaning goes to one column at most; the others stay columns of their own. */
export function usualTargets(columns: readonly string[]): Map<string, Target> {
  const targets = new Map<string, Target>(columns.map((name) => [name, 'own']));
  for (const meaning of meanings) {
    const name = usual[meaning]
      .map((one) => columns.find((column) => column.toLowerCase() === one))
      .find((one) => one !== undefined);
    if (name !== undefined) targets.set(name, meaning);
  }
  return targets;
}

/**
 * Makes a row of a dataset from a row of a file. One column gives its cell. Several columns of one meaning give an object by their names; an object among
 * the metadata is put into it by its own keys.
 */
export function mappedRow(cells: FileCells, targets: Targets, format: FileFormat): Record<string, unknown> {
  const sources = new Map<string, [name: string, value: unknown][]>();
  for (const [name, value] of cells) {
    const target = targets.get(name) ?? 'own';
    if (target === 'none') continue;
    const column = target === 'own' ? name : target;
    const of = sources.get(column) ?? [];
    of.push([name, column === 'metadata' && format === 'csv' ? objectIn(value) : value]);
    sources.set(column, of);
  }
  return Object.fromEntries(
    [...sources].map(([column, [first, ...others]]) => {
      if (first && others.length === 0 && (column !== 'metadata' || first[0] === 'metadata' || isObject(first[1])))
        return [column, first[1]];
      return [column, joinCells(column, first ? [first, ...others] : [])];
    }),
  );
}

const joinCells = (column: string, of: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(
    of.flatMap(([name, value]) => (column === 'metadata' && isObject(value) ? Object.entries(value) : [[name, value]])),
  );

/** Reads the JSON text by which a CSV writes an object. Any other value stays as it is. */
function objectIn(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*\{/.test(value)) return value;
  try {
    const read = parseExactly(value);
    return isObject(read) ? read : value;
  } catch {
    return value;
  }
}
