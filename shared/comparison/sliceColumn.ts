import type { ColumnDef } from '../columns/columnDef.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { Comparison, ComparisonRequest } from './comparison.ts';

/**
 * The column by whose values rows are grouped. A name that no column has is one of the row's own columns.
 * @throws RequestInvalid for a column that holds no short value, ServiceError `ColumnUnknown`
 */
export function sliceColumn(findColumn: (id: string) => ColumnDef, given: string, loc: (string | number)[]): ColumnDef {
  const named = (id: string): ColumnDef => {
    const column = findColumn(id);
    const isShort = column.source.at === 'map' || (column.source.at === 'record' && !column.source.isLong);
    if (isShort && !column.multiValued) return column;
    const msg = `rows cannot be sliced by ${id}: take a column that holds one short value, such as one of dataset_metadata`;
    throw new RequestInvalid([{ loc, msg, type: 'slice_invalid' }]);
  };
  try {
    return named(given);
  } catch (err) {
    if (!(err instanceof ServiceError) || given.includes('/')) throw err;
    return named(`dataset_metadata/${given}`);
  }
}

/** @throws RequestInvalid for a slice of which no row has a value, although rows were compared */
export function mustHaveSlices({ slices }: ComparisonRequest, comparisons: readonly Pick<Comparison, 'slice' | 'pairs'>[]): void {
  for (const [index, id] of slices.entries()) {
    const isThere = comparisons.some(({ slice }) => slice?.column === id || slice?.column === `dataset_metadata/${id}`);
    if (!isThere && comparisons.some(({ pairs }) => pairs > 0))
      throw new RequestInvalid([
        {
          loc: ['body', 'slices', index],
          msg: `no compared row has a value of ${JSON.stringify(id.slice(0, 200))}`,
          type: 'slice_unknown',
        },
      ]);
  }
}
