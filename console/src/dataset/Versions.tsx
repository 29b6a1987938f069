import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { may } from '../data/assets.ts';
import { type DatasetVersion, nameVersion, versionsQuery } from '../data/datasetRows.ts';
import type { Dataset } from '../data/datasets.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { NewNamed } from '../parts/NewNamed.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { VersionTable } from '../parts/VersionTable.tsx';
import { Changes } from './Changes.tsx';
import styles from './DatasetPage.module.css';
import { useDatasetAddress } from './useDatasetsAddress.ts';

/** The versions of a dataset, and what differs between the two that the address names. */
export function Versions({ dataset }: { dataset: Dataset }) {
  const { address, change } = useDatasetAddress();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(versionsQuery(dataset.id));
  const versions = data?.pages.flatMap((page) => page.versions) ?? [];
  const { version } = address;
  return (
    <div className={styles.body}>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <LoadingNote what="the versions" />}
      {version !== undefined && (
        <Changes key={`${version} ${address.with}`} dataset={dataset} version={version} from={address.with} versions={versions} />
      )}
      {versions.length > 0 && (
        <VersionTable
          versions={versions}
          numberOf={(one) => one.version_index}
          current={version}
          columns={[
            {
              name: 'What changed',
              cell: (one) => (
                <>
                  <button type="button" className="plain" onClick={() => change({ version: one.version_index, with: undefined })}>
                    {sumOf(one)}
                  </button>
                  {one.name !== null && <span className="quiet"> {one.name}</span>}
                </>
              ),
            },
            { name: 'Rows', kind: 'wide number', cell: (one) => countText(one.num_rows) },
            { name: 'By', kind: 'wide', cell: (one) => one.created_by_user?.email ?? '–' },
          ]}
          actions={(one) => (
            <>
              <Link
                to="/datasets/$datasetId"
                params={{ datasetId: dataset.id }}
                search={{
                  ...(address.project === undefined ? {} : { project: address.project }),
                  version: one.version_index,
                }}
              >
                Its rows
              </Link>
              {may(dataset, 'update') && (
                <NewNamed
                  title="Name it"
                  action="Save"
                  className="plain"
                  name={one.name ?? ''}
                  onName={(name) => nameVersion(dataset.id, one.version_index, name)}
                />
              )}
            </>
          )}
        />
      )}
      {hasNextPage && (
        <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Older versions
        </button>
      )}
    </div>
  );
}

/** `+2 rows, −1, 3 edited; 1 column new` */
function sumOf(one: DatasetVersion): string {
  const of = (count: number, text: string) => (count === 0 ? '' : text.replace('#', countText(count)));
  const parts = [
    of(one.rows_added, '# rows new'),
    of(one.rows_removed, '# removed'),
    of(one.rows_edited, '# edited'),
    of(one.columns_added, '# columns new'),
    of(one.columns_removed, '# columns removed'),
    of(one.columns_renamed, '# columns renamed'),
  ].filter((part) => part !== '');
  return parts.length > 0
    ? parts.join(', ').replaceAll(/\b1 (rows|columns)/g, (_, word: string) => `1 ${word.slice(0, -1)}`)
    : 'nothing';
}
