import { useInfiniteQuery } from '@tanstack/react-query';
import { changesQuery, type DatasetChange, type DatasetChanges, type DatasetVersion } from '../data/datasetRows.ts';
import type { Dataset } from '../data/datasets.ts';
import { TextDiff } from '../diff/TextDiff.tsx';
import { ComparedVersions } from '../parts/ComparedVersions.tsx';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { LongText } from '../payload/LongText.tsx';
import styles from './DatasetPage.module.css';
import { typedOf } from './draft.ts';
import { jsonOfCell } from './gridRows.ts';
import { useDatasetAddress } from './useDatasetsAddress.ts';

interface Props {
  dataset: Dataset;
  version: number;
  /** The version before it without one. */
  from: number | undefined;
  versions: readonly DatasetVersion[];
}

/** The rows and columns that differ between two versions, with the words that changed. */
export function Changes({ dataset, version, from, versions }: Props) {
  const { change } = useDatasetAddress();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    changesQuery(dataset.id, version, from),
  );
  const head = data?.pages[0];
  const rows = data?.pages.flatMap((page) => page.changes) ?? [];
  const before = from ?? version - 1;
  return (
    <ComparedVersions
      version={version}
      before={before}
      others={versions.flatMap(({ version_index, name }) =>
        version_index === version
          ? []
          : [{ version: version_index, label: `version ${version_index}${name === null ? '' : `, ${name}`}` }],
      )}
      onWith={(chosen) => change({ with: chosen }, { replace: true })}
      onClose={() => change({ version: undefined, with: undefined })}
    >
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <LoadingNote what="what changed" />}
      {head && <Sum changes={head} />}
      {head && rows.length > 0 && (
        <ol className={styles.changes}>
          {rows.map((one) => (
            <Change key={one.row_id} change={one} of={head} />
          ))}
        </ol>
      )}
      {hasNextPage && (
        <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          More rows
        </button>
      )}
    </ComparedVersions>
  );
}

function Sum({ changes }: { changes: DatasetChanges }) {
  const { rows_added, rows_removed, rows_edited, column_names, column_names_before, columns_renamed } = changes;
  const renamedTo = new Set(columns_renamed.map(({ to }) => to));
  const renamedFrom = new Set(columns_renamed.map(({ from }) => from));
  const news = column_names.filter((name) => !column_names_before.includes(name) && !renamedTo.has(name));
  const gone = column_names_before.filter((name) => !column_names.includes(name) && !renamedFrom.has(name));
  return (
    <div>
      <p role="status">
        {countText(rows_added)} {rows_added === 1 ? 'row' : 'rows'} added, {countText(rows_removed)} removed,{' '}
        {countText(rows_edited)} edited
      </p>
      {changes.from_version !== null && news.length > 0 && <p>New columns: {news.join(', ')}</p>}
      {gone.length > 0 && <p>Removed columns: {gone.join(', ')}</p>}
      {columns_renamed.length > 0 && (
        <p>Renamed columns: {columns_renamed.map(({ from, to }) => `${from} is now ${to}`).join(', ')}</p>
      )}
    </div>
  );
}

function Change({ change, of }: { change: DatasetChange; of: DatasetChanges }) {
  const names = new Map(of.columns_renamed.map(({ from, to }) => [to, from]));
  const { values, values_before: before } = change;
  const cells = (values ? of.column_names : of.column_names_before).map((name) => {
    const now = values && textOfCell(values[name]);
    const was = before && textOfCell(before[names.get(name) ?? name]);
    return { name, now, was };
  });
  const shown = cells.filter(({ now, was }) => (change.change === 'edited' ? now !== was : (now ?? was) !== ''));
  return (
    <li>
      <p>
        <b className={styles.kind} data-kind={change.change}>
          {change.change}
        </b>{' '}
        <span className="quiet">row {countText((change.index ?? change.index_before ?? 0) + 1)}</span>
      </p>
      <dl>
        {shown.map(({ name, now, was }) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>
              {change.change === 'edited' ? (
                <TextDiff before={was ?? ''} after={now ?? ''} labels={{ before: 'before', after: 'after' }} layout="inline" />
              ) : (
                <LongText text={now ?? was ?? ''} />
              )}
            </dd>
          </div>
        ))}
        {shown.length === 0 && <dt>nothing that can be seen</dt>}
      </dl>
    </li>
  );
}

const textOfCell = (cell: unknown): string => typedOf(cell, jsonOfCell).text;
