import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { datasetQuery } from '../data/datasets.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { DatasetHead } from './DatasetHead.tsx';
import styles from './DatasetPage.module.css';
import { RowsTab } from './RowsTab.tsx';
import { useDatasetAddress } from './useDatasetsAddress.ts';
import { Versions } from './Versions.tsx';

const Uses = lazy(async () => ({ default: (await import('./Uses.tsx')).Uses }));

/** One dataset: its rows, its versions and what uses it. */
export function DatasetPage() {
  const { datasetId, address, change } = useDatasetAddress();
  const { data: dataset, error, refetch } = useQuery(datasetQuery(datasetId));
  useTitle(dataset?.name ?? 'Dataset');
  if (error && !dataset) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!dataset) return <LoadingNote what="the dataset" />;
  const tab = address.tab ?? 'rows';
  return (
    <div className={styles.page}>
      <DatasetHead dataset={dataset} />
      <div className={styles.tabs}>
        <Tabs
          label="Of the dataset"
          tabs={[
            ['rows', 'Rows'],
            ['versions', 'Versions'],
            ['uses', 'Used by'],
          ]}
          chosen={tab}
          onChoose={(next) => change({ tab: next === 'rows' ? undefined : next, version: undefined, with: undefined })}
        >
          <Suspense fallback={<LoadingNote what="the versions" />}>
            {tab === 'rows' && <RowsTab key={dataset.id} dataset={dataset} />}
            {tab === 'versions' && <Versions dataset={dataset} />}
            {tab === 'uses' && <Uses dataset={dataset} />}
          </Suspense>
        </Tabs>
      </div>
    </div>
  );
}
