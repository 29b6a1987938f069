import type { RunRef } from '../projects/runs.ts';
import type { AnnotationReads } from '../records/annotationReads.ts';
import type { ColumnFilter, Filter } from '../wire/filters.ts';

/**
 * The filter with the ids of the records that are fully annotated in the place of that leaf: ratings are in another store, and people make few.
 */
export async function withAnnotatedIds(
  reads: Pick<AnnotationReads, 'fullyAnnotated'>,
  run: RunRef,
  filter: Filter,
): Promise<ColumnFilter> {
  const found = new Map<string, Promise<string[]>>();
  const idsFor = (userIds: readonly string[] | undefined) => {
    const key = userIds ? [...userIds].sort().join() : '';
    const ids = found.get(key) ?? reads.fullyAnnotated(run, userIds);
    found.set(key, ids);
    return ids;
  };
  const each = async (inner: readonly Filter[]): Promise<ColumnFilter[]> => {
    const filters: ColumnFilter[] = [];
    for (const one of inner) filters.push(await resolve(one));
    return filters;
  };
  const resolve = async (inner: Filter): Promise<ColumnFilter> => {
    if ('and' in inner) return { and: await each(inner.and) };
    if ('or' in inner) return { or: await each(inner.or) };
    if ('not' in inner) return { not: await resolve(inner.not) };
    const leaf = inner.filter;
    if (leaf.type !== 'fully_annotated') return { filter: leaf };
    return idIsOneOf(await idsFor(leaf.user_ids ?? undefined));
  };
  return resolve(filter);
}

export const idIsOneOf = (ids: string[]): ColumnFilter => ({
  filter: { type: 'id', column_id: 'id', operator: 'one_of', value: ids },
});
