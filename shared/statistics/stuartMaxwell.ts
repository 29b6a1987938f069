import { chiSquareTail } from './chiSquareTail.ts';

/** Pivots below this share of the largest entry are rounding: counts are whole numbers. */
const ROUNDING = 1e-9;

/**
 * The test of Stuart and Maxwell: whether both sides have the categories in the same proportions. For two categories it is McNemar's test without
 * its exactness.
 * @param table how many pairs have category i on the one side and j on the other
 */
export function stuartMaxwell(table: readonly (readonly number[])[]): { statistic: number; degrees: number; pValue: number } {
  const at = (row: number, column: number): number => table[row]?.[column] ?? 0;
  const indices = table.map((_, index) => index);
  const total = (of: (other: number) => number): number => indices.reduce((sum, other) => sum + of(other), 0);
  const excess = indices.map((index) => total((other) => at(index, other)) - total((other) => at(other, index)));
  const covariance = indices.map((row) =>
    indices.map((column) =>
      row === column
        ? total((other) => (other === row ? 0 : at(row, other) + at(other, row)))
        : -(at(row, column) + at(column, row)),
    ),
  );
  const { value: statistic, rank: degrees } = quadraticForm(covariance, excess);
  return { statistic, degrees, pValue: degrees === 0 ? 1 : chiSquareTail(statistic, degrees) };
}

/**
 * `x' A⁻ x` by elimination, with the rank of A. Categories add up to the pairs, so the last one follows from the others (from those that it is exchanged
 * with): it comes to a pivot of nothing and is left out.
 */
function quadraticForm(matrix: readonly (readonly number[])[], vector: readonly number[]): { value: number; rank: number } {
  const rows = matrix.map((row, index) => [...row, vector[index] ?? 0]);
  const largest = Math.max(0, ...matrix.flat().map(Math.abs));
  let [value, rank] = [0, 0];
  for (const [pivot, row] of rows.entries()) {
    const divisor = row[pivot] ?? 0;
    if (divisor <= largest * ROUNDING) continue;
    rank += 1;
    value += (row.at(-1) ?? 0) ** 2 / divisor;
    for (const other of rows.slice(pivot + 1)) {
      const factor = (other[pivot] ?? 0) / divisor;
      if (factor !== 0) for (const [column, entry] of row.entries()) other[column] = (other[column] ?? 0) - factor * entry;
    }
  }
  return { value, rank };
}
