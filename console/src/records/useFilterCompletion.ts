import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type ColumnValues, columnValuesQuery, metadataKeysQuery } from '../data/columnValues.ts';
import {
  type KnownColumn,
  keyColumns,
  type Option,
  optionsOf,
  type WrittenValue,
  writtenValue,
} from '../filterBar/filterCompletion.ts';
import { countText } from '../parts/format.ts';
import { useDebounced } from '../parts/useDebounced.ts';
import { filterOf, type RunView, useRecordsAddress } from './useRecordsView.ts';

/** Milliseconds without a key before values are asked for. */
const PAUSE_MS = 150;

/** Ids of long texts. No list of values is made of these, nor of times and quantities. */
const longTexts = new Set(['input', 'output', 'redacted_input', 'redacted_output', 'dataset_input', 'dataset_output', 'tools']);
const hasValues = ({ id, filter_type, group_label }: KnownColumn): boolean =>
  filter_type !== 'date' && group_label !== 'System Metrics' && !longTexts.has(id);

/** Finds the texts that may come next at the caret of a filter, and says how many records were counted. Nothing where there is no caret. */
export function useFilterCompletion(
  view: Pick<RunView, 'projectId' | 'run' | 'kind' | 'catalog'>,
  text: string,
  caret: number | undefined,
) {
  const { run, kind, catalog } = view;
  const [address] = useRecordsAddress();
  const none = { projectId: view.projectId, runId: '', isExperiment: false };
  const isOpen = caret !== undefined && run !== undefined && catalog !== undefined;
  const keys = useQuery({ ...metadataKeysQuery(run ?? none, kind), enabled: isOpen, retry: false });
  const columns = useMemo<KnownColumn[]>(() => [...(catalog ?? []), ...keyColumns(keys.data ?? [])], [catalog, keys.data]);
  const written = useMemo(() => (caret === undefined ? undefined : writtenValue(text, caret, columns)), [text, caret, columns]);
  const asked = useDebounced(written, PAUSE_MS);
  const filter = useMemo(() => {
    const beside = filterOf({ ...address, q: asked?.beside }, catalog);
    return beside.problem || isEither(beside.filter) ? filterOf({ ...address, q: '' }, catalog).filter : beside.filter;
  }, [address, asked, catalog]);
  const isListed = asked !== undefined && hasValues(asked.column);
  const values = useQuery({
    ...columnValuesQuery({
      ...{ run: run ?? none, kind, filter },
      ...{ columnId: asked?.column.id ?? '', contains: asked?.text.trim() ?? '' },
    }),
    enabled: isOpen && isListed,
    retry: false,
    placeholderData: (before, query) => (query?.queryKey[4] === asked?.column.id ? before : undefined),
  });
  const found = isOpen && isListed && written?.column.id === asked.column.id ? values.data : undefined;
  const options = useMemo<Option[]>(
    () => (caret === undefined || !catalog ? [] : optionsOf(text, caret, columns, found)),
    [text, caret, catalog, columns, found],
  );
  const isWaiting = written !== undefined && hasValues(written.column) && !found && !values.error;
  return { options, note: isOpen ? noteOf(written, found, isWaiting, kind) : '' };
}

const isEither = (filter: object | undefined): boolean => filter !== undefined && 'or' in filter;

function noteOf(written: WrittenValue | undefined, found: ColumnValues | undefined, isWaiting: boolean, kind: string): string {
  if (isWaiting) return 'Counting values …';
  if (!written || !found) return '';
  const { num_records_counted: counted, num_records: all, values, has_more } = found;
  const among = counted < all ? `the newest ${countText(counted)} of ${countText(all)} ${kind}` : `${countText(all)} ${kind}`;
  if (values.length === 0) return `No value of ${written.column.id} like this in ${among}`;
  return `${has_more ? 'The most frequent values' : 'Values'}, counted in ${among}`;
}
