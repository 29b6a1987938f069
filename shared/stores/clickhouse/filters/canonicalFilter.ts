import type { ColumnFilter, ColumnLeaf } from '../../../wire/filters.ts';

/**
 * The filter without what is said twice: groups of one kind are flattened, equal parts of a group are one (A and A = A), constants and double
 * negations are resolved, and equal parts anywhere in the tree are the same object. It keeps the same records.
 */
export function canonicalFilter(filter: ColumnFilter): ColumnFilter {
  const byKey = new Map<string, Numbered>();
  const byFilter = new Map<ColumnFilter, Numbered>();
  const numbered = (key: string, make: () => ColumnFilter): Numbered => {
    const one = byKey.get(key) ?? { number: byKey.size, filter: make() };
    byKey.set(key, one);
    byFilter.set(one.filter, one);
    return one;
  };
  const visit = (inner: ColumnFilter): Numbered => byFilter.get(inner) ?? simplified(inner);
  // A part is compared by the numbers of what it is made of, so that no list of values is written out at every level.
  const simplified = (inner: ColumnFilter): Numbered => {
    if ('filter' in inner) {
      const leaf = simpleLeaf(inner.filter);
      return numbered(JSON.stringify(leaf), () => ({ filter: leaf }));
    }
    if ('not' in inner) {
      const { number, filter: negated } = visit(inner.not);
      if ('not' in negated) return visit(negated.not);
      if (isConstant(negated)) return visit('and' in negated ? { or: [] } : { and: [] });
      return numbered(`not ${number}`, () => ({ not: negated }));
    }
    const [kind, other] = 'and' in inner ? (['and', 'or'] as const) : (['or', 'and'] as const);
    const parts = new Map<number, ColumnFilter>();
    for (const part of 'and' in inner ? inner.and : inner.or) {
      const { filter: simple } = visit(part);
      // An empty group of the other kind decides: false among ANDs, true among ORs.
      if (other in simple && isConstant(simple)) return visit(simple);
      for (const one of partsOf(simple, kind)) parts.set(visit(one).number, one);
    }
    if (kind === 'or')
      for (const ids of idLists([...parts.values()])) {
        for (const one of ids.of) parts.delete(visit(one).number);
        const { number, filter: list } = visit({ filter: ids.list });
        parts.set(number, list);
      }
    const [only] = parts.values();
    if (parts.size === 1 && only) return visit(only);
    const key = `${kind} ${[...parts.keys()].sort((one, two) => one - two).join()}`;
    return numbered(key, () => group(kind, [...parts.values()]));
  };
  return visit(filter).filter;
}

interface Numbered {
  number: number;
  filter: ColumnFilter;
}

const group = (kind: 'and' | 'or', parts: ColumnFilter[]): ColumnFilter => (kind === 'and' ? { and: parts } : { or: parts });

const isConstant = (filter: ColumnFilter): boolean =>
  'and' in filter ? filter.and.length === 0 : 'or' in filter && filter.or.length === 0;

/** Returns the parts that a filter adds to a group of this kind: a group of the same kind is dissolved. */
function partsOf(filter: ColumnFilter, kind: 'and' | 'or'): readonly ColumnFilter[] {
  if (kind === 'and' && 'and' in filter) return filter.and;
  if (kind === 'or' && 'or' in filter) return filter.or;
  return [filter];
}

type IdLeaf = ColumnLeaf & { type: 'id' };

/** Ids of one column that are asked for one by one, as the list that asks for all of them. */
function idLists(parts: readonly ColumnFilter[]): { list: IdLeaf; of: ColumnFilter[] }[] {
  const lists = parts.filter((part) => 'filter' in part && isIdList(part.filter));
  const byColumn = Map.groupBy(lists, (part) => ('filter' in part ? part.filter.column_id : ''));
  return [...byColumn].flatMap(([column_id, of]) => {
    if (of.length < 2) return [];
    const value = of.flatMap((part) => ('filter' in part && isIdList(part.filter) ? part.filter.value : []));
    return [{ list: { type: 'id', column_id, operator: 'one_of', value } as const, of }];
  });
}

const isIdList = (leaf: ColumnLeaf): leaf is IdLeaf =>
  leaf.type === 'id' && (leaf.operator === 'eq' || leaf.operator === 'one_of');

/** `ne` of a boolean is `eq` of the other one; a list names each value once. */
function simpleLeaf(leaf: ColumnLeaf): ColumnLeaf {
  if (leaf.type === 'boolean') return leaf.operator === 'eq' ? leaf : { ...leaf, operator: 'eq', value: !leaf.value };
  if (leaf.type === 'date' || !Array.isArray(leaf.value) || leaf.operator === 'between') return leaf;
  return { ...leaf, value: [...new Set<unknown>(leaf.value)] } as ColumnLeaf;
}
