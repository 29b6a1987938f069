import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { may } from '../data/assets.ts';
import { returnTo, versionQuery } from '../data/datasetRows.ts';
import type { Dataset } from '../data/datasets.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { EmptyNote, LoadingNote } from '../parts/notes.tsx';
import { say } from '../parts/notice.ts';
import { Conflict } from './Conflict.tsx';
import styles from './DatasetPage.module.css';
import { EditBar } from './EditBar.tsx';
import { RowGrid } from './RowGrid.tsx';
import { useDatasetAddress } from './useDatasetsAddress.ts';
import { type RowDraft, useRowDraft } from './useRowDraft.ts';
import { useRows } from './useRows.ts';

/** The rows of the current version, to be changed by those who may, or of an older one that the address names. */
export function RowsTab({ dataset }: { dataset: Dataset }) {
  const { address } = useDatasetAddress();
  const current = dataset.current_version_index;
  const draft = useRowDraft(dataset.id, current);
  const isOld = address.version !== undefined && address.version !== current;
  if (isOld) return <Rows dataset={dataset} version={address.version ?? current} draft={draft} isOld />;
  return (
    <>
      {draft.isBehind && <Conflict dataset={dataset} draft={draft} />}
      <Rows dataset={dataset} version={draft.draft.base} draft={draft} isOld={false} />
    </>
  );
}

interface Props {
  dataset: Dataset;
  version: number;
  draft: RowDraft;
  isOld: boolean;
}

function Rows({ dataset, version, draft, isOld }: Props) {
  const {
    data: shownVersion,
    error: noVersion,
    refetch,
  } = useQuery({
    ...versionQuery(dataset.id, version),
    // After a save the grid stays where it is.
    placeholderData: keepPreviousData,
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const total = shownVersion?.num_rows ?? 0;
  const { rows, onSight, error, retry } = useRows(dataset.id, version, total);
  if (noVersion) return <ErrorNote error={noVersion} onRetry={() => void refetch()} />;
  if (!shownVersion) return <LoadingNote what="the rows" />;
  const isEditable = !isOld && may(dataset, 'update');
  const columns = [...new Set([...shownVersion.column_names, ...(isOld ? [] : draft.result.columns)])];
  const shown = isOld ? { ...draft, result: nothingTyped, draft: { ...draft.draft, typing: undefined } } : draft;
  const toggle = (rowId: string) =>
    setChosen((now) => new Set(now.has(rowId) ? [...now].filter((one) => one !== rowId) : [...now, rowId]));
  return (
    <>
      {isOld ? (
        <OldVersion dataset={dataset} version={version} />
      ) : (
        <EditBar {...{ dataset, draft, columns, isEditable, chosen, rows }} onChosen={() => setChosen(new Set())} />
      )}
      {error && <ErrorNote error={error} onRetry={retry} />}
      {columns.length > 0 && total + shown.result.added.length > 0 ? (
        <RowGrid
          {...{ columns, rows, total, onSight }}
          draft={shown}
          chosen={isEditable ? { has: (rowId) => chosen.has(rowId), toggle } : undefined}
        />
      ) : (
        <EmptyNote title="No rows">
          <p>
            {isEditable
              ? 'Add one, import a file, or choose records of a project and put them here.'
              : 'This dataset has no rows yet.'}
          </p>
        </EmptyNote>
      )}
    </>
  );
}

const nothingTyped: RowDraft['result'] = { cells: new Map(), added: [], removed: new Set(), columns: [], count: 0 };

function OldVersion({ dataset, version }: { dataset: Dataset; version: number }) {
  const { change } = useDatasetAddress();
  const [error, setError] = useState<unknown>();
  const back = async () => {
    try {
      await returnTo(dataset.id, version);
      change({ version: undefined });
      say(`The rows are those of version ${version} again`);
    } catch (err) {
      setError(err);
    }
  };
  return (
    <div className={styles.note}>
      <p>
        Version {version}; the current one is {dataset.current_version_index}.
      </p>
      {may(dataset, 'update') && (
        <button type="button" onClick={() => void back()}>
          Return to this version
        </button>
      )}
      <button type="button" onClick={() => change({ version: undefined })}>
        Show the current one
      </button>
      {error !== undefined && <ErrorNote error={error} />}
    </div>
  );
}
