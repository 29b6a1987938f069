import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useRef, useState } from 'react';
import { may } from '../data/assets.ts';
import { type Dataset, renameDataset, saveDataset } from '../data/datasets.ts';
import { deleteDatasetLater } from '../data/deletions.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { NewNamed } from '../parts/NewNamed.tsx';
import { say } from '../parts/notice.ts';
import { StartLink } from '../parts/StartLink.tsx';
import { Time } from '../parts/Time.tsx';
import styles from './DatasetPage.module.css';
import { useDatasetAddress } from './useDatasetsAddress.ts';

const ImportDialog = lazy(async () => ({ default: (await import('./import/ImportDialog.tsx')).ImportDialog }));

/** The name of a dataset, what there is of it, and what can be done with it as a whole. */
export function DatasetHead({ dataset }: { dataset: Dataset }) {
  const { address } = useDatasetAddress();
  const navigate = useNavigate();
  const formats = useRef<HTMLDivElement>(null);
  const [error, setError] = useState<unknown>();
  const [isImporting, setIsImporting] = useState(false);
  const save = async (format: 'csv' | 'jsonl') => {
    formats.current?.hidePopover();
    setError(undefined);
    try {
      await saveDataset(dataset, format);
      say(`${countText(dataset.num_rows)} rows saved`);
    } catch (err) {
      setError(err);
    }
  };
  const remove = () => {
    deleteDatasetLater(dataset);
    void (address.project === undefined
      ? navigate({ to: '/' })
      : navigate({ to: '/p/$projectId/datasets', params: { projectId: address.project }, search: {} }));
  };
  return (
    <div className={styles.head}>
      <div className={styles.title}>
        <h1>{dataset.name}</h1>
        <p className="quiet">
          {address.project !== undefined && (
            <>
              <Link to="/p/$projectId/datasets" params={{ projectId: address.project }} search={{}}>
                Datasets
              </Link>
              {' · '}
            </>
          )}
          {countText(dataset.num_rows)} rows · version {dataset.current_version_index} · changed <Time at={dataset.updated_at} />
          {dataset.created_by_user && ` · made by ${dataset.created_by_user.email}`}
        </p>
      </div>
      {address.project !== undefined && (
        <StartLink projectId={address.project} search={{ dataset: dataset.id }} label="Run on this dataset" />
      )}
      {may(dataset, 'update') && (
        <button type="button" onClick={() => setIsImporting(true)}>
          Import rows
        </button>
      )}
      {may(dataset, 'export') && (
        <>
          <button type="button" popoverTarget="dataset-formats">
            Export
          </button>
          <div ref={formats} popover="auto" id="dataset-formats" className="menu">
            <button type="button" className="plain item" onClick={() => void save('csv')}>
              CSV
            </button>
            <button type="button" className="plain item" onClick={() => void save('jsonl')}>
              JSON lines
            </button>
          </div>
        </>
      )}
      {may(dataset, 'rename') && (
        <NewNamed
          title="Rename"
          action="Rename"
          className=""
          name={dataset.name}
          onName={(name) => renameDataset(dataset.id, name)}
        />
      )}
      {may(dataset, 'delete') && (
        <button type="button" className="bad" onClick={remove}>
          Delete
        </button>
      )}
      {error !== undefined && <ErrorNote error={error} />}
      <Suspense>
        {isImporting && <ImportDialog target={{ dataset, projectId: address.project }} onClose={() => setIsImporting(false)} />}
      </Suspense>
    </div>
  );
}
