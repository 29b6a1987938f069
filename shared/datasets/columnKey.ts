import { RequestInvalid } from '../errors/errors.ts';
import { someNames } from './columnMapping.ts';
import type { Column } from './dataset.ts';

/** The key of the column with this name. @throws RequestInvalid naming the columns that there are */
export function columnKey(columns: readonly Column[], name: string, loc: (string | number)[]): number {
  const column = columns.find((one) => one.name === name);
  if (column) return column.key;
  const names = someNames(columns.map((one) => one.name));
  throw new RequestInvalid([{ loc, type: 'column_unknown', msg: `there is no column "${name}"; columns: ${names}` }]);
}
