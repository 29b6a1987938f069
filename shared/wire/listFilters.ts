import { z } from 'zod';
import { BodyFlag, orDefault } from './common.ts';
import { ComparedTime } from './time.ts';

// Filters of the lists of projects, experiments and assets. Those of records are in filters.ts.

export const anyOperator = z.enum(['eq', 'ne', 'contains', 'one_of', 'not_in']);

export const ValueOrList = z.union([z.string(), z.array(z.string()).max(10_000)]);
/** One value, or for `one_of` and `not_in` a list (where a single value counts as a list of one). */
export const fitsOperator = ({ operator, value }: { operator: string; value: unknown }) =>
  !Array.isArray(value) || operator === 'one_of' || operator === 'not_in';
export const listRule = { path: ['value'], error: 'a list of values goes with one_of and not_in only' };

export const IdFilter = <const N extends string>(name: N) =>
  z
    .object({
      name: z.literal(name),
      operator: orDefault(z.enum(['eq', 'ne', 'one_of', 'not_in', 'contains']), 'eq'),
      value: ValueOrList,
    })
    .refine(fitsOperator, listRule);

export const TextFilter = <const N extends string>(name: N) =>
  z
    .object({ name: z.literal(name), operator: anyOperator, value: ValueOrList, case_sensitive: BodyFlag(true) })
    .refine(fitsOperator, listRule);

export const comparisons = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;

export const TimeFilter = <const N extends string>(name: N) =>
  z.object({ name: z.literal(name), operator: z.enum(comparisons), value: ComparedTime });

/** A value fits its operator: a list for `one_of` and `not_in`, else one value. A single value for a list operator is a list of one. */
export const ValueByOperator = <T extends { operator: string; value: string | string[] }>(
  filter: T,
  context: z.RefinementCtx,
): T => {
  const takesList = filter.operator === 'one_of' || filter.operator === 'not_in';
  if (takesList && typeof filter.value === 'string') return { ...filter, value: [filter.value] };
  if (!takesList && Array.isArray(filter.value))
    context.addIssue({ code: 'custom', path: ['value'], message: `${filter.operator} takes one value, not a list` });
  return filter;
};
