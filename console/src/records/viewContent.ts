import { FilterTextError } from '../../../shared/filterText/filterSyntax.ts';
import { type FilterTree, type Leaf, parseFilterText } from '../../../shared/filterText/parseFilterText.ts';
import { printFilterText } from '../../../shared/filterText/printFilterText.ts';
import type { RecordsAddress } from '../address/recordsAddress.ts';
import type { Column } from '../data/records.ts';
import type { SavedView, SavedViewFields } from '../data/savedViews.ts';
import { asFilterColumn, sortOf } from './useRecordsView.ts';

/** The parameters of the address that a saved view sets. */
type ViewAddress = Pick<RecordsAddress, 'kind' | 'q' | 'from' | 'to' | 'sort' | 'cols'>;

const parsed = (q: string | undefined, catalog: readonly Column[]): FilterTree | undefined =>
  parseFilterText(q ?? '', { columns: catalog.map(asFilterColumn) });

/** The address as a view keeps it. @throws FilterTextError for a filter that cannot be read */
export function contentOf(address: RecordsAddress, catalog: readonly Column[]): Omit<SavedViewFields, 'name' | 'is_shared'> {
  const sort = sortOf(address.sort);
  return {
    kind: address.kind ?? 'traces',
    filter_tree: (parsed(address.q, catalog) ?? null) as SavedViewFields['filter_tree'],
    start: address.from ?? null,
    end: address.to ?? null,
    columns: address.cols ?? null,
    sort: sort ? { column_id: sort.column, ascending: sort.ascending } : null,
  };
}

/** The parameters that show a view; those that it does not say are undefined, so that they replace what is there. */
export const addressOf = ({ kind, filter_tree, start, end, columns, sort }: SavedView): ViewAddress => ({
  kind: kind === 'traces' ? undefined : kind,
  q: filter_tree ? printFilterText(filter_tree as FilterTree) : undefined,
  from: start ?? undefined,
  to: end ?? undefined,
  cols: columns ?? undefined,
  sort: sort ? `${sort.ascending ? '' : '-'}${sort.column_id}` : undefined,
});

/** Returns false when the address shows something else than the view says. */
export function isShowing(view: SavedView, address: RecordsAddress, catalog: readonly Column[]): boolean {
  const own = addressOf(view);
  return (
    (['kind', 'from', 'to', 'sort'] as const).every((key) => own[key] === address[key]) &&
    JSON.stringify(own.cols) === JSON.stringify(address.cols) &&
    filterText(own.q, catalog) === filterText(address.q, catalog)
  );
}

/**
 * Returns false for a filter that the filter bar can only write as another one, such as a comparison that ignores case. One that names a column which this
 * run lacks can be written; the bar says what is wrong with it.
 */
export function canBeWritten({ filter_tree }: SavedView, catalog: readonly Column[]): boolean {
  if (!filter_tree) return true;
  const tree = filter_tree as FilterTree;
  try {
    const read = parsed(printFilterText(tree), catalog);
    return read !== undefined && JSON.stringify(comparable(read)) === JSON.stringify(comparable(tree));
  } catch (err) {
    if (err instanceof FilterTextError) return true;
    throw err;
  }
}

/** The tree without what the service adds by default: that case counts, and six digits of each second. */
function comparable(tree: FilterTree): unknown {
  if ('and' in tree) return ['and', tree.and.map(comparable)];
  if ('or' in tree) return ['or', tree.or.map(comparable)];
  if ('not' in tree) return ['not', comparable(tree.not)];
  const { type, value, ...rest } = tree.filter as Leaf & { case_sensitive?: boolean };
  const said = Object.entries(rest).filter(([key, one]) => key !== 'case_sensitive' || one !== true);
  return [type, type === 'date' ? Date.parse(String(value)) : value, said.sort()];
}

/** One filter may be written in several ways. */
function filterText(q: string | undefined, catalog: readonly Column[]): string | undefined {
  try {
    const tree = parsed(q, catalog);
    return tree && printFilterText(tree);
  } catch {
    return q; // it cannot be read, so it is like no other
  }
}
