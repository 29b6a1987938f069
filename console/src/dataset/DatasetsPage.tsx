import { linkOptions } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { home } from '../address/home.ts';
import { type Dataset, datasetListQuery } from '../data/datasets.ts';
import { useMay } from '../data/permissions.ts';
import { type AssetColumn, AssetList } from '../parts/AssetList.tsx';
import { countText } from '../parts/format.ts';
import styles from '../parts/ListPage.module.css';
import { NewDataset } from './NewDataset.tsx';
import { useDatasetsAddress } from './useDatasetsAddress.ts';

const ImportDialog = lazy(async () => ({ default: (await import('./import/ImportDialog.tsx')).ImportDialog }));

const wideNumber = `number ${styles.wide}`;
const columns: AssetColumn<Dataset>[] = [
  { label: 'Rows', className: 'number', sort: 'num_rows', cell: (one) => countText(one.num_rows) },
  { label: 'Version', className: wideNumber, cell: (one) => one.current_version_index },
  {
    label: 'Used in',
    className: wideNumber,
    sort: 'project_count',
    cell: (one) => `${countText(one.project_count)} ${one.project_count === 1 ? 'project' : 'projects'}`,
  },
];

const pageOf = (datasetId: string, projectId: string) =>
  linkOptions({ to: '/datasets/$datasetId', params: { datasetId }, search: { project: projectId } });

/** The datasets of a project and those that it uses. */
export function DatasetsPage() {
  const { projectId, address, change } = useDatasetsAddress();
  const mayMake = useMay(projectId, 'update');
  const [isImporting, setIsImporting] = useState(false);
  return (
    <>
      <AssetList
        title="Datasets"
        noun="dataset"
        query={datasetListQuery}
        {...{ projectId, address, columns, pageOf }}
        onChange={change}
        actions={
          mayMake && (
            <>
              <button type="button" onClick={() => setIsImporting(true)}>
                Import a file
              </button>
              <NewDataset projectId={projectId} />
            </>
          )
        }
        lesson={<Lesson projectId={projectId} />}
      />
      <Suspense>{isImporting && <ImportDialog target={{ projectId }} onClose={() => setIsImporting(false)} />}</Suspense>
    </>
  );
}

function Lesson({ projectId }: { projectId: string }) {
  return (
    <>
      <p>
        A dataset is a list of inputs, with the answers that you expect, that experiments run over. Import a file, choose records
        of this project and put them <em>To a dataset</em>, or make one from your program:
      </p>
      <pre>{`import { createDataset } from '@assay/client';

await createDataset({
  client: new ServiceClient({ apiUrl: '${home.api}' }), projectId: '${projectId}', name: 'sums',
  content: [{ input: '2 + 2', output: '4' }],
});`}</pre>
    </>
  );
}
