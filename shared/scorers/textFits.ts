/**
 * Whether a filter on texts holds for a list of values: when one of them fits; with `ne` and `not_in` when none does. `contains` looks for a part.
 */
export function textFits(
  filter: { operator: string; value: string | string[] },
  values: readonly string[],
  caseSensitive: boolean,
): boolean {
  const fold = (text: string) => (caseSensitive ? text : text.toLowerCase());
  const wanted = [filter.value].flat().map(fold);
  const found = values.map(fold);
  if (filter.operator === 'contains') return found.some((value) => wanted.some((part) => value.includes(part)));
  const fits = found.some((value) => wanted.includes(value));
  return filter.operator === 'ne' || filter.operator === 'not_in' ? !fits : fits;
}
