import { memo } from 'react';
import { FilterBar } from '../filterBar/FilterBar.tsx';
import { useFilterCompletion } from './useFilterCompletion.ts';
import { type RunView, useRecordsAddress } from './useRecordsView.ts';

interface Props extends Pick<RunView, 'projectId' | 'run' | 'kind' | 'catalog' | 'problem'> {
  placeholder: string;
}

/** The filter of a table of records. It is not built anew when records come. */
export const RecordFilter = memo(function RecordFilter({ problem, placeholder, ...view }: Props) {
  const [address, change] = useRecordsAddress();
  const useCompletion = (text: string, caret: number | undefined) => useFilterCompletion(view, text, caret);
  return (
    <FilterBar {...{ problem, placeholder, useCompletion }} q={address.q ?? ''} onAsk={(q) => change({ q, open: undefined })} />
  );
});
