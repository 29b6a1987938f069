import type { ContentQuery } from '../../../datasets/dataset.ts';
import type { ParamValue } from '../clickHouse.ts';

/** Key and ordinal of every row of a content. */
export const orderedKeys = `SELECT row_key + step AS row_key, ordinal + step AS ordinal FROM dataset_row_ranges
  ARRAY JOIN range(count) AS step WHERE owner_id = {owner:UUID} AND content_id = {content:UUID}`;

/** The text of a cell as people see it: a text without its quotes, null as nothing, an object as JSON text. */
const cellText = (key: string) =>
  `multiIf(JSONType(cells, ${key}) = 'String', JSONExtractString(cells, ${key}), JSONType(cells, ${key}) = 'Null', '', JSONExtractRaw(cells, ${key}))`;

/** Returns which rows fit, and in what order, as SQL over rows and their ordinals. */
export function contentConditions({ filters, sort }: ContentQuery): {
  conditions: string[];
  order: string;
  params: Record<string, ParamValue>;
} {
  const params: Record<string, ParamValue> = {};
  const bind = (value: string) => {
    const name = `p${Object.keys(params).length}`;
    params[name] = value;
    return `{${name}:String}`;
  };
  const conditions = filters.map(({ columnKey, operator, value }) => {
    const text = cellText(bind(String(columnKey)));
    switch (operator) {
      case 'eq':
        return `${text} = ${bind(value)}`;
      case 'ne':
        return `${text} != ${bind(value)}`;
      case 'contains':
        return `position(caseFoldUTF8(${text}), caseFoldUTF8(${bind(value)})) > 0`;
      default:
        return operator satisfies never;
    }
  });
  if (!sort) return { conditions, order: 'ordinal', params };
  // Numbers before texts, by size; what is no number sorts as text.
  const text = cellText(bind(String(sort.columnKey)));
  const direction = sort.ascending ? 'ASC' : 'DESC';
  return { conditions, order: `toFloat64OrNull(${text}) ${direction} NULLS LAST, ${text} ${direction}, ordinal`, params };
}
