import { z } from 'zod';
import { BodyFlag, documentedAs, orDefault, Uuid } from './common.ts';
import { numberFields, numbersFit } from './listFilters.ts';
import { Text } from './recordParts.ts';
import { ComparedTime } from './time.ts';

/** A filter nests at most this deep and has at most this many leaves and combinators; more is answered 422. */
export const MAX_FILTER_DEPTH = 32;
export const MAX_FILTER_NODES = 1000;
/** Values of one list (`one_of`, `not_in`). */
const MAX_VALUES = 10_000;

const texts = z.union([Text, z.array(Text).max(MAX_VALUES)]);
const column = { column_id: z.string() };
const caseSensitive = BodyFlag(true);
const equality = orDefault(z.enum(['eq', 'ne']), 'eq');

const IdFilter = z.object({
  type: z.literal('id'),
  ...column,
  operator: orDefault(z.enum(['eq', 'ne', 'one_of', 'not_in', 'contains']), 'eq'),
  value: texts,
});
const DateFilter = z.object({
  type: z.literal('date'),
  ...column,
  operator: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']),
  value: ComparedTime,
});
const NumberFilter = z.object({ type: z.literal('number'), ...column, ...numberFields }).superRefine(numbersFit);
const BooleanFilter = z.object({ type: z.literal('boolean'), ...column, operator: equality, value: z.boolean() });
const CollectionFilter = z.object({
  type: z.literal('collection'),
  ...column,
  operator: z.enum(['eq', 'contains', 'one_of', 'not_in']),
  value: texts,
  case_sensitive: caseSensitive,
});
const TextFilter = z.object({
  type: z.literal('text'),
  ...column,
  operator: z.enum(['eq', 'ne', 'contains', 'one_of', 'not_in']),
  value: texts,
  case_sensitive: caseSensitive,
});
const FullyAnnotatedFilter = z.object({
  type: z.literal('fully_annotated'),
  column_id: orDefault(z.literal('fully_annotated'), 'fully_annotated'),
  user_ids: z.array(Uuid).min(1).nullish(),
});

/** The filter leaves by `type`, in the form the interface's tables give them. */
const LeafUnion = z.discriminatedUnion('type', [
  IdFilter.meta({ id: 'LogRecordsIDFilter' }),
  DateFilter.meta({ id: 'LogRecordsDateFilter' }),
  NumberFilter.meta({ id: 'LogRecordsNumberFilter' }),
  BooleanFilter.meta({ id: 'LogRecordsBooleanFilter' }),
  CollectionFilter.meta({ id: 'LogRecordsCollectionFilter' }),
  TextFilter.meta({ id: 'LogRecordsTextFilter' }),
  FullyAnnotatedFilter.meta({ id: 'LogRecordsFullyAnnotatedFilter' }),
]);
export type FilterLeaf = z.output<typeof LeafUnion>;

type FilterOver<Leaf> = { filter: Leaf } | { and: FilterOver<Leaf>[] } | { or: FilterOver<Leaf>[] } | { not: FilterOver<Leaf> };
/** A filter after parsing: one form, whichever dialect it came in. */
export type Filter = FilterOver<FilterLeaf>;
export type ColumnLeaf = Exclude<FilterLeaf, { type: 'fully_annotated' }>;
/** A filter that looks at columns of the records alone: what the record store answers. */
export type ColumnFilter = FilterOver<ColumnLeaf>;

const Leaf = z.object({ filter: LeafUnion }).meta({ id: 'FilterLeaf' });
const Tree: z.ZodType<Filter> = z
  .lazy(() =>
    z.union([
      Leaf,
      z.object({ and: z.array(Tree) }).meta({ id: 'AndNode' }),
      z.object({ or: z.array(Tree) }).meta({ id: 'OrNode' }),
      z.object({ not: Tree }).meta({ id: 'NotNode' }),
    ]),
  )
  .meta({ id: 'FilterTree' });

const LooseLeaf = z.discriminatedUnion('type', [
  IdFilter.loose(),
  DateFilter.loose(),
  NumberFilter.loose(),
  BooleanFilter.loose(),
  CollectionFilter.loose(),
  TextFilter.loose(),
  FullyAnnotatedFilter.loose(),
]);
const LooseTree: z.ZodType<Filter> = z.lazy(() =>
  z.union([
    z.looseObject({ filter: LooseLeaf }),
    z.looseObject({ and: z.array(LooseTree) }),
    z.looseObject({ or: z.array(LooseTree) }),
    z.looseObject({ not: LooseTree }),
  ]),
);

/** The forms of a filter: exactly one of these, or a bare leaf, which names a column. */
const NODE_PARTS = ['and', 'or', 'not', 'filter'] as const;

const partsOf = (node: Record<string, unknown>): string[] => [
  ...NODE_PARTS.filter((part) => node[part] != null),
  ...((node.column_id ?? node.name) == null ? [] : ['a leaf']),
];

/** One of them would be left out, and a deletion would take more than was meant. */
const hasManyParts = (node: Record<string, unknown>): boolean => partsOf(node).length > 1;

/**
 * Brings both dialects to one form before anything recursive looks at the value: the column as `name` or `column_id`, a leaf bare or wrapped.
 * Stops at the depth and size limits, so that no request can exhaust the stack.
 */
function normalise(context: z.RefinementCtx): (given: unknown, path: (string | number)[], depth: number) => unknown {
  let nodes = 0;
  let refused = false;
  const refuse = (message: string, path: (string | number)[]): unknown => {
    if (!refused) context.addIssue({ code: 'custom', path, message });
    refused = true;
    return z.NEVER;
  };
  const visit = (given: unknown, path: (string | number)[], depth: number): unknown => {
    if (refused) return z.NEVER;
    if (depth > MAX_FILTER_DEPTH) return refuse(`a filter nests at most ${MAX_FILTER_DEPTH} levels deep`, path);
    if (++nodes > MAX_FILTER_NODES) return refuse(`a filter has at most ${MAX_FILTER_NODES} leaves and combinators`, path);
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      return refuse('a filter is an object: a leaf, or one of and, or, not', path);
    }
    const node = given as Record<string, unknown>;
    if (hasManyParts(node))
      return refuse(`a filter is one of: a leaf, and, or, not; this one has ${partsOf(node).join(' beside ')}`, path);
    const { and: _and, or: _or, not: _not, filter: wrapped, ...others } = node;
    for (const combinator of ['and', 'or'] as const) {
      const inner = node[combinator];
      if (inner == null) continue;
      if (!Array.isArray(inner)) return refuse(`${combinator} needs an array of filters`, [...path, combinator]);
      return { ...others, [combinator]: inner.map((one, index) => visit(one, [...path, combinator, index], depth + 1)) };
    }
    if (node.not != null) return { ...others, not: visit(node.not, [...path, 'not'], depth + 1) };
    const leaf = wrapped ?? others;
    if (typeof leaf !== 'object') return refuse('filter needs a filter leaf', [...path, 'filter']);
    if (hasManyParts(leaf as Record<string, unknown>) || (wrapped != null && 'filter' in leaf))
      return refuse('filter holds one leaf; and, or and not stand in its place', [...path, 'filter']);
    const { name, column_id, ...rest } = leaf as Record<string, unknown>;
    const column = column_id ?? name ?? undefined;
    return { ...(wrapped == null ? {} : others), filter: column === undefined ? rest : { ...rest, column_id: column } };
  };
  return visit;
}

/** Gives back a filter of another kind of thing as it came, when it nests and holds no more than a filter may. */
export function notTooDeep(given: unknown, context: z.RefinementCtx): unknown {
  let nodes = 0;
  const fits = (node: unknown, depth: number): boolean => {
    if (typeof node !== 'object' || node === null) return true;
    if (depth > MAX_FILTER_DEPTH || ++nodes > MAX_FILTER_NODES) return false;
    const { and, or, not } = node as Record<string, unknown>;
    return [and, or, not].flat().every((inner) => fits(inner, depth + 1));
  };
  if (fits(given, 1)) return given;
  const message = `a filter nests at most ${MAX_FILTER_DEPTH} levels deep, and has at most ${MAX_FILTER_NODES} leaves and combinators`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

const filterExpression = (tree: z.ZodType<Filter>) =>
  z.preprocess((given, context) => normalise(context)(given, [], 1), tree) as z.ZodType<Filter>;

const filterList = (tree: z.ZodType<Filter>) =>
  z.preprocess((given, context) => {
    if (given === undefined || given === null) return [];
    if (!Array.isArray(given)) return given;
    const visit = normalise(context);
    return given.map((one, index) => visit(one, [index], 1));
  }, z.array(tree).default([])) as z.ZodType<Filter[]>;

/** One filter: a leaf, bare or wrapped, or a combinator over filters. */
export const FilterExpression = filterExpression(Tree);
/** `filters`: joined by AND; null and absent are no filter. */
export const FilterList = filterList(Tree);

/** The same of what is to be deleted. Other keys of a leaf come along: the default of a leaf is not to stand in for one that is misspelt. */
export const DeletionFilterExpression = documentedBy(filterExpression(LooseTree), FilterExpression);
export const DeletionFilterList = documentedBy(filterList(LooseTree), FilterList);

/** Returns what `schema` reads, without its parts in the document of the API, where `documented` replaces it. */
function documentedBy<T>(schema: z.ZodType<T>, documented: z.ZodType): z.ZodType<T> {
  const field = z.unknown().transform((given, context) => {
    const result = schema.safeParse(given);
    if (result.success) return result.data;
    for (const issue of result.error.issues) context.addIssue({ ...issue } as Parameters<typeof context.addIssue>[0]);
    return z.NEVER;
  });
  documentedAs.set(field, documented);
  return field;
}
