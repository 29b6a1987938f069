import { useQuery } from '@tanstack/react-query';
import { type Dataset, datasetProjectsQuery } from '../data/datasets.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { UsesIn } from '../parts/UsesIn.tsx';
import styles from './DatasetPage.module.css';

/** The projects of a dataset that the account sees, each with the newest experiments that ran over it. */
export function Uses({ dataset }: { dataset: Dataset }) {
  const { data, error, refetch } = useQuery(datasetProjectsQuery(dataset.id));
  return (
    <div className={styles.body}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <LoadingNote what="where it is used" />}
      {data?.length === 0 && <p className="quiet">No project that you see uses it.</p>}
      {data?.map(({ id, name }) => (
        <UsesIn key={id} projectId={id} name={name} by="dataset_id" id={dataset.id} />
      ))}
    </div>
  );
}
