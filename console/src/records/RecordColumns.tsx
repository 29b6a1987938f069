import { ColumnsMenu } from '../parts/ColumnsMenu.tsx';
import { type RecordsView, useRecordsAddress } from './useRecordsView.ts';

/** Lets the reader choose the columns of a table of records. The address keeps the choice. */
export function RecordColumns({ catalog, shown }: Pick<RecordsView, 'catalog' | 'shown'>) {
  const [address, change] = useRecordsAddress();
  if (!catalog || !shown) return null;
  return (
    <ColumnsMenu
      {...{ catalog, shown }}
      pin={address.pin ?? []}
      onChange={(changed) => change(changed, { replace: true })}
      isOther={(id) => /^(user|dataset)_metadata\/./.test(id)}
    />
  );
}
