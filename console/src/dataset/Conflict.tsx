import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { changesSinceQuery, versionsQuery } from '../data/datasetRows.ts';
import type { Dataset } from '../data/datasets.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText, lineText } from '../parts/format.ts';
import styles from './DatasetPage.module.css';
import { rebased } from './draft.ts';
import { jsonOfCell } from './gridRows.ts';
import { useDatasetAddress } from './useDatasetsAddress.ts';
import type { RowDraft } from './useRowDraft.ts';

/** Says that somebody else has saved a version under a draft: who, what it changed, and how both go together. Nothing that was typed is lost. */
export function Conflict({ dataset, draft }: { dataset: Dataset; draft: RowDraft }) {
  const { address } = useDatasetAddress();
  const { base } = draft.draft;
  const version = dataset.current_version_index;
  const { data: changes, error, refetch } = useQuery(changesSinceQuery(dataset.id, base, version));
  const { data: versions } = useInfiniteQuery(versionsQuery(dataset.id));
  const author = versions?.pages.flatMap((page) => page.versions).find((one) => one.version_index === version)
    ?.created_by_user?.email;
  const joined = useMemo(() => changes && rebased(draft.draft, changes, jsonOfCell), [draft.draft, changes]);
  return (
    <div className={styles.note} role="alert">
      <div>
        <p>
          {author ?? 'Somebody'} has saved version {version} meanwhile
          {changes &&
            `: ${countText(changes.rows_edited)} rows edited, ${countText(changes.rows_added)} added, ${countText(changes.rows_removed)} removed`}
          . Your changes of version {base} are kept here.
        </p>
        {joined && joined.clashes.length > 0 && (
          <ul className={styles.clashes}>
            {joined.clashes.slice(0, 50).map(({ rowId, column, mine, theirs }) => (
              <li key={`${rowId} ${column}`}>
                Both of you changed <b>{column}</b>: theirs is “{lineText(theirs, 120)}”, yours “{lineText(mine, 120)}”
              </li>
            ))}
          </ul>
        )}
        {joined && joined.revived > 0 && (
          <p>
            {countText(joined.revived)} rows that you changed were removed; on top of version {version} they are new rows.
          </p>
        )}
        {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      </div>
      <Link
        to="/datasets/$datasetId"
        params={{ datasetId: dataset.id }}
        search={{ ...address, tab: 'versions', version, with: base }}
      >
        What they changed
      </Link>
      <button type="button" className="primary" disabled={!joined} onClick={() => joined && draft.replace(joined.draft)}>
        Put mine on top
      </button>
      <button type="button" onClick={draft.discard}>
        Discard mine
      </button>
    </div>
  );
}
