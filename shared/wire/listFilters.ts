import { z } from 'zod';
import { BodyFlag, orDefault } from './common.ts';
import { ComparedTime } from './time.ts';

// Filters of the lists of projects, experiments and assets. Those of records are in filters.ts; a list of values means the same in both: any of them.

const matching = z.enum(['eq', 'ne', 'contains', 'one_of', 'not_in']);
const equality = z.enum(['eq', 'ne', 'one_of', 'not_in']);

/** Values of one list. */
const MAX_VALUES = 10_000;
/** Each of them is looked for in every name. */
const MAX_PARTS = 100;

const ValueOrList = z.union([z.string(), z.array(z.string()).max(MAX_VALUES)]);
const hasFewParts = ({ operator, value }: { operator: string; value: string | string[] }) =>
  operator !== 'contains' || !Array.isArray(value) || value.length <= MAX_PARTS;
const partsRule = { path: ['value'], error: `contains takes at most ${MAX_PARTS} values` };

export const IdFilter = <const N extends string>(name: N) =>
  z.object({ name: z.literal(name), operator: orDefault(matching, 'eq'), value: ValueOrList }).refine(hasFewParts, partsRule);

export const trimmed = (value: string | string[]) => (Array.isArray(value) ? value.map((one) => one.trim()) : value.trim());

/** A filter on names, which are stored without blanks around them: whole names are sought without them as well. */
export const NameFilter = <const N extends string>(name: N, caseSensitive = true) =>
  z
    .object({ name: z.literal(name), operator: matching, value: ValueOrList, case_sensitive: BodyFlag(caseSensitive) })
    .refine(hasFewParts, partsRule)
    .transform((filter) => (filter.operator === 'contains' ? filter : { ...filter, value: trimmed(filter.value) }));

/** A filter on a column of few values, such as a type. */
export const ChoiceFilter = <const N extends string>(name: N) =>
  z.object({ name: z.literal(name), operator: equality, value: ValueOrList });

const comparisons = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;

export const TimeFilter = <const N extends string>(name: N) =>
  z.object({ name: z.literal(name), operator: z.enum(comparisons), value: ComparedTime });

/** The operator and the value of a filter on numbers: two numbers for `between`, any number of them for `eq` and `ne`, else one. */
export const numberFields = {
  operator: z.enum([...comparisons, 'between']),
  value: z.union([z.number(), z.array(z.number()).max(MAX_VALUES)]),
};
type Numbers = z.output<z.ZodObject<typeof numberFields>>;
export function numbersFit({ operator, value }: Numbers, context: z.RefinementCtx): void {
  const isPair = Array.isArray(value) && value.length === 2;
  if (operator === 'eq' || operator === 'ne' || (operator === 'between' ? isPair : !Array.isArray(value))) return;
  const message = operator === 'between' ? 'between needs an array of two numbers' : `${operator} needs one number`;
  context.addIssue({ code: 'custom', path: ['value'], message });
}

export const NumberFilter = <const N extends string>(name: N) =>
  z.object({ name: z.literal(name), ...numberFields }).superRefine(numbersFit);
